"""Feature blocks: sets of tuples over files, ranks, diagonals, squares, roles and colours, each with a predicate.

A block is the product of its domains, and its predicate says which of the tuples are active on a board; a net has one
input per tuple. For given roles and colours, a predicate returns the set of elements of the first domain for which it
is true: `H` returns the files with a piece of this role and colour. The index of a tuple is a mixed-radix number, in
the order of the domains.

A block also says what a move changes: the roles and colours for which the predicate must be asked again. The features
that a move switches on or off are those for which it is true on only one of the two boards. So a feature that several
pieces share changes with the first of them that comes and the last that goes.

Names and sizes are those of M. E. Lombardo, "Feature set analysis for chess NNUE networks" (Buenos Aires 2024).

Blocks of the friendly king say where it stands, by square or by groups of squares (king buckets). One of their features
is active at a time. They are factors for other blocks, as in `KING8*ALL`: a net then has weights of its own for each
group. A map such as `KING[.../...]` names the group of each square by a letter or a digit, rank by rank as a board is
drawn: the eighth rank of the side first, as in a FEN.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from merino.core.board.bitboard import ONE, SQUARE_NAMES, SQUARES, U64, ZERO, lsb, mirror, popcount
from merino.core.compiled.jit import Later, kernel
from merino.eval.net import view as views

literal_unroll = Later("numba", "literal_unroll")


def _the_same(element: int) -> int:
    return element


@dataclass(frozen=True, eq=False)
class Domain:
    """A finite set: the names of its elements, in the order of their numbers. It is equal to itself alone.

    `turned` gives the number that an element has for the other side, which sees the board upside down and each piece
    with the other colour, and `mirrored` the number on a board that is mirrored left to right.
    """

    name: str
    elements: tuple[str, ...]
    turned: Callable[[int], int] = _the_same
    mirrored: Callable[[int], int] = _the_same

    def __len__(self) -> int:
        return len(self.elements)


def _diagonals(number: Callable[[int, int], int]) -> tuple[str, ...]:
    """The names of 15 diagonals, such as "a8-h1"; `number` gives the diagonal of a file and a rank."""
    squares: list[list[str]] = [[] for _ in range(15)]
    for square, name in enumerate(SQUARE_NAMES):
        squares[number(square & 7, square >> 3)].append(name)
    return tuple("-".join(sorted({min(names), max(names)})) for names in squares)


FILE = Domain("file", tuple("abcdefgh"), mirrored=lambda file: 7 - file)
RANK = Domain("rank", tuple("12345678"), lambda rank: 7 - rank)
# The other side sees a falling diagonal as the rising one of the same number, and a mirror as that counted from behind.
_FALLING, _RISING = _diagonals(lambda file, rank: file + rank), _diagonals(lambda file, rank: file + 7 - rank)
FALLING = Domain("diagonal", _FALLING, mirrored=lambda diagonal: 14 - diagonal)  # a8-h1 and its parallels
RISING = Domain("diagonal", _RISING, mirrored=lambda diagonal: 14 - diagonal)  # a1-h8 and its parallels
SQUARE = Domain("square", SQUARE_NAMES, lambda square: square ^ 56, lambda square: square ^ 7)
ROLE = Domain("role", ("pawn", "knight", "bishop", "rook", "queen", "king"))
COLOUR = Domain("colour", ("own", "other"), lambda colour: 1 - colour)
PIECE = Domain(
    "piece", tuple(f"{colour} {role}" for role in ROLE.elements for colour in COLOUR.elements), lambda piece: piece ^ 1
)
COUNT = Domain("count", tuple(map(str, range(26))))

MAX_MOVES = (8, 15, 16, 25, 25, 8)  # by role; larger counts are equal to this one
NO_TUPLE = -1

MOVES, NEXT_ON_RANKS, NEXT_ON_FILES = 1, 2, 4  # facts of a view that predicates read, as bits
# The kinds whose members a move may change: all, those of pieces that come or go, the pairs on their ranks or files.
EVERY_KIND, MOVED_KINDS, PAIRS_ON_RANKS, PAIRS_ON_FILES = range(4)

Members = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Block:
    """A set of tuples and its predicate.

    `members` is a kernel (view, kind) -> uint64: the elements for which the predicate is true. `kind` numbers the roles
    and colours, elements are those of the first domain. For pairs, a kind is a line and a group of first pieces.
    """

    name: str
    domains: tuple[Domain, ...]
    sentence: str
    members: Members
    changes: int = EVERY_KIND  # the kinds whose members a move may change
    facts: int = 0  # that the predicate reads
    most: int = 32  # upper bound of the number active at once
    twin: str = ""  # the block in which the other side, or a mirror, sees a tuple; this one if it is empty

    @cached_property
    def tuples(self) -> list[tuple[int, ...]]:
        """All tuples, by index."""
        found = product(*(range(len(domain)) for domain in self.domains))
        if COUNT not in self.domains:
            return list(found)
        return [(role, colour, count) for role, colour, count in found if count <= MAX_MOVES[role]]

    @cached_property
    def indices(self) -> dict[tuple[int, ...], int]:
        """The index of each tuple."""
        return {each: index for index, each in enumerate(self.tuples)}

    @property
    def size(self) -> int:
        """The number of tuples."""
        return len(self.tuples)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The index of a tuple by kind and element, int32[kinds, 64]; NO_TUPLE where there is none."""
        is_pair = PIECE in self.domains
        kinds = prod(len(domain) for domain in self.domains if domain in (ROLE, COLOUR))
        tuple_at = _pair_at if is_pair else self._tuple_at
        every = product(range(views.GROUPS * views.LINES_OF_PAIRS if is_pair else kinds), range(64))
        found = [self.indices.get(tuple_at(kind, element), NO_TUPLE) for kind, element in every]
        return np.array(found, dtype=np.int32).reshape(-1, 64)

    def _tuple_at(self, kind: int, element: int) -> tuple[int, ...]:
        numbers = {FILE: element, RANK: element}
        if self.domains[:2] == (FILE, RANK):
            numbers = {FILE: element & 7, RANK: element >> 3}
        for domain in (COLOUR, ROLE):
            if domain in self.domains:
                kind, numbers[domain] = divmod(kind, len(domain))
        return tuple(numbers.get(domain, element) for domain in self.domains)

    def turned(self, index: int) -> int:
        """The index, in the twin of this block, of what the other side sees where this side sees a tuple."""
        seen = [domain.turned(element) for domain, element in zip(self.domains, self.tuples[index], strict=True)]
        return self._index_in_twin(seen, FILE)

    def mirrored(self, index: int) -> int:
        """The index, in the twin of this block, of a tuple when the board is mirrored left to right."""
        seen = [domain.mirrored(element) for domain, element in zip(self.domains, self.tuples[index], strict=True)]
        return self._index_in_twin(seen, RANK)

    def _index_in_twin(self, seen: list[int], backwards: Domain) -> int:
        """The index of a tuple in the twin; pairs on lines of the domain `backwards` are in the other order there."""
        if self.domains[:1] == (backwards,) and PIECE in self.domains:
            seen[-2:] = reversed(seen[-2:])
        return BLOCKS.get(self.twin, self).indices[tuple(seen)]


