"""The file of one unfinished game, locked by the console that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from merino.inner.core.common.files import try_lock, write_whole


class Place:
    """The file of one game, locked by this process until it ends."""

    def __init__(self, path: Path, lock: IO[bytes]) -> None:
        self.path = path
        self._lock = lock
        self._written: str | None = None

    def put(self, text: str) -> None:
        """Write the game, unless it is there already; raises OSError."""
        if text != self._written:
            write_whole(self.path, text.encode())
            self._written = text

    def clear(self) -> None:
        """Remove the game; raises OSError."""
        self.path.unlink(missing_ok=True)
        self._written = None

    @property
    def holds_a_game(self) -> bool:
        """Whether this process has written a game that is still there."""
        return self._written is not None

    def leave(self) -> None:
        """Let other consoles have it."""
        self._lock.close()


def locked(path: Path) -> Place | None:
    """The place of this path; None if another console has it. Raises OSError."""
    file = path.with_suffix(".lock").open("ab")
    if try_lock(file):
        return Place(path, file)
    file.close()
    return None
