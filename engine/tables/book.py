"""An opening book in the format of Polyglot, read by python-chess."""

from __future__ import annotations

from pathlib import Path
from random import Random

import chess.polyglot

from engine.board.game import IllegalMoveError, Position
from engine.board.move import Move
from engine.common.user_files import BOOK, read_user_file
from engine.notation.san import board_of


class BookError(ValueError):
    """A book that cannot be used; the message names the file and the fault."""


class _Reader(chess.polyglot.MemoryMappedReader):
    """Reads a book in memory: a mapped file ends the process when it is cut short, and its disk may be slow."""

    def __init__(self, content: bytes) -> None:
        self.mmap = content  # type: ignore[assignment]  # of which only the bytes are used

    def __len__(self) -> int:
        return len(self.mmap) // chess.polyglot.ENTRY_STRUCT.size


class Book:
    """A book, read into memory."""

    def __init__(self, file: Path) -> None:
        """Raises BookError."""
        try:
            content = read_user_file(file, BOOK)
        except OSError as error:
            raise BookError(f"cannot read book '{file}': {error.strerror}") from error
        if not content:
            raise BookError(f"book '{file}' is empty")
        if len(content) % chess.polyglot.ENTRY_STRUCT.size:
            raise BookError(f"cannot read book '{file}': it is not a Polyglot book")
        self._reader = _Reader(content)

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
