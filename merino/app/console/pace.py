"""The thinking time of the engine at the console."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from merino.app.console.arguments import minutes, number, whole_number
from merino.core.board.bitboard import BLACK, WHITE
from merino.core.common.command import UsageError
from merino.engine.search.limits import MAX_MS, MAX_PLY, Limits

MAX_MOVES = 10_000
MIN_CLOCK_MS = 100  # the engine's clock never falls below this: nobody loses on time here


class Pace(Protocol):
    """Sets the limits of each search."""

    @property
    def command(self) -> str:
        """The command that sets it: "level 40 5 0"."""

    def limits(self, colour: int) -> Limits:
        """The limits for the next move of a side."""

    def spend(self, colour: int, elapsed_ms: int) -> None:
        """Record that a side has thought this long and moved."""

    def fresh(self) -> Pace:
        """The same pace for a new game."""


@dataclass(frozen=True)
class FixedPace:
    """The same limit for each move."""

    per_move: Limits
    words: str
    command: str

    def __str__(self) -> str:
        return self.words

    def limits(self, colour: int) -> Limits:
        """The limits for the next move of a side."""
        return self.per_move

    def spend(self, colour: int, elapsed_ms: int) -> None:
        """Nothing to record."""

    def fresh(self) -> FixedPace:
        """Itself: nothing was recorded."""
        return self


@dataclass
class ClockPace:
    """A chess clock for each side: `base_ms` for `moves` moves (0: for the game), `increment_ms` for each.

    It runs while the engine thinks; the person at the keyboard has no clock.
    """

    moves: int
    base_ms: int
    increment_ms: int
    _left: list[int] = field(init=False)
    _made: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._left = [self.base_ms, self.base_ms]
        self._made = [0, 0]

    def __str__(self) -> str:
        period = f"{self.moves} moves" if self.moves else "the game"
        left = " and ".join(f"{ms / 60000:.1f}" for ms in self._left)
        return (
            f"{self.base_ms / 60000:g} min for {period} and {self.increment_ms / 1000:g} s per move; "
            f"White and Black have {left} min left"
        )

    @property
    def command(self) -> str:
        """The command that sets it, with both clocks at their full time."""
        return f"level {self.moves} {self.base_ms / 60000:.15g} {self.increment_ms / 1000:.15g}"

    @property
    def state(self) -> tuple[int, ...]:
        """What is left on each clock, in milliseconds, and the moves made on it: White, Black, White, Black."""
        return (*self._left, *self._made)

    def restore(self, state: tuple[int, ...]) -> None:
        """Set the clocks to an earlier `state`; raises ValueError for what is none."""
        white, black, *made = state
        if len(made) != 2 or min(made) < 0 or not all(0 <= left <= MAX_MS for left in (white, black)):
            raise ValueError(f"{' '.join(map(str, state))[:40]} is nothing that clocks show")
        self._left, self._made = [white, black], made

    def limits(self, colour: int) -> Limits:
        """The limits for the next move of a side."""
        to_go = self.moves - self._made[colour] % self.moves if self.moves else None
        increment = (self.increment_ms, self.increment_ms)
        return Limits(time=(self._left[WHITE], self._left[BLACK]), increment=increment, moves_to_go=to_go)

    def spend(self, colour: int, elapsed_ms: int) -> None:
        """Subtract the time from a side's clock and add the increment, and the base time when a period ends."""
        self._made[colour] += 1
        new_period = self.moves and self._made[colour] % self.moves == 0
        bonus = self.increment_ms + (self.base_ms if new_period else 0)
        self._left[colour] = min(max(MIN_CLOCK_MS, self._left[colour] - elapsed_ms + bonus), MAX_MS)

    def fresh(self) -> ClockPace:
        """Both clocks at their full time."""
        return ClockPace(self.moves, self.base_ms, self.increment_ms)


def by_time(seconds: float) -> FixedPace:
    """A number of seconds per move."""
    return FixedPace(Limits(movetime=round(1000 * seconds)), f"{seconds:g} s per move", f"st {seconds:.15g}")


def _time(arguments: str) -> Pace:
    return by_time(number(arguments, "the time in seconds", 0.01, 86400))


def _depth(arguments: str) -> Pace:
    depth = whole_number(arguments, "the depth", 1, MAX_PLY - 1)
    return FixedPace(Limits(depth=depth), f"depth {depth}", f"sd {depth}")


def _nodes(arguments: str) -> Pace:
    nodes = whole_number(arguments, "the number of nodes", 1, 10**15)
    return FixedPace(Limits(nodes=nodes), f"{nodes:,} nodes per move", f"sn {nodes}")


def _clock(arguments: str) -> Pace:
    words = arguments.split()
    if len(words) != 3:
        raise UsageError("expected three numbers")
    count = whole_number(words[0], "the number of moves", 0, MAX_MOVES)
    base, increment = minutes(words[1]), number(words[2], "the increment in seconds", 0, 3600)
    base_ms, increment_ms = round(60000 * base), round(1000 * increment)
    if base_ms == increment_ms == 0:
        raise UsageError("base time and increment cannot both be less than a millisecond")
    return ClockPace(count, base_ms, increment_ms)


_BY_COMMAND: dict[str, Callable[[str], Pace]] = {"st": _time, "sd": _depth, "sn": _nodes, "level": _clock}


def pace_of(command: str) -> Pace:
    """The pace that a command such as "st 5" or "level 40 5 0" sets; raises UsageError."""
    name, _, arguments = command.partition(" ")
    if name not in _BY_COMMAND:
        raise UsageError(f"'{name[:40]}' is none of {', '.join(_BY_COMMAND)}")
    return _BY_COMMAND[name](arguments)
