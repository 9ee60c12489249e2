"""An opening book in the format of Polyglot, read by python-chess.

The format has no mark of its own: a book is known by entries in the order of their keys. Moves are checked where they
are played, castling is written either way.
"""

from pathlib import Path
from random import Random

import chess.polyglot
import numpy as np

from merino.core.board.game import IllegalMoveError, Position
from merino.core.board.move import Move
from merino.core.common.files import BOOK, read_user_file, reading

_ENTRY = np.dtype([("key", ">u8"), ("move", ">u2"), ("weight", ">u2"), ("learn", ">u4")])


class BookError(ValueError):
    """A book that cannot be used; the message names the file and the fault."""


class _Reader(chess.polyglot.MemoryMappedReader):
    """Reads a book in memory: a mapped file ends the process when it is cut short, and its disk may be slow."""

    def __init__(self, content: bytes) -> None:
        self.mmap = content  # type: ignore[assignment]  # only its bytes are used

    def __len__(self) -> int:
        return len(self.mmap) // _ENTRY.itemsize


class Book:
    """A book, read into memory."""

    def __init__(self, file: Path) -> None:
        """Raises BookError."""
        with reading(BookError, f"book '{file}'"):
            content = read_user_file(file, BOOK)
        if not content:
            raise BookError(f"book '{file}' is empty")
        if len(content) % _ENTRY.itemsize or not _is_ordered(np.frombuffer(content, dtype=_ENTRY)["key"]):
            raise BookError(f"cannot read book '{file}': it is not a Polyglot book")
        self.file = file
        self._reader = _Reader(content)

    def move(self, position: Position, random: Random) -> Move | None:
        """A random move of the book in this position, by their weights; None if there is none."""
        board = position.to_chess(stack=False)
        try:
            return position.parse_uci(board.uci(self._reader.weighted_choice(board, random=random).move))
        except (IndexError, IllegalMoveError):  # no entry; a broken book, or another position with the same key
            return None


def _is_ordered(keys: np.ndarray) -> bool:
    return bool((keys[1:] >= keys[:-1]).all())
