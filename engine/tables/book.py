"""An opening book in the format of Polyglot, read by python-chess."""

from __future__ import annotations

from pathlib import Path
from random import Random

import chess.polyglot

from engine.board.game import IllegalMoveError, Position
from engine.board.move import Move
from engine.notation.san import board_of


class BookError(ValueError):
    """A book that cannot be used; the message names the file and the fault."""


class Book:
    """An open book."""

    def __init__(self, file: Path) -> None:
        """Raises BookError."""
        try:
            self._reader = chess.polyglot.open_reader(file)
        except OSError as error:
            raise BookError(f"cannot read book '{file}': {error.strerror or 'it is not a Polyglot book'}") from error
        if not len(self._reader):
            raise BookError(f"book '{file}' is empty")

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def move(self, position: Position, random: Random) -> Move | None:
        """A random move of the book in this position, by their weights; None if there is none."""
        board = board_of(position)
        try:
            entry = self._reader.weighted_choice(board, random=random)
        except IndexError:
            return None
        try:
            return position.parse_uci(board.uci(entry.move))
        except IllegalMoveError:  # a broken book, or another position with the same key
            return None
