"""A game at the console: its moves, the engine's thinking time, its record as PGN, and the file of an unfinished one.

An unfinished game is kept on the disk until it is over, however the console ends, and offered at the next start. The
file is PGN with tags for how it goes on: `PlyCount` (a file cut short is noticed), `Person` and `Seen` (a side),
`Limit` (a command such as "level 40 5 0"), `Clocks` (ms left, and moves made), `Thought` (ms), `Elo`, `Undone` (moves).
"""

from __future__ import annotations

import datetime
import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

import chess.pgn

from merino.app.console.registry import minutes, number, whole_number
from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.fen import COLOUR_NAMES
from merino.core.board.game import RESULTS, Outcome, Position, Termination
from merino.core.board.move import Move
from merino.core.common.about import NAME, __version__
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.errors import MerinoError
from merino.core.common.files import (
    UNFINISHED_GAME,
    WHOLE_GAMES,
    FileInUseError,
    UserFileError,
    claimed,
    held,
    is_there,
    read_user_file,
    read_user_text,
    write_fault,
    write_whole,
    writing,
)
from merino.core.common.text import counted
from merino.engine.notation.games import PgnLines, loaded, read_game
from merino.engine.notation.san import as_chess_move, start_board_of
from merino.engine.search.limits import MAX_MS, MAX_PLY, Limits
from merino.engine.search.strength import FULL_LEVEL, Strength, at_elo, at_level
from merino.formats.pgn_text import UNKNOWN_TAGS, game_text, plain_value, push_move, start_tags, tag_pair
from merino.formats.sources import SourceError, as_named, is_compressed, read_text

UNFINISHED = "*"  # the result of an unfinished game, as PGN writes it
PERSON = "Human"
DEFAULT_PACE = "st 2"
WAITING_SECONDS = 10.0  # for another console that saves its game in the same file
MAX_MOVES = 10_000  # of a period of a clock
MIN_CLOCK_MS = 100  # the engine's clock never falls below this: nobody loses on time here
MAX_FILES = 9  # of unfinished games, of as many consoles at once
_MAX_THOUGHT = 1 << 53  # milliseconds, which every reader of numbers can hold
_DATE = "%Y.%m.%d"
_TAG = re.compile(rb'^\s*\[\w+\s+"', re.MULTILINE)
_FIRST_TAG = re.compile(rb"^(?:\xef\xbb\xbf)?\[Event ", re.MULTILINE)  # perhaps after a byte order mark
_BOTH = "both"


def side_name(colour: int) -> str:
    """White or Black, as a word."""
    return COLOUR_NAMES[colour]


_SIDES = {side_name(WHITE): WHITE, side_name(BLACK): BLACK, _BOTH: None}


@dataclass(frozen=True)
class Ending:
    """The end of a game: the result as PGN writes it, and the reason."""

    result: str
    words: str

    def __str__(self) -> str:
        return f"{self.result}, {self.words}"


DRAW_AGREED = Ending(RESULTS[None], "a draw by agreement")


def by_rule(outcome: Outcome) -> Ending:
    """The end of the game by the rules: "1-0, White wins by checkmate"."""
    if outcome.winner is not None:
        return Ending(outcome.result, f"{side_name(outcome.winner)} wins by {outcome.termination.value}")
    article = "the " if outcome.termination is Termination.FIFTY_MOVES else ""
    return Ending(outcome.result, f"a draw by {article}{outcome.termination.value}")


def resignation(colour: int) -> Ending:
    """The end when a side resigns."""
    return Ending(RESULTS[1 - colour], f"{side_name(colour)} resigns")


def strength_text(strength: Strength | None) -> str:
    """The level with its Elo; the Elo alone where it lies between two levels."""
    if strength is None:
        return "Full strength."
    level = next((level for level in range(FULL_LEVEL) if at_level(level) == strength), None)
    elo = f"{strength.elo} Elo."
    return f"About {elo}" if level is None else f"Level {level}, about {elo}"


@dataclass(frozen=True)
class FixedPace:
    """The same limit for each move. `command` is the command that sets it."""

    command: str
    words: str
    per_move: Limits

    def __str__(self) -> str:
        return self.words

    def limits(self, colour: int) -> Limits:
        """The limits for the next move of a side."""
        return self.per_move

    def spend(self, colour: int, elapsed_ms: int) -> None:
        """No clock runs."""


