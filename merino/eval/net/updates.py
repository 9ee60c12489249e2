"""Sums that are updated piece by piece: compiled code, generated from a feature set.

With the sums of each ply White's view is kept, with the facts that the blocks of the set read. A block compares what
its predicate says of two views where a move may have changed it (`eval.net.blocks`), and each feature that came or went
adds or subtracts its row in the sums of both sides: tables tell by which feature each side sees it.

With a factor such as `KING` all features of a side change when its own king moves. Then the last sums with the king on
this square, which are kept with their view, are brought up to date instead: the field calls them a *finny table*. Sums
from scratch are the same, as an empty board is where that table begins.

Where features are pieces on squares, by the place of the own king, a move changes the sums in one pass, without a look
for what has changed on the board, which takes a tenth of a search. The usual nets with king buckets or a mirrored board
are such, as `MIRRORED(KING8*ALL)`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from merino.core.board.bitboard import KING, ONE, U64, WHITE, ZERO, lsb, piece_of
from merino.core.board.makemove import changes_of
from merino.core.board.position import king_square
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.lanes import LANES_SIZE
from merino.core.compiled.memory import array_at, evaluation_address
from merino.eval.net.blocks import BLOCKS, FACTS, NO_TUPLE, Block, Fact, make_block
from merino.eval.net.features import RIGHT, FeatureSet
from merino.eval.net.play import (
    INPUT_BIAS,
    PLIES,
    Net,
    add_row,
    change_one,
    copy_row,
    net_at,
    others_at,
    piece_mover,
    row_of,
    score_at,
    subtract_row,
    sums_at,
    update_sums,
)
from merino.eval.net.rows import is_by_piece_and_king, piece_features
from merino.eval.net.view import OCCUPIED, VIEW_SIZE, WITHOUT_FACTS, difference_of, king_places, look, move_on

BOTH = 3  # sides, as bits
NOT_SO = -1
WORDS = LANES_SIZE // 8  # of a view that are copied together
VIEW_BYTES = U64(8 * VIEW_SIZE)

# What a product of blocks that refresh is multiplied with, so that there is something to switch on: always active.
_BOARD = make_block(
    "",
    "",
    (),
    lambda view, kind: U64(view[OCCUPIED] != ZERO),
    changes=kernel(lambda difference: ONE),
)


def obstacle(wanted: FeatureSet) -> str:
    """Why the sums of a feature set cannot be updated piece by piece; empty if they can."""
    for term in wanted.terms:
        moving = [BLOCKS[factor.block] for factor in term.moving]
        if len(moving) > 1:
            return f"a move may change both factors of {'*'.join(block.name for block in moving)}"
        silent = next((block.name for block in moving if block.changes is None), "")
        if silent:
            return f"{silent} does not say what a move changes"
    return ""


class _Seen(NamedTuple):
    """How a side sees the features of a block in a summand of the feature set, with its king on some squares."""

    side: int
    numbers: np.ndarray  # int32[kinds, 64]: by kind and element, the index without the king
    kings: np.ndarray  # int64[64]: by place of the own king, what is added to it; NOT_SO where it is not seen so


def kept_bytes(wanted: FeatureSet, plies: int, row: int) -> int:
    """The memory for views by ply, and for the sums and views of each side by bucket; `row` is bytes of one's sums."""
    view, buckets = int(VIEW_BYTES), int(_buckets_of(wanted).max()) + 1
    return plies * view + 2 * buckets * (view + row)


@cache
def install_of(wanted: FeatureSet, blocks: int) -> Any:
    """The entry (search record) that lets it use a net with these features; `blocks` are those of its first layer."""
    next_ply, fill_root = _update_of(wanted)
    row = U64(LANES_SIZE * blocks)

    @kernel
    def white_score(s, ply):
        """White's score at `ply` of a search record before draw rules, float64."""
        known = net_at(s.evaluation_data)
        net = Net(blocks, row, known.second, known.squares, known.most, known.factor, known.numbers)  # of known width
        update_sums(s, net, ply, next_ply, fill_root)
        return score_at(s, net, ply)

    @entry(of=_digest(f"{wanted.name} {blocks}"))
    def install(records):
        s = records[0]
        s.evaluation = evaluation_address(white_score, s)

    return install


