"""A game at the console: its moves, the engine's thinking time, its record as PGN, and the file of an unfinished one.

An unfinished game is kept on the disk until it is over, however the console ends, and offered at the next start. The
file is PGN with tags for how it goes on: `PlyCount` (a file cut short is noticed), `Person` (a side), `Limit` (a
command such as "level 40 5 0"), `Clocks` (ms left, and moves made), and `Elo`.
"""

import datetime
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from merino.core.board import bitboard, fen
from merino.core.board.game import RESULTS, Outcome, Position, Termination
from merino.core.board.move import Move
from merino.core.common import about, errors, files
from merino.core.common.command import CommandError, UsageError
from merino.core.common.text import counted
from merino.engine.search.limits import MAX_MS, MAX_PLY, Limits
from merino.engine.search.strength import FULL_LEVEL, Strength, at_elo, at_level
from merino.formats import pgn_games, pgn_parts, pgn_text, sources
from merino.formats.sources import read_text

UNFINISHED = "*"  # the result of an unfinished game, as PGN writes it
PERSON = "Human"
DEFAULT_PACE = "st 2"
WAITING_SECONDS = 10.0  # for another console that saves its game in the same file
MAX_MOVES = 10_000  # of a period of a clock
MAX_MINUTES = 10_000  # of the base time of a clock
MIN_CLOCK_MS = 100  # the engine's clock never falls below this: nobody loses on time here
_DATE = "%Y.%m.%d"
_TAG = re.compile(rb'^\s*\[\w+\s+"', re.MULTILINE)
# The sides that a person plays.
SIDES = {
    fen.COLOUR_NAMES[bitboard.WHITE]: bitboard.WHITE,
    fen.COLOUR_NAMES[bitboard.BLACK]: bitboard.BLACK,
    "both": None,
}


def whole_number(text: str, what: str, low: int, high: int, default: int | None = None) -> int:
    """The whole number in `text`; for an empty text `default`, if there is one. Raises UsageError."""
    if not text and default is not None:
        return default
    with suppress(ValueError):
        if low <= (found := errors.whole_in(text)) <= high:
            return found
    raise UsageError(f"{what} must be a whole number from {low} to {high}")


def _number(text: str, what: str, low: float, high: float) -> float:
    """The number in `text`; raises UsageError."""
    with suppress(ValueError):
        if low <= (value := errors.number_in(text)) <= high:
            return value
    raise UsageError(f"{what} must be a number from {low:g} to {high:g}")


class Ending(NamedTuple):
    """The end of a game: the result as PGN writes it, and the reason."""

    result: str
    words: str

    def __str__(self) -> str:
        return f"{self.result}, {self.words}"


DRAW_AGREED = Ending(RESULTS[None], "a draw by agreement")


def _by_rule(outcome: Outcome) -> Ending:
    """The end of the game by the rules: "1-0, White wins by checkmate"."""
    how = outcome.termination.value
    if outcome.winner is not None:
        return Ending(outcome.result, f"{fen.COLOUR_NAMES[not outcome.winner]} wins by {how}")
    return Ending(outcome.result, f"a draw by {'the ' if outcome.termination is Termination.FIFTY_MOVES else ''}{how}")


def strength_text(strength: Strength | None) -> str:
    """The level with its Elo; the Elo alone where it lies between two levels."""
    if strength is None:
        return "Full strength."
    level = next((level for level in range(FULL_LEVEL) if at_level(level) == strength), None)
    elo = f"{strength.elo} Elo."
    return f"About {elo}" if level is None else f"Level {level}, about {elo}"