@dataclass
class ClockPace:
    """A chess clock for each side: `base_ms` for `moves` moves (0: for the game), `increment_ms` for each.

    It runs while the engine thinks; the person has no clock.
    """

    moves: int
    base_ms: int
    increment_ms: int
    left: list[int] = field(init=False)  # ms of White and of Black
    made: list[int] = field(init=False)  # moves

    def __post_init__(self) -> None:
        self.left, self.made = [self.base_ms, self.base_ms], [0, 0]

    def __str__(self) -> str:
        period = f"{self.moves} moves" if self.moves else "the game"
        left = " and ".join(f"{ms / 60000:.1f}" for ms in self.left)
        return (
            f"{self.base_ms / 60000:g} min for {period} and {self.increment_ms / 1000:g} s per move; "
            f"White and Black have {left} min left"
        )

    @property
    def command(self) -> str:
        """The command that sets it, with both clocks at their full time."""
        return f"level {self.moves} {self.base_ms / 60000:.15g} {self.increment_ms / 1000:.15g}"

    def restore(self, clocks: Sequence[int]) -> None:
        """Set what is left on each clock, and the moves made on it; raises ValueError for what is none."""
        white, black, *made = clocks
        if len(made) != 2 or min(made) < 0 or not all(0 <= left <= MAX_MS for left in (white, black)):
            raise ValueError(f"{' '.join(map(str, clocks))[:40]} is nothing that clocks show")
        self.left, self.made = [white, black], made

    def limits(self, colour: int) -> Limits:
        """The limits for the next move of a side."""
        to_go = self.moves - self.made[colour] % self.moves if self.moves else None
        increment = (self.increment_ms, self.increment_ms)
        return Limits(time=(self.left[WHITE], self.left[BLACK]), increment=increment, moves_to_go=to_go)

    def spend(self, colour: int, elapsed_ms: int) -> None:
        """Subtract the time from a side's clock and add the increment, and the base time when a period ends."""
        self.made[colour] += 1
        new_period = self.moves and self.made[colour] % self.moves == 0
        bonus = self.increment_ms + (self.base_ms if new_period else 0)
        self.left[colour] = min(max(MIN_CLOCK_MS, self.left[colour] - elapsed_ms + bonus), MAX_MS)


Pace = FixedPace | ClockPace


def pace_of(command: str) -> Pace:
    """The pace that a command such as "st 5" or "level 40 5 0" sets; raises UsageError."""
    name, _, arguments = command.partition(" ")
    if name == "st":
        seconds = number(arguments, "the time in seconds", 0.01, 86400)
        return FixedPace(f"st {seconds:.15g}", f"{seconds:g} s per move", Limits(movetime=round(1000 * seconds)))
    if name == "sd":
        depth = whole_number(arguments, "the depth", 1, MAX_PLY - 1)
        return FixedPace(f"sd {depth}", f"depth {depth}", Limits(depth=depth))
    if name == "sn":
        nodes = whole_number(arguments, "the number of nodes", 1, 10**15)
        return FixedPace(f"sn {nodes}", f"{nodes:,} nodes per move", Limits(nodes=nodes))
    words = arguments.split()
    if name != "level" or len(words) != 3:
        raise UsageError("expected three numbers" if name == "level" else f"'{name[:40]}' limits nothing")
    count = whole_number(words[0], "the number of moves", 0, MAX_MOVES)
    base, increment = minutes(words[1]), number(words[2], "the increment in seconds", 0, 3600)
    base_ms, increment_ms = round(60000 * base), round(1000 * increment)
    if base_ms == increment_ms == 0:
        raise UsageError("base time and increment cannot both be less than a millisecond")
    return ClockPace(count, base_ms, increment_ms)


class Saved(NamedTuple):
    """What was saved last: the file, the moves, and the text at the end of the file, by its size and its digest."""

    path: Path
    moves: list[Move]
    size: int
    digest: str


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


