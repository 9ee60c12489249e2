"""Two clocks of a game: the lag on that of the GUI, and our own where time is counted in nodes.

Lag is what a move costs on the GUI's clock beside the time that the search has planned for it. Where time is counted in
nodes, the clock of the GUI does not know how many a move took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from merino.inner.engine.search.limits import Limits

FORGOTTEN = 0.25  # share of the difference by which the estimate falls at each move; it rises at once


@dataclass
class _TimedMove:
    """A move on a clock: the key of the position before it, our clock, and once it is made the time planned for it."""

    key: int
    clock: int
    planned: float | None = None


def goes_on(keys: Sequence[int], key: int) -> bool:
    """Whether a game goes on from the position with this key, in which we moved last; `keys` are those of the game."""
    return len(keys) > 2 and keys[-3] == key


class Lag:
    """An estimate of the lag of the next move in `milliseconds`, from the clock that each `go` brings.

    A GUI that is slow to hear us, a network, or a machine so busy that our threads wait for the processor: all this
    shows as time that is missing from the clock at the next move.
    """

    def __init__(self) -> None:
        self.milliseconds = 0.0
        self._last: _TimedMove | None = None

    def go_came(self, keys: Sequence[int], side: int, limits: Limits) -> None:
        """Take the clock of a `go`. `keys` are those of the game so far, the present position last."""
        clock, last = limits.time[side], self._last
        if last is not None and goes_on(keys, last.key) and last.planned is not None and clock is not None:
            lag = last.clock + limits.increment[side] - clock - last.planned
            if lag >= 0:  # else time was added
                self.milliseconds = max(lag, self.milliseconds + FORGOTTEN * (lag - self.milliseconds))
        is_timed = clock is not None and limits.movetime is None and not limits.ponder and not limits.infinite
        self._last = _TimedMove(keys[-1], clock, None) if is_timed and clock is not None else None

    def move_made(self, planned: float) -> None:
        """Take the milliseconds that the search has used of those that it was allowed for its move."""
        if self._last is not None:
            self._last.planned = planned

    def forget(self) -> None:
        """Begin a new game, perhaps on another clock."""
        self.milliseconds, self._last = 0.0, None


class NodeClock:
    """What is left on our clock, in milliseconds of nodes.

    A game begins with the time that the first `go` brings. From then on a move costs its nodes and gains the increment,
    whatever the GUI's clock says. Where a new time control begins, so does the account.
    """

    def __init__(self) -> None:
        self._left: float | None = None  # None: no game goes on
        self._key = 0  # of the position before our last move
        self._moves_to_go = 0
        self._increment = 0

    def limits(self, keys: Sequence[int], side: int, limits: Limits) -> Limits:
        """The limits of a `go` by this clock. `keys` are those of the game so far, the present position last."""
        clock, moves_to_go = limits.time[side], limits.moves_to_go or 0
        if clock is None:
            self._left = None
            return limits
        if self._left is None or not goes_on(keys, self._key) or moves_to_go > self._moves_to_go:
            self._left = float(clock)
        self._key, self._moves_to_go, self._increment = keys[-1], moves_to_go, limits.increment[side]
        left = max(1, int(self._left))
        return replace(limits, time=(left, left))

    def move_made(self, used: float) -> None:
        """Take the milliseconds that the move has used."""
        if self._left is not None:
            self._left = max(0.0, self._left - used) + self._increment

    def forget(self) -> None:
        """Begin a new game."""
        self._left = None
