"""Games that the page sends: one text, or several files. They are in a temporary folder while work lasts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from merino.inner.app.explorer.fields import Fields, RequestError
from merino.inner.core.common.errors import MerinoError

MAX_TEXT = 64 << 20  # characters of all games of a run
MAX_NAME = 80
MAX_FILES = 50
UNNAMED = "games.pgn"
_PATH = re.compile(r"(?:\S*[\\/])?sent-(?:games|(\d+))\.pgn")  # of a file that is written here


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