class Scoresheet:
    """What is recorded of a game in addition to its moves. A loaded game keeps its tags until its moves change."""

    def __init__(self, tags: Mapping[str, str] | None = None, moves: Sequence[int] = ()) -> None:
        """For a game read from a file, its tags and its moves."""
        self._date = datetime.date.today()
        self.is_engine = {WHITE: False, BLACK: False}  # whether the engine has made the last move of a side here
        self._loaded_tags, self._loaded_moves = dict(tags or {}), list(moves)
        self._saved: Saved | None = None

    @classmethod
    def from_own_tags(cls, tags: Mapping[str, str]) -> Scoresheet:
        """The sheet of a game played here, from the tags that it wrote; raises KeyError or ValueError."""
        sheet = cls()
        sheet._date = datetime.datetime.strptime(tags["Date"], _DATE).date()
        sheet.is_engine = {WHITE: tags["White"] != PERSON, BLACK: tags["Black"] != PERSON}
        return sheet

    def pgn(self, position: Position, result: str) -> str:
        """The game of `position` with its tags, moves and result; a loaded game that has ended keeps its own."""
        if self._loaded_tags and position.moves == self._loaded_moves:
            tags = {name: plain_value(value) for name, value in self._loaded_tags.items()}
            recorded = tags.get("Result", UNFINISHED)
            return _written(position, tags, result if recorded == UNFINISHED else recorded)
        return self.own_pgn(position, result)

    def own_pgn(self, position: Position, result: str) -> str:
        """The same with the tags of a game played here, which `from_own_tags` reads, also of a loaded game."""
        white, black = (f"{NAME} {__version__}" if self.is_engine[side] else PERSON for side in (WHITE, BLACK))
        tags = {"Event": "Game at the console", "Date": self._date.strftime(_DATE), "Round": "-"}
        return _written(position, tags | {"White": white, "Black": black}, result)

    def save(self, path: Path, position: Position, result: str) -> int:
        """Add the game to a PGN file, replacing what was saved of it before; returns its number there.

        The file is compressed if its name ends so. Raises CommandError and then changes nothing.
        """
        text = f"{self.pgn(position, result)}\n".encode()
        faults = FileInUseError, SourceError
        with errors_named("save", *faults), writing(CommandError, path), held(path, WAITING_SECONDS):
            content = _content_of(path) if is_there(path) else b""
            if content.strip() and not _TAG.search(content):
                raise CommandError(f"'{path}' already exists and is not a PGN file: choose another name")
            content = self._without_saved(content, path, position.moves)
            if content.strip():
                content = content.rstrip() + b"\n\n"
            write_whole(path, as_named(path, content + text))
        self._saved = Saved(path, position.moves.copy(), len(text), _digest(text))
        return len(_FIRST_TAG.findall(content)) + 1

    def _without_saved(self, content: bytes, path: Path, moves: Sequence[Move]) -> bytes:
        """The content of a file without what was saved last, if the moves go on from it and it is still at the end."""
        saved = self._saved
        if saved is None or saved.path != path or list(moves[: len(saved.moves)]) != saved.moves:
            return content
        return content[: -saved.size] if _digest(content[-saved.size :]) == saved.digest else content


def _content_of(path: Path) -> bytes:
    """What a file holds, uncompressed if its name ends so; raises OSError and SourceError."""
    return read_text(path) if is_compressed(path) else read_user_file(path, WHOLE_GAMES)


def _written(position: Position, tags: Mapping[str, str], result: str) -> str:
    board = start_board_of(position)
    words: list[str] = []
    for move in position.moves:
        words += push_move(board, as_chess_move(move, position.chess960), follows_move=bool(words))
    start = start_tags(position.start_fen(), position.chess960)
    return game_text(UNKNOWN_TAGS | start | dict(tags) | {"Result": result}, [*words, result]).rstrip("\n")


class DamagedGameError(MerinoError):
    """A file that does not hold an unfinished game; the message says why."""


@dataclass
class ConsoleGame:
    """A game, and how the engine plays in it."""

    position: Position = field(default_factory=Position)
    sheet: Scoresheet = field(default_factory=Scoresheet)
    undone: list[Move] = field(default_factory=list)  # moves taken back, the next to be played again last
    pace: Pace = field(default_factory=lambda: pace_of(DEFAULT_PACE))
    thought_ms: list[int] = field(default_factory=lambda: [0, 0])  # by the engine, for White and for Black
    declared: Ending | None = None  # by resignation or agreement
    is_forced: bool = False  # the person moves for both sides
    is_flipped: bool = False
    is_played: bool = False  # moves were made at a console
    strength: Strength | None = None  # of the engine, noted where the game is left or kept

    @property
    def has_begun(self) -> bool:
        """Whether anything has happened in it."""
        return bool(self.position.moves or self.undone or self.position.start_fen() != Position().fen())

    @property
    def ending(self) -> Ending | None:
        """How it ended, by the rules, resignation or agreement; None while it continues."""
        outcome = self.position.outcome()
        return by_rule(outcome) if outcome else self.declared

    def text(self, person: int | None) -> str:
        """Its file; `person` is the side that the person plays, None for both."""
        tags = {
            "PlyCount": str(len(self.position.moves)),
            "Person": _BOTH if person is None else side_name(person),
            "Seen": side_name(BLACK if self.is_flipped else WHITE),
            "Limit": self.pace.command,
            "Thought": " ".join(map(str, self.thought_ms)),
        }
        if isinstance(self.pace, ClockPace):
            tags["Clocks"] = " ".join(map(str, (*self.pace.left, *self.pace.made)))
        if self.strength is not None:
            tags["Elo"] = str(self.strength.elo)
        if self.undone:
            tags["Undone"] = " ".join(self.position.uci(move) for move in reversed(self.undone))
        head = "".join(f"{tag_pair(*tag)}\n" for tag in tags.items())
        return f"{head}{self.sheet.own_pgn(self.position, UNFINISHED)}\n"


