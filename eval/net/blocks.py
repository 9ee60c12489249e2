"""Feature blocks: sets of tuples over files, ranks, diagonals, squares, roles and colours, each with a predicate.

A block is the product of its domains, and its predicate says which of the tuples are active on a board; a net has one
input per tuple. For given roles and colours, a predicate returns the set of elements of the first domain for which it
is true: `H` returns the files with a piece of this role and colour. The index of a tuple is a mixed-radix number, in
the order of the domains.

Names and sizes are those of M. E. Lombardo, "Feature set analysis for chess NNUE networks" (Buenos Aires 2024).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numba import literal_unroll

from merino.inner.core.board.bitboard import KING, NOT_A, ONE, SQUARE_NAMES, U64, ZERO, lsb, popcount
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.net.mobility import destinations
from merino.inner.eval.net.view import OCCUPIED, OWN, pieces_in


@dataclass(frozen=True)
class Domain:
    """A finite set that tuples are made of: the names of its elements, in the order of their numbers."""

    name: str
    elements: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.elements)


def _diagonals(number: Callable[[int, int], int]) -> tuple[str, ...]:
    """The names of 15 diagonals, such as "a8-h1"; `number` gives the diagonal of a file and a rank."""
    squares: list[list[str]] = [[] for _ in range(15)]
    for square, name in enumerate(SQUARE_NAMES):
        squares[number(square & 7, square >> 3)].append(name)
    return tuple("-".join(sorted({min(names), max(names)})) for names in squares)


FILE = Domain("file", tuple("abcdefgh"))
RANK = Domain("rank", tuple("12345678"))
FALLING = Domain("diagonal", _diagonals(lambda file, rank: file + rank))  # a8-h1 and its parallels
RISING = Domain("diagonal", _diagonals(lambda file, rank: file + 7 - rank))  # a1-h8 and its parallels
SQUARE = Domain("square", SQUARE_NAMES)
ROLE = Domain("role", ("pawn", "knight", "bishop", "rook", "queen", "king"))
COLOUR = Domain("colour", ("own", "other"))
PIECE = Domain("piece", tuple(f"{colour} {role}" for role in ROLE.elements for colour in COLOUR.elements))
COUNT = Domain("count", tuple(map(str, range(26))))
MAX_MOVES = (8, 15, 16, 25, 25, 8)  # by role; larger counts are equal to this one

Members = Callable[..., Any]


@dataclass(frozen=True)
class Block:
    """A set of tuples and its predicate.

    `members` is a kernel (view, kind) -> uint64: the elements of the first domain for which the predicate is true;
    `kind` numbers the elements of the other domains. `places[e]` is the number of element e, and the index of a tuple
    is starts[kind] + step * places[e].
    """

    name: str
    domains: tuple[Domain, ...]
    sentence: str
    members: Members
    places: tuple[int, ...]
    starts: tuple[int, ...]
    step: int
    size: int
    most: int  # upper bound of the number active at once

    def words(self, index: int) -> str:
        """The tuple of this index in words, such as "own rook on file e"."""
        kind, place = index % self.step, index // self.step
        if COUNT in self.domains:
            kind = max(kind for kind, start in enumerate(self.starts) if start <= index)
            place = index - self.starts[kind]
        pieces = PIECE.elements if len(self.starts) > 1 else ("",)
        return self.sentence.format(
            place=self._name_of(place), piece=pieces[kind % len(pieces)], first=pieces[kind // 12 % len(pieces)]
        )

    def _name_of(self, place: int) -> str:
        if self.domains[:2] == (FILE, RANK):
            return FILE.elements[place >> 3] + RANK.elements[place & 7]
        return next(domain for domain in self.domains if domain not in (ROLE, COLOUR)).elements[place]


def make_block(name: str, sentence: str, domains: tuple[Domain, ...], members: Members, most: int = 32) -> Block:
    """The block of a predicate: a function of a view and of elements of the role, colour and piece domains.

    `sentence` describes a tuple in words. `most` is the maximum number of tuples active at once.
    """
    what = [len(domain) for domain in domains if domain in (ROLE, COLOUR, PIECE)]
    kinds = prod(what)
    size = prod(map(len, domains))
    starts, step = tuple(range(kinds)), kinds
    if COUNT in domains:
        sizes = [most_moves + 1 for most_moves in MAX_MOVES for _ in COLOUR.elements]
        starts, step, size = tuple(sum(sizes[:kind]) for kind in range(kinds)), 1, sum(sizes)
    number = _by_file if domains[:2] == (FILE, RANK) else int
    places = tuple(number(element) for element in range(64))
    return Block(name, domains, sentence, _by_kind(kernel(members), what), places, starts, step, size, most)


BLOCKS: dict[str, Block] = {}  # by name


def _block(name: str, sentence: str, *domains: Domain, most: int = 32) -> Callable[[Members], Members]:
    """Register the block of a predicate."""

    def register(members: Members) -> Members:
        BLOCKS[name] = make_block(name, sentence, domains, members, most)
        return members

    return register


def _by_file(square: int) -> int:
    """The number of a square as a pair of file and rank."""
    return (square & 7) * 8 + (square >> 3)


def _by_kind(members: Members, what: list[int]) -> Members:
    """The kernel of a predicate that takes its roles, colours or pieces as one number."""
    if not what:
        return kernel(lambda view, kind: members(view))
    if len(what) == 1:
        return members
    last = what[1]
    return kernel(lambda view, kind: members(view, kind // last, kind % last))


_MAX_MOVES = np.array(MAX_MOVES)


@_block("ALL", "{piece} on {place}", FILE, RANK, ROLE, COLOUR)
def _squares_with(view, role, colour):
    """The squares with such a piece."""
    return pieces_in(view, role, colour)


@_block("KING", "own king on {place}", SQUARE, most=1)
def _square_of_king(view):
    """The square of the own king."""
    return pieces_in(view, KING, OWN)


@_block("H", "{piece} on file {place}", FILE, ROLE, COLOUR)
def _files_with(view, role, colour):
    """The files with such a piece."""
    files = pieces_in(view, role, colour)
    files |= files >> U64(32)
    files |= files >> U64(16)
    return (files | files >> U64(8)) & U64(0xFF)


@_block("V", "{piece} on rank {place}", RANK, ROLE, COLOUR)
def _ranks_with(view, role, colour):
    """The ranks with such a piece."""
    return _ranks_of(pieces_in(view, role, colour))


@kernel
def _ranks_of(squares):
    """The ranks of these squares; rank 1 is bit 0."""
    squares |= squares >> U64(4)
    squares |= squares >> U64(2)
    squares = (squares | squares >> ONE) & U64(0x0101_0101_0101_0101)
    return (squares * U64(0x0102_0408_1020_4080)) >> U64(56)


@_block("D1", "{piece} on diagonal {place}", FALLING, ROLE, COLOUR)
def _diagonals_with(view, role, colour):
    """The diagonals with such a piece, along a8-h1."""
    squares, diagonals = pieces_in(view, role, colour), ZERO
    while squares:
        square = lsb(squares)
        diagonals |= ONE << U64((square & 7) + (square >> 3))
        squares &= squares - ONE
    return diagonals


@_block("D2", "{piece} on diagonal {place}", RISING, ROLE, COLOUR)
def _other_diagonals_with(view, role, colour):
    """The diagonals with such a piece, along a1-h8."""
    squares, diagonals = pieces_in(view, role, colour), ZERO
    while squares:
        square = lsb(squares)
        diagonals |= ONE << U64((square & 7) + 7 - (square >> 3))
        squares &= squares - ONE
    return diagonals


@_block("PH", "{first} next to the left of {piece} on rank {place}", RANK, PIECE, PIECE)
def _ranks_with_pair(view, first, second):
    """The ranks where the second piece is to the right of the first, with only empty squares between."""
    left, right = view[first], view[second]
    if left == ZERO or right == ZERO:
        return ZERO
    free = ~view[OCCUPIED] & NOT_A
    left |= free & (left << ONE)
    free &= free << ONE
    left |= free & (left << U64(2))
    free &= free << U64(2)
    left |= free & (left << U64(4))
    return _ranks_of((left << ONE) & NOT_A & right)


@_block("PV", "{first} next below {piece} on file {place}", FILE, PIECE, PIECE)
def _files_with_pair(view, first, second):
    """The files where the second piece is above the first, with only empty squares between."""
    below, above = view[first], view[second]
    if below == ZERO or above == ZERO:
        return ZERO
    free = ~view[OCCUPIED]
    below |= free & (below << U64(8))
    free &= free << U64(8)
    below |= free & (below << U64(16))
    free &= free << U64(16)
    below |= free & (below << U64(32))
    found = (below << U64(8)) & above
    found |= found >> U64(32)
    found |= found >> U64(16)
    return (found | found >> U64(8)) & U64(0xFF)


@_block("MB", "{piece} can move to {place}", SQUARE, ROLE, COLOUR, most=768)
def _squares_to_move_to(view, role, colour):
    """The squares that such a piece can move to."""
    return destinations(view, role, colour)


@_block("MC", "squares that {piece} can move to: {place}", ROLE, COLOUR, COUNT)
def _number_of_squares(view, role, colour):
    """The number of squares that such pieces can move to, up to the maximum for the role."""
    return ONE << U64(min(popcount(destinations(view, role, colour)), _MAX_MOVES[role]))


_MEMBERS = tuple(block.members for block in BLOCKS.values())
_KINDS = np.array([len(block.starts) for block in BLOCKS.values()])
_STEPS = np.array([block.step for block in BLOCKS.values()])
_PLACES = np.array([block.places for block in BLOCKS.values()])
_STARTS = np.array([np.resize(block.starts, 144) for block in BLOCKS.values()])


@kernel
def active_of_block(block, view, active):
    """Fill `active` with the indices of the active tuples of a block, given by its number in BLOCKS; their number."""
    count, number = 0, 0
    for members in literal_unroll(_MEMBERS):
        if number == block:
            for kind in range(_KINDS[number]):
                elements = members(view, kind)
                while elements:
                    active[count] = _STARTS[number, kind] + _STEPS[number] * _PLACES[number, lsb(elements)]
                    count += 1
                    elements &= elements - ONE
        number += 1
    return count
