"""Feature blocks: sets of tuples over files, ranks, diagonals, squares, roles and colours, each with a predicate.

A block is the product of its domains, and its predicate says which of the tuples are active on a board; a net has one
input per tuple. For given roles and colours, a predicate returns the set of elements of the first domain for which it
is true: `H` returns the files with a piece of this role and colour. The index of a tuple is a mixed-radix number, in
the order of the domains.

Beside what it is, a block says what a move changes: the roles and colours about which the predicate must be asked
again. The features that a move switches on or off are those for which it is true on only one of the two boards. So a
feature that several pieces share changes with the first of them that comes and the last that goes.

What many predicates ask, such as where pieces can move, is a fact of a view: words that follow from its pieces.

Names and sizes are those of M. E. Lombardo, "Feature set analysis for chess NNUE networks" (Buenos Aires 2024).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numba import literal_unroll

from merino.core.board.bitboard import ONE, U64, ZERO, lsb, mirror, popcount
from merino.core.compiled.jit import kernel
from merino.eval.net.domains import COLOUR, COUNT, FALLING, FILE, PIECE, RANK, RISING, ROLE, SQUARE, Domain
from merino.eval.net.mobility import fill_moves, renew_moves
from merino.eval.net.neighbours import (
    GROUPS,
    LINES,
    files_of,
    fill_board,
    fill_file_pairs,
    fill_rank_pairs,
    ranks_of,
    renew_board,
    renew_file_pairs,
    renew_rank_pairs,
)
from merino.eval.net.view import (
    BOARD,
    DESTINATIONS,
    FILE_PAIRS,
    OCCUPIED,
    PIECES,
    RANK_PAIRS,
    VIEW_SIZE,
    pieces_in,
)


@dataclass(frozen=True)
class Fact:
    """How to fill in some words of a view, the last of them before `stop`.

    `fill` is a kernel (view) for a view of any position, `renew` one (before, after, difference): it fills in the view
    `after` from the words of `before`, another one of the same side, and from their `ViewDifference`.
    """

    stop: int
    fill: Callable[..., Any]
    renew: Callable[..., Any]


MOVES = Fact(BOARD, fill_moves, renew_moves)
KINDS = Fact(RANK_PAIRS, fill_board, renew_board)
NEXT_ON_RANKS = Fact(FILE_PAIRS, fill_rank_pairs, renew_rank_pairs)
NEXT_ON_FILES = Fact(VIEW_SIZE, fill_file_pairs, renew_file_pairs)
FACTS = (MOVES, KINDS, NEXT_ON_RANKS, NEXT_ON_FILES)  # each follows from those before it


MAX_MOVES = (8, 15, 16, 25, 25, 8)  # by role; larger counts are equal to this one
NO_TUPLE = -1

Members = Callable[..., Any]
Changes = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Block:
    """A set of tuples and its predicate.

    `members` is a kernel (view, kind) -> uint64: the elements for which the predicate is true. `kind` numbers the roles
    and colours, elements are those of the first domain. For pairs, a kind is a line and a group of first pieces.

    `changes` is a kernel (difference) -> uint64: the kinds whose members may differ on two boards; None where a block
    cannot tell.
    """

    name: str
    domains: tuple[Domain, ...]
    sentence: str
    members: Members
    changes: Changes | None = None
    facts: tuple[Fact, ...] = ()  # that the predicate reads
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
        kinds = GROUPS * LINES if is_pair else prod(len(domain) for domain in self.domains if domain in (ROLE, COLOUR))
        tuple_at = _pair_at if is_pair else self._tuple_at
        tuples = (tuple_at(kind, element) for kind in range(kinds) for element in range(64))
        return np.array([self.indices.get(each, NO_TUPLE) for each in tuples], dtype=np.int32).reshape(kinds, 64)

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

    def words(self, index: int) -> str:
        """The tuple of this index in words, such as "own rook on file e"."""
        named = dict(zip(self.domains, self.tuples[index], strict=True))
        place = "".join(domain.elements[at] for domain, at in named.items() if domain not in (ROLE, COLOUR, PIECE))
        pieces = [at for domain, at in zip(self.domains, self.tuples[index], strict=True) if domain == PIECE]
        if ROLE in named:
            pieces = [2 * named[ROLE] + named[COLOUR]]
        said = [PIECE.elements[piece] for piece in pieces] or [""]
        return self.sentence.format(place=place, piece=said[-1], first=said[0])


def _pair_at(kind: int, element: int) -> tuple[int, ...]:
    group, line = divmod(kind, LINES)
    first, second = divmod(element, PIECES)
    return line, 4 * group + first, second


def make_block(name: str, sentence: str, domains: tuple[Domain, ...], members: Members, **more: Any) -> Block:
    """The block of a predicate: a function of a view and of elements of the role and colour domains, or of a kind.

    `sentence` describes a tuple in words; `more` are further fields of the block.
    """
    what = [len(domain) for domain in domains if domain in (ROLE, COLOUR)]
    return Block(name, domains, sentence, _by_kind(kernel(members), what), **more)


BLOCKS: dict[str, Block] = {}  # by name, without those of the own king


def _block(name: str, sentence: str, *domains: Domain, **more: Any) -> Callable[[Members], Members]:
    """Register the block of a predicate."""

    def register(members: Members) -> Members:
        BLOCKS[name] = make_block(name, sentence, domains, members, **more)
        return members

    return register


def _by_kind(members: Members, what: list[int]) -> Members:
    """The kernel of a predicate that takes its roles and colours as one number."""
    if len(what) < 2:
        return members
    last = what[1]
    return kernel(lambda view, kind: members(view, kind // last, kind % last))


@kernel
def _moved(difference):
    """The kinds of the pieces that have come or gone."""
    return difference.kinds


@kernel
def _all(difference):
    """All kinds of pieces: whose moves have changed is known only from the squares themselves."""
    return (ONE << U64(PIECES)) - ONE


@kernel
def _on_changed_ranks(difference):
    """The pairs on the ranks of the squares where pieces have come or gone."""
    return ranks_of(difference.squares) * _EACH_GROUP


@kernel
def _on_changed_files(difference):
    """The pairs on the files of the squares where pieces have come or gone."""
    return files_of(difference.squares) * _EACH_GROUP


_EACH_GROUP = U64(sum(1 << LINES * group for group in range(GROUPS)))
_MAX_MOVES = np.array(MAX_MOVES)


@_block("ALL", "{piece} on {place}", FILE, RANK, ROLE, COLOUR, changes=_moved)
def _squares_with(view, role, colour):
    """The squares with such a piece."""
    return pieces_in(view, role, colour)


@_block("H", "{piece} on file {place}", FILE, ROLE, COLOUR, changes=_moved)
def _files_with(view, role, colour):
    """The files with such a piece."""
    return files_of(pieces_in(view, role, colour))


@_block("V", "{piece} on rank {place}", RANK, ROLE, COLOUR, changes=_moved)
def _ranks_with(view, role, colour):
    """The ranks with such a piece."""
    return ranks_of(pieces_in(view, role, colour))


@_block("D1", "{piece} on diagonal {place}", FALLING, ROLE, COLOUR, changes=_moved, twin="D2")
def _diagonals_with(view, role, colour):
    """The diagonals with such a piece, along a8-h1."""
    return _diagonals_of(pieces_in(view, role, colour))


@_block("D2", "{piece} on diagonal {place}", RISING, ROLE, COLOUR, changes=_moved, twin="D1")
def _other_diagonals_with(view, role, colour):
    """The diagonals with such a piece, along a1-h8."""
    return _diagonals_of(mirror(pieces_in(view, role, colour)))


@kernel
def _diagonals_of(squares):
    """The diagonals along a8-h1 of these squares, by file + rank: each rank is moved by its number, two at a time."""
    squares = (squares & _EVEN_RANKS) | (squares >> U64(8) & _EVEN_RANKS) << ONE
    squares = (squares & _EVEN_PAIRS) | (squares >> U64(16) & _EVEN_PAIRS) << U64(2)
    return (squares & _LOWER_HALF) | (squares >> U64(32)) << U64(4)


_EVEN_RANKS, _EVEN_PAIRS, _LOWER_HALF = U64(0x00FF_00FF_00FF_00FF), U64(0x0000_FFFF_0000_FFFF), U64(0xFFFF_FFFF)


@_block(
    "PH", "{first} next to the left of {piece} on rank {place}", RANK, PIECE, PIECE,
    changes=_on_changed_ranks, facts=(KINDS, NEXT_ON_RANKS),
)  # fmt: skip
def _pairs_on_rank(view, kind):
    """The pairs on a rank in which the second piece is to the right of the first, with only empty squares between."""
    return view[RANK_PAIRS + kind]


@_block(
    "PV", "{first} next below {piece} on file {place}", FILE, PIECE, PIECE,
    changes=_on_changed_files, facts=(KINDS, NEXT_ON_FILES),
)  # fmt: skip
def _pairs_on_file(view, kind):
    """The pairs on a file in which the second piece is above the first, with only empty squares between."""
    return view[FILE_PAIRS + kind]


@_block("MB", "{piece} can move to {place}", SQUARE, ROLE, COLOUR, changes=_all, facts=(MOVES,), most=768)
def _squares_to_move_to(view, role, colour):
    """The squares that such a piece can move to."""
    return view[DESTINATIONS + 2 * role + colour]


@_block("MC", "squares that {piece} can move to: {place}", ROLE, COLOUR, COUNT, changes=_all, facts=(MOVES,))
def _number_of_squares(view, role, colour):
    """The number of squares that such pieces can move to, up to the maximum for the role; none on an empty board."""
    if view[OCCUPIED] == ZERO:
        return ZERO
    return ONE << U64(min(popcount(view[DESTINATIONS + 2 * role + colour]), _MAX_MOVES[role]))


_MEMBERS = tuple(block.members for block in BLOCKS.values())
_KINDS = np.array([len(block.numbers) for block in BLOCKS.values()])
_NUMBERS = np.array([np.resize(block.numbers, (GROUPS * LINES, 64)) for block in BLOCKS.values()])
_FILL = tuple(fact.fill for fact in FACTS)
FACTS_OF = np.array([sum(1 << FACTS.index(fact) for fact in block.facts) for block in BLOCKS.values()])  # as bits


@kernel
def fill_facts(view, wanted):
    """Fill in the facts of a view that are wanted, as bits in the order of FACTS."""
    number = 0
    for fill in literal_unroll(_FILL):
        if wanted >> number & 1:
            fill(view)
        number += 1


@kernel
def active_of_block(block, view, active):
    """Fill `active` with the indices of the active tuples of a block, given by its number in BLOCKS; their number.

    The facts that the block reads must be there.
    """
    count, number = 0, 0
    for members in literal_unroll(_MEMBERS):
        if number == block:
            for kind in range(_KINDS[number]):
                elements = members(view, kind)
                while elements:
                    active[count] = _NUMBERS[number, kind, lsb(elements)]
                    count += 1
                    elements &= elements - ONE
        number += 1
    return count