def _pair_at(kind: int, element: int) -> tuple[int, ...]:
    group, line = divmod(kind, views.LINES_OF_PAIRS)
    first, second = divmod(element, views.KINDS)
    return line, 4 * group + first, second


BLOCKS: dict[str, Block] = {}  # by name, without those of the friendly king


def _block(name: str, sentence: str, *domains: Domain, **more: Any) -> Callable[[Members], Members]:
    """Register the block of a predicate: a function of a view and of a role and a colour, or of a kind.

    `sentence` describes a tuple in words; `more` are further fields of the block.
    """

    def register(function: Members) -> Members:
        members = kernel(function)
        has_both = ROLE in domains and COLOUR in domains
        by_kind = kernel(lambda view, kind: members(view, kind >> 1, kind & 1)) if has_both else members
        BLOCKS[name] = Block(name, domains, sentence, by_kind, **more)
        return function

    return register


@_block("ALL", "{piece} on {place}", FILE, RANK, ROLE, COLOUR, changes=MOVED_KINDS)
def _squares_with(view, role, colour):
    """The squares with such a piece."""
    return views.pieces_in(view, role, colour)


@_block("H", "{piece} on file {place}", FILE, ROLE, COLOUR, changes=MOVED_KINDS)
def _files_with(view, role, colour):
    """The files with such a piece."""
    return views.files_of(views.pieces_in(view, role, colour))