@dataclass
class Pace:
    """How long the engine thinks: the same limits for each move, or a chess clock for each side.

    A clock has `base_ms` for `moves` moves (0: for the game), and `increment_ms` for each. It runs while the engine
    thinks; the person has no clock.
    """

    command: str  # that sets it, with clocks at their full time
    words: str
    per_move: Limits | None = None  # without a clock
    moves: int = 0
    base_ms: int = 0
    increment_ms: int = 0
    left: list[int] = field(init=False)  # ms of White and of Black
    made: list[int] = field(init=False)  # moves

    def __post_init__(self) -> None:
        self.left, self.made = [self.base_ms, self.base_ms], [0, 0]

    def __str__(self) -> str:
        left = " and ".join(f"{ms / 60000:.1f}" for ms in self.left)
        return self.words if self.per_move else f"{self.words}; White and Black have {left} min left"

    def limits(self, colour: int) -> Limits:
        """The limits for the next move of a side."""
        if self.per_move:
            return self.per_move
        to_go = self.moves - self.made[colour] % self.moves if self.moves else None
        increment = (self.increment_ms, self.increment_ms)
        return Limits(
            time=(self.left[bitboard.WHITE], self.left[bitboard.BLACK]), increment=increment, moves_to_go=to_go
        )

    def spend(self, colour: int, elapsed_ms: int) -> None:
        """Subtract the time from a side's clock and add the increment, and the base time when a period ends."""
        self.made[colour] += 1
        is_new_period = self.moves and self.made[colour] % self.moves == 0
        bonus = self.increment_ms + (self.base_ms if is_new_period else 0)
        self.left[colour] = min(max(MIN_CLOCK_MS, self.left[colour] - elapsed_ms + bonus), MAX_MS)


def pace_of(command: str) -> Pace:
    """The pace that a command such as "st 5" or "level 40 5 0" sets; raises UsageError."""
    name, _, arguments = command.partition(" ")
    if name == "st":
        seconds = _number(arguments, "the time in seconds", 0.01, 86400)
        return Pace(f"st {seconds:.15g}", f"{seconds:g} s per move", Limits(movetime=round(1000 * seconds)))
    if name == "sd":
        depth = whole_number(arguments, "the depth", 1, MAX_PLY - 1)
        return Pace(f"sd {depth}", f"depth {depth}", Limits(depth=depth))
    if name == "sn":
        nodes = whole_number(arguments, "the number of nodes", 1, 10**15)
        return Pace(f"sn {nodes}", f"{nodes:,} nodes per move", Limits(nodes=nodes))
    words = arguments.split()
    if name != "level" or len(words) != 3:
        raise UsageError("expected three numbers" if name == "level" else f"'{name[:40]}' limits nothing")
    count = whole_number(words[0], "the number of moves", 0, MAX_MOVES)
    minutes, colon, rest = words[1].partition(":")  # "5", "0.5" or "5:30", as in the XBoard protocol
    base = _number(minutes, "the base time in minutes", 0, MAX_MINUTES)
    base += _number(rest, "the seconds of the base time", 0, 59) / 60 if colon else 0
    if base > MAX_MINUTES:
        raise UsageError(f"the base time must be at most {MAX_MINUTES} minutes")
    base_ms, increment_ms = round(60000 * base), round(1000 * _number(words[2], "the increment in seconds", 0, 3600))
    if base_ms == increment_ms == 0:
        raise UsageError("base time and increment cannot both be less than a millisecond")
    full = f"level {count} {base_ms / 60000:.15g} {increment_ms / 1000:.15g}"
    period = f"{count} moves" if count else "the game"
    shown = f"{base_ms / 60000:g} min for {period} and {increment_ms / 1000:g} s per move"
    return Pace(full, shown, None, count, base_ms, increment_ms)


class Saved(NamedTuple):
    """What was saved last: the file, the moves, and the text at the end of the file."""

    path: Path
    moves: list[Move]
    text: bytes


