"""The games of the console. An unfinished one is kept until it is over, however the console ends, and offered again.

`unfinished/1.pgn` in the user's data folder holds one game. A console locks the files of its games, so that another
one neither offers nor overwrites them. It is PGN whose tags also tell who plays and with which limits.

Tags besides the usual ones: `PlyCount` (a file cut short is noticed), `Person` and `Seen` (a side), `Limit` (a command
such as "level 40 5 0"), `Clocks` (what is left in ms, and the moves made), `Thought` (ms), `Elo`
(`opponent.py`), `Undone` (moves) and `Saved` (where `save` put the game).
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import chess.pgn

from merino.app.console.opponent import Opponent
from merino.app.console.pace import ClockPace, Pace, pace_of
from merino.app.console.scoresheet import UNFINISHED, Ending, Scoresheet, side_name
from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.errors import MerinoError
from merino.core.common.files import try_lock, write_fault, write_whole
from merino.core.common.text import counted
from merino.core.common.user_files import UNFINISHED_GAME, UserFileError, is_there, open_to_append, read_user_text
from merino.engine.notation.games import PgnLines, loaded, read_game
from merino.formats.pgn_text import tag_pair

MAX_GAMES = 9
_MAX_THOUGHT = 1 << 53  # milliseconds, which every reader of numbers can hold
_BOTH = "both"
_SIDES = {side_name(WHITE): WHITE, side_name(BLACK): BLACK, _BOTH: None}


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
    opponent: Opponent | None = None  # how the engine plays in it and, with the limit, in no other; None: as before


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
    file = open_to_append(path.with_suffix(".lock"))
    if try_lock(file):
        return Place(path, file)
    file.close()
    return None


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
        self._numbered: list[Path] = []  # the games in the order in which they were told

    def offers(self) -> list[Offer]:
        """The games that no console plays, the last one first. Damaged files are set aside."""
        found = [offer for path in self._paths() if (offer := self._offer(path)) is not None]
        return sorted(found, key=lambda offer: offer.path.stat().st_mtime, reverse=True)

    def numbered(self) -> list[Offer]:
        """The same, which are the first, the second and so on from now on."""
        found = self.offers()
        self._numbered = [offer.path for offer in found]
        return found

    def offer(self, number: int | None) -> Offer | None:
        """The game of this number, as it is now; without one the first that waits, those that were told before others.

        None if it waits no more. Raises IndexError if there never was one of this number.
        """
        waiting = {offer.path: offer for offer in self.offers()}
        if number is None:
            return next((waiting[path] for path in [*self._numbered, *waiting] if path in waiting), None)
        return waiting.get((self._numbered or list(waiting))[number - 1])

    def as_it_is_now(self, offer: Offer) -> Offer | None:
        """The game of an earlier offer, with which another console may have gone on; None if it waits no more."""
        found = self._offer(offer.path)
        return found if found is not None and found.kept.goes_on_from(offer.kept) else None

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


class DamagedGameError(MerinoError):
    """A file that does not hold a kept game; the message says why."""


@dataclass(frozen=True)
class KeptGame:
    """A game, the side that the person plays (None: both), and how the engine plays."""

    game: ConsoleGame
    person: int | None
    opponent: Opponent

    def __str__(self) -> str:
        moves = (len(self.game.position.moves) + 1) // 2
        person = "you play both sides" if self.person is None else f"you are {side_name(self.person)}"
        return f"{counted(moves, 'move')}, {person}"

    def goes_on_from(self, earlier: KeptGame) -> bool:
        """Whether it is that game, perhaps after more moves."""
        mine, theirs = self.game.position, earlier.game.position
        return mine.start_fen() == theirs.start_fen() and mine.moves[: len(theirs.moves)] == theirs.moves

    @property
    def as_it_was(self) -> ConsoleGame:
        """The game with its opponent and its limit, whatever is set in the session that goes on with it."""
        return replace(self.game, opponent=self.opponent)

    def text(self) -> str:
        """The file."""
        game = self.game
        tags = {
            "PlyCount": str(len(game.position.moves)),
            "Person": _BOTH if self.person is None else side_name(self.person),
            "Seen": side_name(BLACK if game.is_flipped else WHITE),
            "Limit": game.pace.command,
            "Thought": _in_words(game.thought_ms),
        }
        if isinstance(game.pace, ClockPace):
            tags["Clocks"] = _in_words(game.pace.state)
        tags |= self.opponent.tags()
        if game.undone:
            tags["Undone"] = " ".join(game.position.uci(move) for move in reversed(game.undone))
        tags |= game.sheet.saved_tag([*game.position.moves, *reversed(game.undone)])
        return (
            "".join(f"{tag_pair(*tag)}\n" for tag in tags.items())
            + game.sheet.own_pgn(game.position, UNFINISHED)
            + "\n"
        )

    @classmethod
    def read(cls, text: str) -> KeptGame:
        """The game of a file; raises DamagedGameError."""
        game = read_game(PgnLines(io.StringIO(text)))
        if game is None:
            raise DamagedGameError("it holds no game")
        if game.errors:
            raise DamagedGameError(str(game.errors[0]))
        try:
            return cls._of(game)
        except KeyError as error:
            raise DamagedGameError(f"the tag {error} is missing or has an unknown value") from error
        except (MerinoError, ValueError) as error:
            raise DamagedGameError(str(error)) from error

    @classmethod
    def _of(cls, game: chess.pgn.Game) -> KeptGame:
        """The game with its tags; raises KeyError, ValueError or MerinoError."""
        tags, position = game.headers, loaded(game, 1).position
        if len(position.moves) != int(tags["PlyCount"]):
            raise DamagedGameError(f"it has {len(position.moves)} of {tags['PlyCount']} plies")
        undone = position.copy().push_all(tags.get("Undone", "").split())
        person = _SIDES[tags["Person"]]
        console_game = ConsoleGame(
            position,
            Scoresheet.from_own_tags(tags, [*position.moves, *undone]),
            undone[::-1],
            _pace(tags),
            _thought(tags),
            is_forced=person is None,
            is_flipped=_SIDES[tags["Seen"]] == BLACK,
            is_played=True,
        )
        return cls(console_game, person, Opponent.from_tags(tags))


def _pace(tags: Mapping[str, str]) -> Pace:
    """The engine's limit, its clocks as they stood; raises UsageError, KeyError or ValueError."""
    pace = pace_of(tags["Limit"])
    if isinstance(pace, ClockPace):
        pace.restore(tuple(map(int, tags["Clocks"].split())))
    return pace


def _thought(tags: Mapping[str, str]) -> list[int]:
    """How long the engine has thought for each side, in milliseconds; raises KeyError or ValueError."""
    white, black = map(int, tags["Thought"].split())
    if not (0 <= white <= _MAX_THOUGHT and 0 <= black <= _MAX_THOUGHT):
        raise ValueError("nobody has thought for so long")
    return [white, black]


def _in_words(numbers: list[int] | tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
