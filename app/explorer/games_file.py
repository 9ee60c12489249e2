"""The file of games that the server was started with, read piece by piece as pages ask for them."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple, Self

from merino.inner.formats.pgn_games import MAX_GAME_BYTES
from merino.inner.formats.pgn_stream import GameHeader, list_games
from merino.inner.formats.sources import CHUNK, SourceError, name_of, open_source

FIRST_PIECE = 1 << 16  # bytes: enough games to fill the screen at once


class ListedPiece(NamedTuple):
    """Some games of a file: their headers, the offset of the game after them, and the share of the file before it.

    `next` is None behind the last game, `done` for a pipe.
    """

    games: list[GameHeader]
    next: int | None
    done: float | None


class GamesFile:
    """A file of games, open while it is used as a context. Offsets are in its text, uncompressed.

    `holds_positions`: it is a list of positions, one per line, and has no games. No text stays in memory. That of a
    compressed file or a pipe goes to a temporary file, as far as it was asked for. Methods may be called from any
    thread. They raise SourceError if the file cannot be read or has changed.
    """

    def __init__(self, path: Path) -> None:
        self._held = ExitStack()
        self._source = self._held.enter_context(open_source(path))
        self.holds_positions = self._source.holds_positions()
        self._copy: IO[bytes] | None = None
        self._copied = 0
        if self._source.begins is None:
            self._copy = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (held open)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self._source.name

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._source.path

    def check(self) -> None:
        """Raise SourceError if there is no game in the file."""
        first = self.piece(0)
        if not first.games and first.next is None:
            raise SourceError(f"{name_of(self._source.path, quoted=True)} holds no game")

    def piece(self, at: int) -> ListedPiece:
        """Some games from offset `at` on, where one begins."""
        size = CHUNK if at else FIRST_PIECE
        while True:
            text = self.text(at, size)
            is_last = len(text) < size
            games, after = list_games(text, at, goes_on=not is_last and size < MAX_GAME_BYTES)
            if is_last:
                return ListedPiece(games, None, 1.0)
            if after > at:
                return ListedPiece(games, after, self._source.share(after))
            size *= 2

    def text(self, at: int, size: int) -> bytes:
        """The bytes of the text from an offset on, at most `size`."""
        with self._lock:
            if self._copy is None:
                return self._source.read_at(at, size)
            self._copy.seek(self._copied)
            while self._copied < at + size and (text := self._source.read(CHUNK)):
                self._copied += self._copy.write(text)
            self._copy.seek(at)
            return self._copy.read(size)
