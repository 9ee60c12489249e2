"""Where a game starts."""

from __future__ import annotations

from dataclasses import dataclass

from engine.board.fen import START_FEN
from engine.board.game import Position


class OpeningError(ValueError):
    """Openings that cannot be had; the message says why."""


@dataclass(frozen=True)
class Opening:
    """Where a game starts: a FEN and the moves from it that are not played by the engines, as coordinates."""

    fen: str = START_FEN
    moves: tuple[str, ...] = ()

    def position(self) -> Position:
        """The position after the moves, with its history; raises FenError and IllegalMoveError."""
        position = Position(self.fen)
        position.push_all(self.moves)
        return position
