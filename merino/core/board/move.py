"""A move in 16 bits: origin, destination and kind; and its text.

Bits 0-5 origin, 6-11 destination, 12-15 kind. Castling is "king takes own rook", which serves Chess960 as
well; the text is e1g1 in normal chess and e1h1 in Chess960. The pieces are read off the board when needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from merino.core.board.bitboard import KNIGHT, SQUARE_NAMES
from merino.core.compiled.jit import kernel

if TYPE_CHECKING:
    import chess

NO_MOVE = 0  # a1a1, never legal
NORMAL, DOUBLE_PUSH, CASTLING, EN_PASSANT = range(4)
PROMOTION = 4  # + 0 knight, 1 bishop, 2 rook, 3 queen
QUEEN_PROMOTION = PROMOTION + 3
SQUARES = 0xFFF  # the bits of origin and destination


@kernel
def pack(origin, destination, kind):
    """The move as int64; squares and kind are int64."""
    return origin | destination << 6 | kind << 12


@kernel
def origin_of(move):
    """The square a move leaves."""
    return move & 63


@kernel
def destination_of(move):
    """The square a move goes to; for castling the square of the rook."""
    return move >> 6 & 63


@kernel
def kind_of(move):
    """NORMAL, DOUBLE_PUSH, CASTLING, EN_PASSANT, or PROMOTION + 0..3."""
    return move >> 12


@kernel
def promoted_type(kind):
    """The piece type a promotion kind makes."""
    return kind - PROMOTION + KNIGHT


class Move(int):
    """A move as Python sees it: an int with the same bits and with words for them."""

    @property
    def from_square(self) -> int:
        """The square it leaves, 0..63."""
        return self & 63

    @property
    def to_square(self) -> int:
        """The square it goes to; for castling the square of the rook."""
        return self >> 6 & 63

    @property
    def kind(self) -> int:
        """One of the kinds of this module."""
        return self >> 12

    @property
    def is_castling(self) -> bool:
        """Whether king and rook move together."""
        return self.kind == CASTLING

    @property
    def promotion(self) -> int | None:
        """The piece type it promotes to, or None."""
        return self.kind - PROMOTION + KNIGHT if self.kind >= PROMOTION else None

    def uci(self, chess960: bool = False) -> str:
        """Coordinate text: e2e4, e7e8q; castling as e1g1, or as e1h1 where `chess960`."""
        if not self:
            return "0000"
        to_square = self.to_square
        if self.is_castling and not chess960:
            to_square = (self.from_square & 56) + (6 if to_square > self.from_square else 2)
        letter = "nbrq"[self.kind & 3] if self.kind >= PROMOTION else ""
        return SQUARE_NAMES[self.from_square] + SQUARE_NAMES[to_square] + letter

    def to_chess(self, chess960: bool = False) -> chess.Move:
        """The move of python-chess, for a board of Chess960 with `chess960`."""
        import chess  # noqa: PLC0415 (not before it is needed)

        return chess.Move.from_uci(self.uci(chess960))

    def __repr__(self) -> str:
        return f"Move({self.uci(chess960=True)!r})"
