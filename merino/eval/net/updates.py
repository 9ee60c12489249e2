"""Sums of the first layer in a search: how those of a ply follow from those of the ply before.

Where features are pieces on squares, as in `ALL` or by the place of the friendly king as in `MIRRORED(KING8*ALL)`, a
move changes a few rows in one pass, without a look at the board. The usual nets are such.

For other sets White's view is kept with the sums of each ply. A block compares its predicate on two views where a move
may have changed it (`eval.net.blocks`), and each feature that came or went adds or subtracts its row in the sums of
both sides: tables map it to the features in which each side sees it. Products of blocks that a move may both change are
summed from scratch.

With a factor such as `KING` all features of a side change when its own king moves. Then the last sums with the king on
this square, which are kept with their view, are brought up to date instead: the field calls them a *finny table*. The
sums of the root are made in the same way, since that table begins with an empty board.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from merino.core.board import makemove, position
from merino.core.board.bitboard import KING, ONE, U64, WHITE, ZERO, lsb, piece_of
from merino.core.compiled import lanes, memory
from merino.core.compiled.jit import entry, kernel
from merino.eval.net import play
from merino.eval.net.blocks import BLOCKS, NO_TUPLE, Block, fill_facts, kinds_changed, renew_facts
from merino.eval.net.features import RIGHT, Factor, FeatureSet, is_by_piece, is_by_piece_and_king, piece_features
from merino.eval.net.view import OCCUPIED, VIEW_SIZE, WITHOUT_FACTS, difference_of, king_places, look

BOTH = 3  # sides, as bits
NOT_SO = -1
WORDS = lanes.LANES_SIZE // 8  # of a view that are copied together
VIEW_BYTES = U64(8 * VIEW_SIZE)

# Something that is active on every board: what products of blocks of the friendly king alone are multiplied with.
_BOARD = Block("", (), "", kernel(lambda view, kind: U64(kind == 0 and view[OCCUPIED] != ZERO)))


def obstacle(wanted: FeatureSet) -> str:
    """Why the sums of a feature set cannot be updated piece by piece; empty if they can."""
    products = ("*".join(factor.block for factor in term.moving) for term in wanted.terms if len(term.moving) > 1)
    return next((f"a move may change both factors of {product}" for product in products), "")


def kept_bytes(wanted: FeatureSet, plies: int, row: int) -> int:
    """The memory for views by ply, and for the sums and views of each side by bucket; `row` is bytes of one's sums."""
    if is_by_piece(wanted) or obstacle(wanted):
        return 0
    buckets = int(_buckets_of(wanted).max()) + 1
    return plies * int(VIEW_BYTES) + 2 * buckets * (int(VIEW_BYTES) + row)


class _Seen(NamedTuple):
    """How the sides see the features of a block in the feature set: a row for each side and way to see it."""

    sides: np.ndarray  # int64[rows]
    features: np.ndarray  # int32[rows, kinds, 64]: by kind and element, the index without the king
    kings: np.ndarray  # int64[rows, 64]: by place of the friendly king, what is added; NOT_SO where it is not seen so


@cache
def _seen_of(wanted: FeatureSet) -> dict[Block, _Seen]:
    """How both sides see the features of each block, by the block in which White sees them on the board as it is."""
    found: dict[Block, list[tuple[int, np.ndarray, np.ndarray]]] = {}
    right = np.arange(64) & RIGHT != 0
    for term in wanted.terms:
        name, stride, is_mirrored = term.moving[0] if term.moving else Factor("", 1)
        halves = [(False, ~right), (True, right)] if is_mirrored else [(False, right | ~right)]
        for is_on_the_right, squares in halves:
            kings = np.where(squares, term.kings, NOT_SO)
            for side in (0, 1):
                origin, indices = _origin_of(BLOCKS.get(name, _BOARD), side == 1, is_on_the_right)
                found.setdefault(origin, []).append((side, stride * indices, kings))
    return {block: _Seen(*map(np.array, zip(*rows, strict=True))) for block, rows in found.items()}


def _origin_of(block: Block, is_turned: bool, is_mirrored: bool) -> tuple[Block, np.ndarray]:
    """The block in which White sees, on the board as it is, what is a block seen by the other side or mirrored.

    And the index of each of its tuples in `block`, int32[kinds, 64].
    """
    ways = [way for way, is_taken in ((Block.turned, is_turned), (Block.mirrored, is_mirrored)) if is_taken]
    origin = BLOCKS.get(block.twin, block) if len(ways) == 1 else block

    def index_in(index: int) -> int:
        at = origin
        for way in ways:
            index, at = way(at, index), BLOCKS.get(at.twin, at)
        return index

    indices = [index if index == NO_TUPLE else index_in(index) for index in origin.numbers.flat]
    return origin, np.array(indices, dtype=np.int32).reshape(origin.numbers.shape)


