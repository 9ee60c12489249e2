"""Limits of a move, adjudication of games, and random moves that make games differ."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import NoneType

from merino.core.common.checks import instance, whole_number
from merino.engine.search.limits import MAX_HASH_MB, MAX_MS, MAX_NODES
from merino.match.compiled_game import MAX_PLIES

NODES_PER_MEGABYTE = 1000  # per move: a table of this size is about filled by a game of usual length
HASH_MB = 16
MAX_USUAL_HASH_MB = 64  # where none is named
DEFAULT_NODES = 1000  # of a move, without another limit
DEFAULT_MARGIN_MS = 20  # by which a move may be late: what it takes to be told and heard
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
            whole_number(f"{name} of a clock", getattr(self, name), 0, high)

    @classmethod
    def read(cls, text: str) -> Clock:
        """The clock written as cutechess has it, `[MOVES/][MINUTES:]SECONDS[+SECONDS]`; raises ValueError."""
        found = _CLOCK.fullmatch(text)
        if found is None:
            raise ValueError(f"{text[:40]!r} is not a clock")
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

    nodes: int | None = None
    depth: int | None = None
    movetime: int | None = None  # milliseconds
    clock: Clock | None = None
    hash: int | None = None  # MiB for each player that names none; None for the default

    def __post_init__(self) -> None:
        most = {"nodes": MAX_NODES, "depth": None, "movetime": MAX_MS, "hash": MAX_HASH_MB}
        for name, high in most.items():
            if getattr(self, name) is not None:
                whole_number(f"{name} of a time control", getattr(self, name), 1, high)
        instance("clock of a time control", self.clock, (Clock, NoneType), "a Clock or None")

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
        if self.nodes is None:
            return HASH_MB
        return max(1, min(MAX_USUAL_HASH_MB, self.nodes // NODES_PER_MEGABYTE))

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

    early: int = 0  # plies with a random good move
    early_loss: int = 100  # centipawns that such a move may lose
    seed: int = 0


NO_RANDOM_MOVES = RandomMoves()
