"""The folder of unfinished games: each is kept until it is over, however the console ends, and offered again.

`unfinished/1.pgn` in the user's data folder holds one game. A console locks the files of its games, so that another
one neither offers nor overwrites them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from merino.inner.app.console.console_game import Place, locked
from merino.inner.app.console.unfinished_pgn import DamagedGameError, KeptGame
from merino.inner.core.common.files import write_fault
from merino.inner.core.common.user_files import UNFINISHED_GAME, UserFileError, is_there, read_user_text

MAX_GAMES = 9


@dataclass(frozen=True)
class Offer:
    """A game that waits to be continued, and the day it was last played."""

    path: Path
    kept: KeptGame
    day: datetime.date

    def __str__(self) -> str:
        return f"{_when(self.day)}, {self.kept}"


class Unfinished:
    """The unfinished games of a folder. `say` gets a sentence for each fault; none of them is an error."""

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        self._folder, self._say = folder, say
        self._is_able = True

    def offers(self) -> list[Offer]:
        """The games that no console plays, the last one first. Damaged files are set aside."""
        found = [offer for path in self._paths() if (offer := self._offer(path)) is not None]
        return sorted(found, key=lambda offer: offer.path.stat().st_mtime, reverse=True)

    def take(self, offer: Offer) -> Place | None:
        """The place of an offered game; None if another console has taken it meanwhile."""
        return locked(offer.path)

    def keep(self, place: Place | None, text: str | None) -> Place | None:
        """Write a game in its place, a new one if it has none, or with None remove it; the place.

        What cannot be written is said once, and then no more is tried.
        """
        if not self._is_able or (place is None and text is None):
            return place
        try:
            place = place or self._free_place()
            if text is None:
                place.clear()
            else:
                place.put(text)
        except OSError as error:
            self._is_able = False
            self._say(f"The game will be lost when you leave: {write_fault(error)}; save FILE keeps it.")
        return place

    def _paths(self) -> Iterator[Path]:
        return (self._folder / f"{number}.pgn" for number in range(1, MAX_GAMES + 1))

    def _free_place(self) -> Place:
        """A place without a game, else that of the oldest game; raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self._paths(), key=lambda path: path.stat().st_mtime if is_there(path) else 0):
            place = locked(path)
            if place is not None:
                return place
        raise OSError(f"{MAX_GAMES} other consoles keep their games in '{self._folder}'")

    def _offer(self, path: Path) -> Offer | None:
        if not is_there(path):
            return None
        try:
            place = locked(path)
            if place is None:
                return None
            try:
                day = datetime.date.fromtimestamp(path.stat().st_mtime)
                return Offer(path, KeptGame.read(_text_of(path)), day)
            except DamagedGameError as error:
                self._set_aside(path, error)
            finally:
                place.leave()
        except OSError as error:
            self._say(f"An unfinished game cannot be read: '{path}': {error.strerror or error}.")
        return None

    def _set_aside(self, path: Path, fault: DamagedGameError) -> None:
        """Rename a damaged file, beside those that are there already; raises OSError."""
        number, target = 1, path.with_suffix(".damaged")
        while is_there(target):
            number += 1
            target = path.with_suffix(f".damaged{number}")
        path.rename(target)
        self._say(f"The unfinished game in '{path}' is damaged ({fault}); the file is now '{target}'.")


def _text_of(path: Path) -> str:
    """The text of a file; raises OSError or DamagedGameError."""
    try:
        return read_user_text(path, UNFINISHED_GAME)
    except UserFileError as error:
        raise DamagedGameError(str(error.strerror)) from error


def _when(day: datetime.date) -> str:
    """A day as people say it."""
    days = (datetime.date.today() - day).days
    return {0: "today", 1: "yesterday"}.get(days, f"{day:%Y-%m-%d}")