class KeptGame(NamedTuple):
    """An unfinished game, and the side that the person plays (None: both)."""

    game: ConsoleGame
    person: int | None

    def __str__(self) -> str:
        moves = (len(self.game.position.moves) + 1) // 2
        person = "you play both sides" if self.person is None else f"you are {side_name(self.person)}"
        return f"{counted(moves, 'move')}, {person}"

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
        pace = pace_of(tags["Limit"])
        if isinstance(pace, ClockPace):
            pace.restore(list(map(int, tags["Clocks"].split())))
        white, black = map(int, tags["Thought"].split())
        if not (0 <= white <= _MAX_THOUGHT and 0 <= black <= _MAX_THOUGHT):
            raise ValueError("nobody has thought for so long")
        person = _SIDES[tags["Person"]]
        found = ConsoleGame(position, Scoresheet.from_own_tags(tags), undone[::-1], pace, [white, black])
        found.is_forced, found.is_played, found.is_flipped = person is None, True, _SIDES[tags["Seen"]] == BLACK
        found.strength = at_elo(int(tags["Elo"])) if "Elo" in tags else None
        return cls(found, person)


class UnfinishedFile:
    """The file of a console's unfinished game in a folder, which no other console reads or writes until this one ends.

    It is the newest that no console has, or a new one. `say` gets a sentence for each fault; none of them is an error.
    """

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        self._folder, self._say = folder, say
        self._is_able = True
        self._path: Path | None = None
        self._lock: IO[bytes] | None = None
        self._written: str | None = None

    def offer(self) -> tuple[KeptGame, str] | None:
        """The game in the file, and the day it was last played, in words; damaged files are set aside."""
        for path in self._paths():
            try:
                if is_there(path) and self._take(path) and (found := self._read(path)) is not None:
                    return found
            except OSError as error:
                self._say(f"An unfinished game cannot be read: '{path}': {error.strerror or error}.")
            self.close()
        return None

    def keep(self, text: str | None) -> None:
        """Write the game, or with None remove it. The first fault is said, and nothing is tried after it."""
        if not self._is_able or (text == self._written if text else self._path is None):
            return
        try:
            if self._path is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                if not any(map(self._take, sorted(self._paths(), key=_changed))):
                    raise OSError(f"{MAX_FILES} other consoles keep their games in '{self._folder}'")
            assert self._path is not None
            if text is None:
                self._path.unlink(missing_ok=True)
            else:
                write_whole(self._path, text.encode())
            self._written = text
        except OSError as error:
            self._is_able = False
            self._say(f"The game will be lost when you leave: {write_fault(error)}; save FILE keeps it.")

    @property
    def holds_game(self) -> bool:
        """Whether this console has written a game that is still there."""
        return self._written is not None

    def close(self) -> None:
        """Let other consoles have the file."""
        if self._lock is not None:
            self._lock.close()
        self._path = self._lock = None

    def _paths(self) -> list[Path]:
        """Those that there may be, the newest first."""
        paths = [self._folder / f"{number}.pgn" for number in range(1, MAX_FILES + 1)]
        return sorted(paths, key=_changed, reverse=True)

    def _take(self, path: Path) -> bool:
        """Lock a file for this console; whether no other has it. Raises OSError."""
        file = claimed(path.with_suffix(".lock"))
        if file is None:
            return False
        self.close()
        self._path, self._lock = path, file
        return True

    def _read(self, path: Path) -> tuple[KeptGame, str] | None:
        """The game of a file; a damaged one is renamed, next to those that are there already. Raises OSError."""
        try:
            day = datetime.date.fromtimestamp(path.stat().st_mtime)
            return KeptGame.read(read_user_text(path, UNFINISHED_GAME)), _day_text(day)
        except (DamagedGameError, UserFileError) as error:
            fault = error.strerror if isinstance(error, UserFileError) else str(error)
        number, target = 1, path.with_suffix(".damaged")
        while is_there(target):
            number += 1
            target = path.with_suffix(f".damaged{number}")
        path.rename(target)
        self._say(f"The unfinished game in '{path}' is damaged ({fault}); the file is now '{target}'.")
        return None


def _changed(path: Path) -> float:
    """When a file was changed, 0 if there is none."""
    return path.stat().st_mtime if is_there(path) else 0.0


def _day_text(day: datetime.date) -> str:
    """A day as people say it."""
    days = (datetime.date.today() - day).days
    return {0: "today", 1: "yesterday"}.get(days, f"{day:%Y-%m-%d}")