@_block("V", "{piece} on rank {place}", RANK, ROLE, COLOUR, changes=MOVED_KINDS)
def _ranks_with(view, role, colour):
    """The ranks with such a piece."""
    return views.ranks_of(views.pieces_in(view, role, colour))


@_block("D1", "{piece} on diagonal {place}", FALLING, ROLE, COLOUR, changes=MOVED_KINDS, twin="D2")
def _diagonals_with(view, role, colour):
    """The diagonals with such a piece, along a8-h1."""
    return _diagonals_of(views.pieces_in(view, role, colour))


@_block("D2", "{piece} on diagonal {place}", RISING, ROLE, COLOUR, changes=MOVED_KINDS, twin="D1")
def _other_diagonals_with(view, role, colour):
    """The diagonals with such a piece, along a1-h8."""
    return _diagonals_of(mirror(views.pieces_in(view, role, colour)))


@kernel
def _diagonals_of(squares):
    """The diagonals along a8-h1 of these squares, by file + rank: each rank is moved by its number, two at a time."""
    squares = (squares & _EVEN_RANKS) | (squares >> U64(8) & _EVEN_RANKS) << ONE
    squares = (squares & _EVEN_PAIRS) | (squares >> U64(16) & _EVEN_PAIRS) << U64(2)
    return (squares & _LOWER_HALF) | (squares >> U64(32)) << U64(4)


_EVEN_RANKS, _EVEN_PAIRS, _LOWER_HALF = U64(0x00FF_00FF_00FF_00FF), U64(0x0000_FFFF_0000_FFFF), U64(0xFFFF_FFFF)


@_block(
    "PH", "{first} next to the left of {piece} on rank {place}", RANK, PIECE, PIECE,
    changes=PAIRS_ON_RANKS, facts=NEXT_ON_RANKS,
)  # fmt: skip
def _pairs_on_rank(view, kind):
    """The pairs on a rank in which the second piece is to the right of the first, with only empty squares between."""
    return view[views.RANK_PAIRS + kind]


@_block(
    "PV", "{first} next below {piece} on file {place}", FILE, PIECE, PIECE,
    changes=PAIRS_ON_FILES, facts=NEXT_ON_FILES,
)  # fmt: skip
def _pairs_on_file(view, kind):
    """The pairs on a file in which the second piece is above the first, with only empty squares between."""
    return view[views.FILE_PAIRS + kind]


@_block("MB", "{piece} can move to {place}", SQUARE, ROLE, COLOUR, facts=MOVES, most=768)
def _squares_to_move_to(view, role, colour):
    """The squares that such a piece can move to."""
    return view[views.DESTINATIONS + 2 * role + colour]


@_block("MC", "squares that {piece} can move to: {place}", ROLE, COLOUR, COUNT, facts=MOVES)
def _number_of_squares(view, role, colour):
    """The number of squares that such pieces can move to, up to the maximum for the role; none on an empty board."""
    if view[views.OCCUPIED] == ZERO:
        return ZERO
    return ONE << U64(min(popcount(view[views.DESTINATIONS + 2 * role + colour]), _MAX_MOVES[role]))