def _buckets_of(wanted: FeatureSet) -> np.ndarray:
    """By square of the friendly king, the number of those from which all features have the same index, int64[64]."""
    kings = np.concatenate([seen.kings for seen in _seen_of(wanted).values()])
    return np.unique(kings, axis=1, return_inverse=True)[1].reshape(64).astype(np.int64)


def _change_of(wanted: FeatureSet) -> Any:
    """The kernel (net, before, after, difference, sums, sides) that changes sums from one view of White to another."""
    return _in_turn([_change_by(block, *seen) for block, seen in _seen_of(wanted).items()])


def _in_turn(kernels: Sequence[Any]) -> Any:
    """A kernel that calls others one after the other, with the same arguments."""
    first, *others = kernels
    if not others:
        return first
    rest = _in_turn(others)

    @kernel
    def both(net, before, after, difference, sums, sides):
        first(net, before, after, difference, sums, sides)
        rest(net, before, after, difference, sums, sides)

    return both


def _change_by(block: Block, seen_by: np.ndarray, features: np.ndarray, kings: np.ndarray) -> Any:
    """The same for one block and all ways in which it is seen."""
    members, changes, rows = block.members, block.changes, len(seen_by)

    @kernel
    def change(net, before, after, difference, sums, sides):
        kinds, places = kinds_changed(changes, difference), king_places(after)
        while kinds:
            kind = lsb(kinds)
            kinds &= kinds - ONE
            was, now = members(before, kind), members(after, kind)
            if was != now:
                for row in range(rows):
                    side = seen_by[row]
                    if sides >> side & 1:
                        king = kings[row, places[side]]
                        if king != NOT_SO:
                            own = sums + U64(side) * net.row
                            _switch(net, own, king, features[row, kind], now & ~was, was & ~now)

    return change


@kernel
def _switch(net, own, king, features, on, off):
    """Add the rows of features that are switched on, and subtract those of others; both are sets of elements."""
    while on != ZERO and off != ZERO:
        added, removed = king + features[lsb(on)], king + features[lsb(off)]
        play.change_one(own, own, play.row_of(net, added), play.row_of(net, removed), net.blocks)
        on, off = on & (on - ONE), off & (off - ONE)
    while on != ZERO:
        play.add_row(own, play.row_of(net, king + features[lsb(on)]), net.blocks)
        on &= on - ONE
    while off != ZERO:
        play.subtract_row(own, play.row_of(net, king + features[lsb(off)]), net.blocks)
        off &= off - ONE


@kernel(makes_arrays=True)
def _view_of(address):
    """The view at an address."""
    return memory.array_at(address, np.uint64, VIEW_SIZE)


@kernel
def _view_at(s, net, ply):
    """The address of White's view of a ply."""
    return play.others_at(s, net) + U64(ply) * VIEW_BYTES