def _update_of(wanted: FeatureSet) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The kernels of a feature set for `update_sums`: the sums of the next ply, and those of the root."""
    change, fill, renew = _change_of(wanted), *_facts_of(wanted)
    buckets = _buckets_of(wanted)
    count = int(buckets.max()) + 1
    lanes = max([WITHOUT_FACTS, *(fact.stop for fact in _facts_read(wanted))]) // WORDS

    @kernel
    def refresh(s, net, side, now, places, sums):
        """Bring the last sums of a side with its king in this bucket up to `now`, a view, and copy them to `sums`."""
        bucket = side * count + buckets[places[side]]
        address = others_at(s, net) + net.numbers[PLIES] * VIEW_BYTES + U64(bucket) * (VIEW_BYTES + net.row)
        kept, last = _view_of(address), address + VIEW_BYTES
        if kept[OCCUPIED] == ZERO:
            copy_row(last, net.numbers[INPUT_BIAS], net.blocks)
        start = last - U64(side) * net.row
        view = _view_of(now)
        change(net, places, kept, view, difference_of(kept, view), start, 1 << side)
        copy_row(address, now, lanes)
        copy_row(sums + U64(side) * net.row, last, net.blocks)

    @kernel
    def look_at(s, net, ply):
        """The address of White's view of a ply, which is filled in from its position."""
        address = _view_at(s, net, ply)
        view = _view_of(address)
        look(s.positions[ply], WHITE, view)
        fill(view)
        return address

    @kernel
    def renew_side(s, net, side, ply):
        """Make a side's sums of a ply valid by the last ones with its king in this bucket."""
        now = look_at(s, net, ply)
        refresh(s, net, side, now, king_places(_view_of(now)), sums_at(s, net, ply))

    @kernel
    def next_ply(s, net, ply):
        old, new = _view_at(s, net, ply), _view_at(s, net, ply + 1)
        copy_row(new, old, WITHOUT_FACTS // WORDS)
        before, after = _view_of(old), _view_of(new)
        difference = move_on(changes_of(s.positions[ply], s.plies[ply].move), after)
        renew(before, after, difference)
        sums, places, sides = sums_at(s, net, ply + 1), king_places(after), BOTH
        copy_row(sums, sums_at(s, net, ply), 2 * net.blocks)
        if count > 1 and difference.kinds >> U64(2 * KING):
            was = king_places(before)
            for side in range(2):
                if buckets[was[side]] != buckets[places[side]]:
                    sides &= ~(1 << side)
                    refresh(s, net, side, new, places, sums)
        change(net, places, before, after, difference, sums, sides)

    @kernel
    def fill_root(s, net):
        root = look_at(s, net, 0)
        for side in range(2):
            refresh(s, net, side, root, king_places(_view_of(root)), sums_at(s, net, 0))

    if is_by_piece_and_king(wanted) and len(wanted.terms) == 1:
        next_ply = _next_by_rows(wanted, buckets, renew_side)
    return next_ply, fill_root


def _next_by_rows(wanted: FeatureSet, buckets: np.ndarray, renew_side: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel (s, net, ply) that makes the sums of the next ply for a set of pieces on squares.

    `buckets`, int64[64], numbers the places of the own king: those with the same number have the same features.
    `renew_side(s, net, side, ply)` is the kernel that makes those of one side anew, when its king has come to another.
    """
    (term,) = wanted.terms
    features_at, kings = piece_features(term), term.kings

    @kernel
    def row_at(net, side, place, piece_on_square):
        """The address of what a piece on a square adds to the sums of a side with its king on this place."""
        return row_of(net, kings[place] + features_at[side, place >> 2 & 1, piece_on_square])

    move_pieces = piece_mover(row_at)

    @kernel
    def next_ply(s, net, ply):
        changed, after = changes_of(s.positions[ply], s.plies[ply].move), s.positions[ply + 1]
        for side in range(2):
            place = king_square(after, side) ^ 56 * side
            was = (changed.removed & 63) ^ 56 * side
            if changed.removed >> 6 == piece_of(side, KING) and buckets[was] != buckets[place]:
                renew_side(s, net, side, ply + 1)
            else:
                own = U64(side) * net.row
                old, new = sums_at(s, net, ply) + own, sums_at(s, net, ply + 1) + own
                move_pieces(net, side, place, changed, old, new, net.blocks)

    return next_ply


@kernel
def _view_at(s, net, ply):
    """The address of White's view of a ply."""
    return others_at(s, net) + U64(ply) * VIEW_BYTES


@kernel(makes_arrays=True)
def _view_of(address):
    """The view at an address."""
    return array_at(address, np.uint64, VIEW_SIZE)


def _facts_read(wanted: FeatureSet) -> list[Fact]:
    """The facts that the blocks read, in order."""
    read = {fact for block in _seen_of(wanted) for fact in block.facts}
    return [fact for fact in FACTS if fact in read]


def _facts_of(wanted: FeatureSet) -> tuple[Any, Any]:
    """The kernels (view) and (before, after, difference) that fill in and renew all facts that the blocks read."""
    chosen = _facts_read(wanted)
    fills, renewals = [fact.fill for fact in chosen], [fact.renew for fact in chosen]
    return _in_turn(fills, "view"), _in_turn(renewals, "before, after, difference")


def _change_of(wanted: FeatureSet) -> Any:
    """The kernel (net, places, before, after, difference, sums, sides) that changes the sums of `sides` by a move.

    `before` and `after` are White's views with their `ViewDifference`, `places` those of the own kings after the move.
    """
    changes = [_change_by(block, seen) for block, seen in _seen_of(wanted).items()]
    return _in_turn(changes, "net, places, before, after, difference, sums, sides")


def _change_by(block: Block, seen: Iterable[_Seen]) -> Any:
    """The same for one block."""
    members, concerned = block.members, block.changes
    switch = _in_turn([_switch_of(each) for each in seen], "net, places, kind, on, off, sums, sides")

    @kernel
    def change(net, places, before, after, difference, sums, sides):
        kinds = concerned(difference)
        while kinds:
            kind = lsb(kinds)
            kinds &= kinds - ONE
            was, now = members(before, kind), members(after, kind)
            if was != now:
                switch(net, places, kind, now & ~was, was & ~now, sums, sides)

    return change


def _switch_of(seen: _Seen) -> Any:
    """The kernel that adds the rows of features that are switched on, and subtracts those of others.

    `on` and `off` are sets of elements of a kind.
    """
    side, numbers, kings = seen

    @kernel
    def switch(net, places, kind, on, off, sums, sides):
        if sides & 1 << side == 0:
            return
        own, king = sums + U64(side) * net.row, kings[places[side]]
        if king == NOT_SO:
            return
        while on != ZERO and off != ZERO:
            added, removed = king + numbers[kind, lsb(on)], king + numbers[kind, lsb(off)]
            change_one(own, own, row_of(net, added), row_of(net, removed), net.blocks)
            on, off = on & (on - ONE), off & (off - ONE)
        while on != ZERO:
            add_row(own, row_of(net, king + numbers[kind, lsb(on)]), net.blocks)
            on &= on - ONE
        while off != ZERO:
            subtract_row(own, row_of(net, king + numbers[kind, lsb(off)]), net.blocks)
            off &= off - ONE

    return switch


def _in_turn(kernels: Iterable[Any], arguments: str) -> Any:
    """A kernel that calls others one after the other, with the same arguments."""
    names = {f"call_{index}": each for index, each in enumerate(kernels)}
    lines = [f"{name}({arguments})" for name in names] or ["pass"]
    source = "\n    ".join([f"def in_turn({arguments}):", *lines])
    exec(compile(source, "<kernels in turn>", "exec"), names)
    return kernel(names["in_turn"])


@cache
def _seen_of(wanted: FeatureSet) -> dict[Block, list[_Seen]]:
    """How both sides see the features of each block, by the block in which White sees them on the board as it is."""
    found: dict[Block, list[_Seen]] = {}
    for term in wanted.terms:
        block, stride, is_mirrored = (BLOCKS[term.moving[0].block], *term.moving[0][1:]) if term.moving else _ALWAYS
        halves = [(False, np.arange(64) & RIGHT == 0), (True, np.arange(64) & RIGHT != 0)] if is_mirrored else _WHOLE
        for is_on_the_right, squares in halves:
            kings = np.where(squares, term.kings, NOT_SO)
            for side in (0, 1):
                origin, numbers = _origin_of(block, side == 1, is_on_the_right)
                found.setdefault(origin, []).append(_Seen(side, stride * numbers, kings))
    return found


_ALWAYS = (_BOARD, 1, False)
_WHOLE = [(False, np.full(64, True))]


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
    """By square of the own king, the number of the squares from which all features have the same index, int64[64]."""
    kings = np.stack([seen.kings for every in _seen_of(wanted).values() for seen in every], axis=1)
    return np.unique(kings, axis=0, return_inverse=True)[1].reshape(64).astype(np.int64)


def _digest(name: str) -> str:
    """What tells the compiled code of one feature set from that of others, as part of the name of a file."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]
