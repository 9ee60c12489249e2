"""Games from outside: the file that the server was started with, and texts that the page sends."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, Self

from merino.app.explorer.fields import Fields, RequestError
from merino.core.common.errors import MerinoError
from merino.formats.pgn_games import MAX_GAME_BYTES, GameHeader, list_games
from merino.formats.sources import CHUNK, SourceError, name_of, open_source

FIRST_PIECE = 1 << 16  # bytes: enough games to fill the screen at once
MAX_TEXT = 64 << 20  # characters of all games of a run
MAX_NAME = 80
MAX_FILES = 50
UNNAMED = "games.pgn"
_PATH = re.compile(r"(?:\S*[\\/])?sent-(?:games|(\d+))\.pgn")  # of a file that is written here


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


@dataclass(frozen=True)
class SentGames:
    """Texts of games, each by the name that the user knows it by."""

    names: tuple[str, ...]
    texts: tuple[str, ...]

    @classmethod
    def of(cls, fields: Fields) -> SentGames:
        """The `files` of a request, each a `name` and a `text`, or the one that it is itself; raises RequestError."""
        parts = fields.parts("files") or [fields]
        if len(parts) > MAX_FILES:
            raise RequestError(f"'files' holds more than {MAX_FILES} files")
        found = cls(
            tuple(part.text("name", UNNAMED)[:MAX_NAME] for part in parts),
            tuple(part.text("text", most=MAX_TEXT) for part in parts),
        )
        if sum(map(len, found.texts)) > MAX_TEXT:
            raise RequestError(f"the games are longer than {MAX_TEXT} characters")
        return found

    @property
    def title(self) -> str:
        """All of them in few words."""
        first, others = self.names[0], len(self.names) - 1
        return f"{first} and {others} more" if others else first

    def written(self, folder: Path) -> list[Path]:
        """Each as a file in the folder."""
        paths = [folder / f"sent-{number}.pgn" for number in range(len(self.texts))]
        for path, text in zip(paths, self.texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return paths

    def joined(self, folder: Path) -> Path:
        """All as one file in the folder."""
        path = folder / "sent-games.pgn"
        path.write_text("\n\n".join(self.texts), encoding="utf-8")
        return path

    def named(self, text: str) -> str:
        """A line with the files of a folder by the names that the user knows."""
        return _PATH.sub(lambda found: self.names[int(found[1])] if found[1] else self.title, text)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Let errors name the games as the user knows them."""
        try:
            yield
        except MerinoError as error:
            raise RequestError(self.named(str(error))) from error
