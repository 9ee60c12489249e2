"""A game at the console with all that belongs to it, and the file that keeps it, locked by the console that plays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO

from merino.inner.app.console.ending import Ending
from merino.inner.app.console.pace import Pace
from merino.inner.app.console.scoresheet import Scoresheet
from merino.inner.core.board.game import Position
from merino.inner.core.board.move import Move
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


@dataclass(frozen=True)
class ConsoleGame:
    """A game: the present one, or one that was left for another."""

    position: Position
    sheet: Scoresheet
    undone: list[Move]  # moves taken back, the next to be played again last
    pace: Pace
    thought_ms: list[int]  # by the engine in this game, for White and for Black
    declared: Ending | None = None  # by resignation or agreement
    is_forced: bool = False  # the person moves for both sides
    is_flipped: bool = False
    is_played: bool = False  # moves were made at this console, or in a session before
    place: Place | None = None  # the file that keeps it