def _update_of(wanted: FeatureSet) -> tuple[Any, Any]:
    """The kernels of a feature set for `update_sums`: the sums of the next ply, and those of the root."""
    change, buckets = _change_of(wanted), _buckets_of(wanted)
    count = int(buckets.max()) + 1
    facts = int(np.bitwise_or.reduce([block.facts for block in _seen_of(wanted)]))
    words = VIEW_SIZE if facts else WITHOUT_FACTS

    @kernel
    def look_at(s, net, ply):
        """Fill in White's view of a ply from its position."""
        view = _view_of(_view_at(s, net, ply))
        look(s.positions[ply], WHITE, view)
        fill_facts(view, facts)

    @kernel
    def refresh(s, net, side, ply):
        """Bring the last sums of a side with its king in this bucket up to a ply whose view is filled in."""
        view = _view_of(_view_at(s, net, ply))
        bucket = side * count + buckets[king_places(view)[side]]
        address = _view_at(s, net, net.numbers[play.PLIES]) + U64(bucket) * (VIEW_BYTES + net.row)
        kept, last = _view_of(address), address + VIEW_BYTES
        if kept[OCCUPIED] == ZERO:
            play.copy_row(last, net.numbers[play.INPUT_BIAS], net.blocks)
        change(net, kept, view, difference_of(kept, view), last - U64(side) * net.row, 1 << side)
        play.copy_row(address, _view_at(s, net, ply), words // WORDS)
        play.copy_row(play.sums_at(s, net, ply) + U64(side) * net.row, last, net.blocks)

    @kernel
    def next_ply(s, net, ply):
        before, after = _view_of(_view_at(s, net, ply)), _view_of(_view_at(s, net, ply + 1))
        look(s.positions[ply + 1], WHITE, after)
        difference = difference_of(before, after)
        renew_facts(before, after, difference, facts)
        play.copy_row(play.sums_at(s, net, ply + 1), play.sums_at(s, net, ply), 2 * net.blocks)
        sides = BOTH
        if count > 1:
            was, places = king_places(before), king_places(after)
            for side in range(2):
                if buckets[was[side]] != buckets[places[side]]:
                    sides &= ~(1 << side)
                    refresh(s, net, side, ply + 1)
        change(net, before, after, difference, play.sums_at(s, net, ply + 1), sides)

    @kernel
    def fill_first(s, net):
        look_at(s, net, 0)
        for side in range(2):
            refresh(s, net, side, 0)

    @kernel
    def renew_side(s, net, side, ply):
        look_at(s, net, ply)
        refresh(s, net, side, ply)

    if is_by_piece_and_king(wanted) and len(wanted.terms) == 1:
        next_ply = _next_by_rows(wanted, buckets, renew_side)
    return next_ply, fill_first


def _next_by_rows(wanted: FeatureSet, buckets: np.ndarray, renew_side: Any) -> Any:
    """The kernel (s, net, ply) that makes the sums of the next ply for a set of pieces on squares.

    `renew_side(s, net, side, ply)` is the kernel that makes those of one side when its king has come to another bucket.
    """
    (term,) = wanted.terms
    features_at, kings = piece_features(term), term.kings

    @kernel
    def row_at(net, side, place, piece_on_square):
        return play.row_of(net, kings[place] + features_at[side, place >> 2 & 1, piece_on_square])

    move_pieces = play.piece_mover(row_at)

    @kernel
    def next_ply(s, net, ply):
        changed, after = makemove.changes_of(s.positions[ply], s.plies[ply].move), s.positions[ply + 1]
        for side in range(2):
            place = position.king_square(after, side) ^ 56 * side
            was = (changed.removed & 63) ^ 56 * side
            if changed.removed >> 6 == piece_of(side, KING) and buckets[was] != buckets[place]:
                renew_side(s, net, side, ply + 1)
            else:
                own = U64(side) * net.row
                old, new = play.sums_at(s, net, ply) + own, play.sums_at(s, net, ply + 1) + own
                move_pieces(net, side, place, changed, old, new, net.blocks)

    return next_ply


def _installer(way: str, next_ply: Any, root: Any, score: Any = play.score_at, blocks: int = 0) -> Any:
    """The entry (search record) that lets it use a net whose sums are updated by these kernels.

    `blocks` are those of its first layer, as far as they are known when this is compiled. `way` names what is compiled.
    """
    row = U64(lanes.LANES_SIZE * blocks)

    @kernel
    def white_score(s, ply):
        """White's score at `ply` of a search record before draw rules, float64."""
        net = play.net_at(s.evaluation_data)
        if blocks:
            net = play.Net(blocks, row, net.second, net.squares, net.most, net.factor, net.numbers)
        play.update_sums(s, net, ply, next_ply, root)
        return score(s, net, ply)

    @entry(of=hashlib.sha256(way.encode()).hexdigest()[:16])
    def install(records):
        s = records[0]
        s.evaluation = memory.evaluation_address(white_score, s)

    return install


_install_by_piece = _installer("by piece", play.next_by_piece, play.fill_root)
_install_from_scratch = _installer("from scratch", play.next_from_scratch, play.fill_root)
install_by_values = _installer("by values", play.next_by_piece, play.fill_root, play.score_by_values)


@cache
def install_of(wanted: FeatureSet, blocks: int) -> Callable[[np.ndarray], None]:
    """The entry (search record) that lets it use a net with these features; `blocks` are those of its first layer."""
    if obstacle(wanted):
        return _install_from_scratch
    if is_by_piece(wanted):
        return _install_by_piece
    return _installer(f"{wanted.name} {blocks}", *_update_of(wanted), blocks=blocks)
