"""Where a game starts."""

from __future__ import annotations

from dataclasses import dataclass

from merino.inner.core.board.fen import START_FEN
from merino.inner.core.board.game import Position


class OpeningError(ValueError):
    """Openings that cannot be read or made; the message says why."""


@dataclass(frozen=True)
class Opening:
    """The start of a game: a FEN and the book moves from it, as coordinates."""

    fen: str = START_FEN
    moves: tuple[str, ...] = ()

    def position(self) -> Position:
        """The position after the moves, with its history; raises FenError and IllegalMoveError."""
        position = Position(self.fen)
        position.push_all(self.moves)
        return position
