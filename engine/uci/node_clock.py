"""The engine's own clock where time is counted in nodes: the clock of the GUI does not know how many a move took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from merino.inner.engine.search.limits import Limits
from merino.inner.engine.uci.lag import goes_on


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
