"""The configuration of a match: time control, adjudication, openings and players, as plain data for any process.

The fields that have an `Option` are options of the commands that play games.
"""

from __future__ import annotations

import json
import operator
import re
from contextlib import suppress
from dataclasses import KW_ONLY, asdict, dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from merino.core.common import errors, options
from merino.core.common.files import user_path
from merino.engine.search.limits import MAX_HASH_MB, MAX_MS, MAX_NODES
from merino.formats.openings import FileOpenings
from merino.formats.sources import LeftOut
from merino.match.games import MAX_PLIES, PLIES, RandomOpenings
from merino.match.players import HASH_OPTIONS, THREAD_OPTIONS, OtherPlayer, OwnPlayer, Player

NODES_PER_MEGABYTE = 1000  # per move: a table of this size is about filled by a game of usual length
HASH_MB = 16
MAX_USUAL_HASH_MB = 64  # where none is named
DEFAULT_NODES = 1000  # of a move, without another limit
DEFAULT_MARGIN_MS = 20  # by which a move may be late: what the message takes
of_limits, of_openings = (partial(options.Option, group=title) for title in ("time control", "openings"))
_SECONDS = r"(\d{1,7}(?:\.\d*)?|\.\d+)"
_CLOCK = re.compile(rf"(?:(\d{{1,4}})/)?(?:(\d{{1,5}}):)?{_SECONDS}(?:\+{_SECONDS})?", re.ASCII)


@dataclass(frozen=True)
class Clock:
    """Milliseconds for a number of moves (0: the whole game), and the increment of each move, the first included.

    After these moves the same time is added again, as in classical chess.
    """

    base: int
    increment: int = 0
    moves: int = 0

    def __post_init__(self) -> None:
        for name, high in (("base", MAX_MS), ("increment", MAX_MS), ("moves", None)):
            errors.whole_number(f"{name} of a clock", getattr(self, name), 0, high)

    @classmethod
    def read(cls, text: str) -> Clock:
        """The clock written as cutechess has it, `[MOVES/][MINUTES:]SECONDS[+SECONDS]`; raises ValueError."""
        found = _CLOCK.fullmatch(text)
        if found is None:
            raise ValueError(f"{text[:40]!r} is not a clock: a time control looks like 10+0.1, 40/300 or 40/5:00+2")
        moves, minutes, seconds, increment = (float(part or 0) for part in found.groups())
        base, added = round(1000 * (60 * minutes + seconds)), round(1000 * increment)
        if base < 1:
            raise ValueError(f"the clock {text!r} has no time")
        if max(base, added) > MAX_MS:
            raise ValueError(f"the clock {text!r} has more than {MAX_MS // 1000:,} seconds")
        return cls(base, added, int(moves))

    def moves_to_go(self, made: int) -> int | None:
        """How many moves are left until time is added, for a side that has made so many moves; None for never."""
        return self.moves - made % self.moves if self.moves else None

    def added_after(self, made: int) -> int:
        """The time added to the clock of a side that has just made its move of this number, counted from 1."""
        return self.base if self.moves and made % self.moves == 0 else 0

    def __str__(self) -> str:
        moves = f"{self.moves}/" if self.moves else ""
        return f"{moves}{seconds_text(self.base)}+{seconds_text(self.increment)} s"


def seconds_text(milliseconds: int, decimals: int = 0) -> str:
    """So many seconds with this many decimals, or with more where they are needed."""
    while decimals < 3 and milliseconds % 10 ** (3 - decimals):
        decimals += 1
    return f"{milliseconds / 1000:.{decimals}f}"