_MAX_MOVES = np.array(MAX_MOVES)
_EACH_GROUP = U64(sum(1 << views.LINES_OF_PAIRS * group for group in range(views.GROUPS)))
MEMBERS = tuple(block.members for block in BLOCKS.values())
NUMBERS = {name: number for number, name in enumerate(BLOCKS)}
FACTS_OF = np.array([block.facts for block in BLOCKS.values()])
_KINDS_OF = np.array([len(block.numbers) for block in BLOCKS.values()])
_INDICES = np.array([np.resize(block.numbers, (views.GROUPS * views.LINES_OF_PAIRS, 64)) for block in BLOCKS.values()])


@kernel
def kinds_changed(changes, difference):
    """The kinds, as bits, whose members may differ on two boards with this `ViewDifference`."""
    if changes == MOVED_KINDS:
        return difference.kinds
    if changes == PAIRS_ON_RANKS:
        return views.ranks_of(difference.squares) * _EACH_GROUP
    if changes == PAIRS_ON_FILES:
        return views.files_of(difference.squares) * _EACH_GROUP
    return (ONE << U64(views.KINDS)) - ONE


@kernel
def fill_facts(view, wanted):
    """Fill in the facts of a view that are wanted, as bits."""
    if wanted & MOVES:
        views.fill_moves(view)
    if wanted & (NEXT_ON_RANKS | NEXT_ON_FILES):
        _fill_pairs(view, ~ZERO, wanted)


@kernel
def renew_facts(before, after, difference, wanted):
    """The same for a view that differs by little from another one with these facts."""
    if wanted & MOVES:
        views.fill_moves(after)
    if wanted & (NEXT_ON_RANKS | NEXT_ON_FILES):
        for word in range(views.BOARD, views.VIEW_SIZE):
            after[word] = before[word]
        _fill_pairs(after, difference.squares, wanted)


@kernel
def _fill_pairs(view, squares, wanted):
    """Fill in the pieces on these squares, and the pairs on their ranks and files."""
    views.fill_board(view, squares)
    if wanted & NEXT_ON_RANKS:
        views.fill_rank_pairs(view, views.ranks_of(squares))
    if wanted & NEXT_ON_FILES:
        views.fill_file_pairs(view, views.files_of(squares))


@kernel
def active_of_block(block, view, active):
    """Fill `active` with the indices of the active tuples of a block, given by its number in BLOCKS; their number.

    The facts that the block reads must be there.
    """
    count, number = 0, 0
    for members in literal_unroll(MEMBERS):
        if number == block:
            for kind in range(_KINDS_OF[number]):
                elements = members(view, kind)
                while elements:
                    active[count] = _INDICES[number, kind, lsb(elements)]
                    count += 1
                    elements &= elements - ONE
        number += 1
    return count


KING8_MAP = "77777777/77777777/77777777/77777777/66666666/66666666/44555544/01233210"
_MAP = re.compile(r"[0-9A-Za-z]{8}(?:/[0-9A-Za-z]{8}){7}")


@dataclass(frozen=True)
class KingBlock:
    """A block with a feature for each group of squares of the friendly king; `places` is the group of each, from 0."""

    name: str
    places: tuple[int, ...]
    most: int = 1  # active at once

    @property
    def size(self) -> int:
        """The number of groups."""
        return max(self.places) + 1


@cache
def king_block(name: str) -> KingBlock | None:
    """The block of the friendly king with this name, which may be a map; None if there is none."""
    drawn = name[len("KING[") : -1]
    return KingBlock(name, _places(drawn)) if name == f"KING[{drawn}]" and _MAP.fullmatch(drawn) else KINGS.get(name)


def _places(drawn: str) -> tuple[int, ...]:
    """The group of each square, by a map."""
    groups = "".join(reversed(drawn.split("/")))
    numbers = {group: number for number, group in enumerate(sorted(set(groups)))}
    return tuple(numbers[group] for group in groups)


KINGS = {"KING": KingBlock("KING", tuple(SQUARES)), "KING8": KingBlock("KING8", _places(KING8_MAP))}