@dataclass
class ConsoleGame:
    """A game, its record, and how the engine plays in it. A loaded game keeps its tags until its moves change."""

    position: Position = field(default_factory=Position)
    undone: list[Move] = field(default_factory=list)  # moves taken back, the next to be played again last
    pace: Pace = field(default_factory=lambda: pace_of(DEFAULT_PACE))
    thought_ms: list[int] = field(default_factory=lambda: [0, 0])  # by the engine, for White and for Black
    is_engine: list[bool] = field(default_factory=lambda: [False, False])  # it has made the last move of a side here
    date: datetime.date = field(default_factory=datetime.date.today)
    loaded_tags: dict[str, str] = field(default_factory=dict)
    loaded_moves: list[Move] = field(default_factory=list)
    declared: Ending | None = None  # by resignation or agreement
    is_forced: bool = False  # the person moves for both sides
    is_flipped: bool = False
    is_played: bool = False  # moves were made at a console
    strength: Strength | None = None  # of the engine, noted where the game is left or kept
    person: int | None = None  # the side of the person, noted where it is kept; None for both
    saved: Saved | None = None

    @property
    def has_begun(self) -> bool:
        """Whether anything has happened in it."""
        return bool(self.position.moves or self.undone or self.position.start_fen() != Position().fen())

    @property
    def is_answered(self) -> bool:
        """Whether the engine made the last move, in answer to one of the person's."""
        side = self.position.side
        is_engines = self.is_engine[1 - side] and not self.is_engine[side]
        return is_engines and not self.is_forced and len(self.position.moves) > 1

    @property
    def ending(self) -> Ending | None:
        """How it ended, by the rules, resignation or agreement; None while it continues."""
        outcome = self.position.outcome()
        return _by_rule(outcome) if outcome else self.declared

    def pgn(self) -> str:
        """It as PGN; a loaded game that has ended keeps its result."""
        result = self.ending.result if self.ending else UNFINISHED
        if not self.loaded_tags or self.position.moves != self.loaded_moves:
            return self._own_pgn(result)
        tags = self.loaded_tags
        recorded = tags.get("Result", UNFINISHED)
        return self._written(tags, result if recorded == UNFINISHED else recorded)

    def _own_pgn(self, result: str, checked: bool = True) -> str:
        """The same with the tags of a game played here, also of a loaded game."""
        white, black = (
            f"{about.NAME} {about.__version__}" if self.is_engine[side] else PERSON
            for side in (bitboard.WHITE, bitboard.BLACK)
        )
        tags = {"Event": "Game at the console", "Date": self.date.strftime(_DATE), "Round": "-"}
        return self._written(tags | {"White": white, "Black": black}, result, checked)

    def _written(self, tags: Mapping[str, str], result: str, checked: bool = True) -> str:
        position, words = self.position, list[str]()
        board = position.to_chess().root()
        for move in position.moves:
            words += pgn_text.push_move(board, move.to_chess(position.chess960), follows_move=bool(words))
        tags = pgn_text.start_tags(position.start_fen(), position.chess960) | dict(tags) | {"Result": result}
        moves = map(position.uci, position.moves) if checked else None
        return pgn_text.game_text(pgn_text.UNKNOWN_TAGS | tags, [*words, result], moves).rstrip("\n")

    def save(self, path: Path) -> int:
        """Add it to a PGN file, replacing what was saved of it before; returns its number there.

        The file is compressed if its name ends so. Raises CommandError, FileInUseError, SourceError or MisreadError,
        and then changes nothing.
        """
        saved, moves, text = self.saved, self.position.moves, f"{self.pgn()}\n".encode()
        with files.writing(CommandError, path), files.held(path, WAITING_SECONDS):
            content = b""
            if files.is_there(path):  # a plain file keeps its byte order mark
                is_packed = sources.is_compressed(path)
                content = read_text(path) if is_packed else files.read_user_file(path, files.WHOLE_GAMES)
            if content.strip() and not _TAG.search(content):
                raise CommandError(f"'{path}' already exists and is not a PGN file: choose another name")
            if saved is not None and saved.path == path and moves[: len(saved.moves)] == saved.moves:
                content = content.removesuffix(saved.text)
            pgn_text.check_end(content, path)
            content += pgn_text.joint(content)
            files.write_whole(path, sources.as_named(path, content + text))
        self.saved = Saved(path, moves.copy(), text)
        return len(pgn_games.scan_games(content, keeps_empty=True)[1]) + 1

    def kept_text(self) -> str:
        """Its file as an unfinished game."""
        tags = {
            "PlyCount": str(len(self.position.moves)),
            "Person": next(name for name, side in SIDES.items() if side == self.person),
            "Limit": self.pace.command,
        }
        if not self.pace.per_move:
            tags["Clocks"] = " ".join(map(str, (*self.pace.left, *self.pace.made)))
        if self.strength is not None:
            tags["Elo"] = str(self.strength.elo)
        head = "".join(f"{pgn_text.tag_pair(*tag)}\n" for tag in tags.items())
        return f"{head}{self._own_pgn(UNFINISHED, checked=False)}\n"

    @property
    def kept_words(self) -> str:
        """How far an unfinished game is, and who plays: "3 moves, you are White"."""
        person = "you play both sides" if self.person is None else f"you are {fen.COLOUR_NAMES[self.person]}"
        return f"{counted((len(self.position.moves) + 1) // 2, 'move')}, {person}"