@dataclass(frozen=True)
class TimeControl:
    """The limits of a move: any combination of these."""

    nodes: Annotated[
        int | None, "nodes per move", of_limits("N", 1, MAX_NODES, default=f"{DEFAULT_NODES} without another limit")
    ] = None
    depth: Annotated[int | None, "depth per move in plies", of_limits("N", 1)] = None
    movetime: Annotated[int | None, "milliseconds per move", of_limits("MS", 1, MAX_MS)] = None
    clock: Annotated[
        Clock | None,
        "clock, [moves/][minutes:]seconds[+increment]: 10+0.1, 40/5:00+2",
        of_limits("TC", read=Clock.read, flag="--tc"),
    ] = None
    hash: Annotated[
        int | None,
        "transposition table in MiB of each player that names none",
        of_limits("MB", 1, MAX_HASH_MB, default="by the nodes"),
    ] = None

    def __post_init__(self) -> None:
        options.check(self)

    def or_default(self) -> TimeControl:
        """The same, or with DEFAULT_NODES a move where nothing limits a move."""
        has_limit = any(value is not None for value in (self.nodes, self.depth, self.movetime, self.clock))
        return self if has_limit else replace(self, nodes=DEFAULT_NODES)

    @property
    def is_timed(self) -> bool:
        """Whether the speed of the machine decides what is played."""
        return self.movetime is not None or self.clock is not None

    @property
    def hash_mb(self) -> int:
        """The size of our tables: small ones are quicker to clear and stay in the cache."""
        if self.hash is not None:
            return self.hash
        return HASH_MB if self.nodes is None else max(1, min(MAX_USUAL_HASH_MB, self.nodes // NODES_PER_MEGABYTE))

    @property
    def other_hash_mb(self) -> int:
        """The size of the table of another engine that names none."""
        return self.hash or HASH_MB

    def __str__(self) -> str:
        parts = [f"{value} {what}" for value, what in ((self.nodes, "nodes"), (self.depth, "plies")) if value]
        if self.movetime is not None:
            parts.append(f"{self.movetime} ms a move")
        if self.clock is not None:
            parts.append(str(self.clock))
        if self.hash is not None:
            parts.append(f"hash {self.hash} MiB")
        return ", ".join(parts)


@dataclass(frozen=True)
class Adjudication:
    """When a game is adjudicated. Scores are in centipawns; numbers of moves count each side's moves, 0 for never.

    Both sides must agree: a side that misjudges its position should lose on the board.
    """

    win_score: int = 0
    win_moves: int = 0
    draw_score: int = 0
    draw_moves: int = 0
    draw_from: int = 0  # move number
    longest: int = MAX_PLIES  # plies

    def __post_init__(self) -> None:
        if self.win_moves and self.win_score < 1:
            raise ValueError(f"a game is won by a score of at least 1 centipawn, not {self.win_score}")


CLEAR_WIN = Adjudication(win_score=1000, win_moves=4)  # a position so clearly won teaches nothing


@dataclass(frozen=True)
class RandomMoves:
    """Random good moves after the opening, so that games from one opening differ."""

    early: Annotated[int, "plies after the opening that are random good moves", options.Option("N")] = 0
    early_loss: Annotated[int, "centipawns that such a move may lose", options.Option("CP")] = 100
    seed: int = 0


NO_RANDOM_MOVES = RandomMoves()


OpeningSource = FileOpenings | RandomOpenings

NAMES_IN_FILES = {"time_control": "effort", "random_moves": "variety"}  # as they have always been written


@dataclass(frozen=True)
class MatchConfig:
    """Everything that decides what is played."""

    players: tuple[Player, Player]
    time_control: TimeControl
    _: KW_ONLY
    games: Annotated[int, "number of games, of each match if there are several", options.Option("N", 1)] = 1000
    seed: Annotated[int, "seed of the openings and their order", of_openings("N")] = 1
    openings: Annotated[
        str | None, "EPD, FEN, PGN or Polyglot .bin file", of_openings("FILE", default="random, balanced openings")
    ] = None
    plies: Annotated[int | None, "plies of an opening", of_openings("N", 1, default=f"{PLIES} if random")] = None
    adjudication: Adjudication = Adjudication()
    random_moves: RandomMoves = NO_RANDOM_MOVES
    margin: Annotated[int, "milliseconds by which a move may exceed its time", of_limits("MS", flag="--timemargin")] = 0

    @property
    def is_compiled(self) -> bool:
        """Whether whole games run as compiled code: one thread each, no clock, and no options of the search."""
        return not self.time_control.is_timed and all(
            isinstance(player, OwnPlayer) and player.is_plain for player in self.players
        )

    def different_games(self, source: OpeningSource | None) -> int | None:
        """After how many games those before are repeated, as the openings come again; None for never."""
        if not self.is_compiled or self.random_moves.early or not isinstance(source, FileOpenings):
            return None
        return 2 * len(source) or None  # a book is no list, and never at its end

    @property
    def files(self) -> list[Path]:
        """The files that say what is played: openings and evaluations."""
        own = [player for player in self.players if isinstance(player, OwnPlayer)]
        found = []
        for name in filter(None, (self.openings, *(player.evaluation.name for player in own))):
            with suppress(OSError):  # for a name that no file has, such as that of a missing home: reading it says so
                found.append(user_path(name))
        return found

    def source(self, left_out: LeftOut | None = None) -> OpeningSource:
        """Where the openings come from, without faulty ones, which are noted; raises OpeningError."""
        if self.openings is not None:
            return FileOpenings(Path(self.openings), self.seed, self.plies, left_out)
        return RandomOpenings(self.seed, PLIES if self.plies is None else self.plies)

    @property
    def conditions(self) -> str:
        """Time control, threads and hash as OpenBench writes them: "10.0+0.10s Threads=1 Hash=16MB"."""
        control = self.time_control
        limits = [
            f"{sign}={value}" for sign, value in (("N", control.nodes), ("D", control.depth)) if value is not None
        ]
        if control.movetime is not None:
            limits.append(f"MoveTime={control.movetime}ms")
        if control.clock is not None:
            moves = f"{control.clock.moves}/" if control.clock.moves else ""
            limits.append(f"{moves}{seconds_text(control.clock.base, 1)}+{seconds_text(control.clock.increment, 2)}s")
        threads, hashes = dict[str, None](), dict[str, None]()  # each once, in order
        for player in self.players:
            if isinstance(player, OtherPlayer):
                usual, named = control.other_hash_mb, (player.option(THREAD_OPTIONS), player.option(HASH_OPTIONS))
            else:
                usual, named = control.hash_mb, (None, None)
            threads[named[0] or str(player.threads or 1)] = None
            hashes[named[1] or str(player.hash_mb or usual)] = None
        return f"{' '.join(limits)} Threads={'/'.join(threads)} Hash={'/'.join(hashes)}MB"

    def identity(self) -> dict[str, Any]:
        """What must stay the same when a match is resumed (not the number of games); stored in the state file."""
        names = [item.name for item in fields(self) if item.name not in ("players", "games")]
        found = {NAMES_IN_FILES.get(name, name): getattr(self, name) for name in names}
        found["players"] = [player.identity() for player in self.players]
        plain: dict[str, Any] = json.loads(json.dumps(found, default=_plain))
        clock = plain["effort"]["clock"]
        if clock and not clock["moves"]:
            del clock["moves"]  # so that matches saved by versions without it can be resumed
        return plain

    def __str__(self) -> str:
        words = [str(self.time_control), f"openings {self.openings}" if self.openings else "random openings"]
        return ", ".join([*words, f"seed {self.seed}"])


def _plain(value: Any) -> Any:
    """A dataclass, or a whole number of NumPy, as JSON has it."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else operator.index(value)
