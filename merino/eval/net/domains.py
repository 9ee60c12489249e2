"""Domains: the finite sets that tuples of features are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from merino.core.board.bitboard import SQUARE_NAMES


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
    "piece",
    tuple(f"{colour} {role}" for role in ROLE.elements for colour in COLOUR.elements),
    lambda piece: piece ^ 1,
)
COUNT = Domain("count", tuple(map(str, range(26))))