@dataclass(frozen=True)
class Loaded:
    """What was read: the final position, the tags of the game, and a remark."""

    position: Position
    remark: str
    tags: dict[str, str] = field(default_factory=dict)


class DamagedGameError(errors.MerinoError):
    """A file that does not hold an unfinished game; the message says why."""


def read_kept(text: str) -> ConsoleGame:
    """The unfinished game of a file; raises DamagedGameError."""
    game = next(pgn_parts.games_of(text.encode()), None)
    if game is None or game.fault:
        raise DamagedGameError("it holds no game" if game is None else f"line {game.line}: {game.fault}")
    try:
        return _kept(game.tags, game.position())
    except KeyError as error:
        raise DamagedGameError(f"the tag {error} is missing or has an unknown value") from error
    except (errors.MerinoError, ValueError) as error:
        raise DamagedGameError(str(error)) from error


def _kept(tags: Mapping[str, str], position: Position) -> ConsoleGame:
    """A game with what its tags say of it; raises KeyError, ValueError or MerinoError."""
    if len(position.moves) != errors.whole_in(tags["PlyCount"]):
        raise DamagedGameError(f"it has {len(position.moves)} of {tags['PlyCount']} plies")
    pace, person = pace_of(tags["Limit"]), SIDES[tags["Person"]]
    if not pace.per_move:
        white, black, *made = map(errors.whole_in, tags["Clocks"].split())
        if len(made) != 2 or min(made) < 0 or not all(0 <= left <= MAX_MS for left in (white, black)):
            raise ValueError(f"no clocks show {tags['Clocks'][:40]}")
        pace.left, pace.made = [white, black], made
    return ConsoleGame(
        position,
        pace=pace,
        is_engine=[tags["White"] != PERSON, tags["Black"] != PERSON],
        date=datetime.datetime.strptime(tags["Date"], _DATE).date(),
        is_forced=person is None,
        is_flipped=person == bitboard.BLACK,
        is_played=True,
        strength=at_elo(errors.whole_in(tags["Elo"])) if "Elo" in tags else None,
        person=person,
    )


class UnfinishedFile:
    """The file of the unfinished game, which no other console reads or writes until this one ends.

    `say` gets a sentence for each fault; none of them is an error.
    """

    def __init__(self, path: Path, say: Callable[[str], object]) -> None:
        self._path, self._say = path, say
        self._is_able = True
        self._lock: IO[bytes] | None = None
        self.written: str | None = None  # what this console has written, as long as it is there

    def offer(self) -> tuple[ConsoleGame, str] | None:
        """The game in the file, and the day it was last played, in words; a damaged file is set aside."""
        path = self._path
        try:
            if not files.is_there(path) or not self._take():
                return None
            days = (datetime.date.today() - (day := datetime.date.fromtimestamp(path.stat().st_mtime))).days
            said = {0: "today", 1: "yesterday"}.get(days, f"{day:%Y-%m-%d}")
            try:
                return read_kept(files.read_user_text(path, files.UNFINISHED_GAME)), said
            except (DamagedGameError, files.UserFileError) as error:
                fault = error.strerror if isinstance(error, OSError) else error
                path.replace(target := path.with_suffix(".damaged"))
                self._say(f"The unfinished game in '{path}' is damaged ({fault}); the file is now '{target}'.")
        except OSError as error:
            self._say(f"An unfinished game cannot be read: '{path}': {error.strerror or error}.")
        return None

    def keep(self, text: str | None) -> None:
        """Write the game, or with None remove it. The first fault is said, and nothing is tried after it."""
        if not self._is_able or (text == self.written if text else self._lock is None):
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not self._take():
                raise OSError(f"another console keeps its game in '{self._path}'")
            if text is None:
                self._path.unlink(missing_ok=True)
            else:
                files.write_whole(self._path, text.encode())
            self.written = text
        except OSError as error:
            self._is_able = False
            self._say(f"The game will be lost when you leave: {files.write_fault(error)}; save FILE keeps it.")

    def close(self) -> None:
        """Let other consoles have the file."""
        if self._lock is not None:
            self._lock.close()
        self._lock = None

    def _take(self) -> bool:
        """Lock the file for this console; whether no other has it. Raises OSError."""
        if self._lock is None:
            self._lock = files.claimed(self._path.with_suffix(".lock"))
        return self._lock is not None
