"""The clock of one search: real time, or time counted in nodes (`nodestime`)."""

from __future__ import annotations

import time


class MoveClock:
    """The milliseconds since `start`: `nodestime` nodes count as one, or real time passes where that is 0."""

    def __init__(self, nodestime: int) -> None:
        self.nodestime = nodestime
        self.start()

    def start(self, first: int = 0) -> None:
        """Start it, or start it again, where the search has visited its first nodes."""
        self._began, self._first = time.perf_counter(), first

    def milliseconds(self, nodes: int) -> float:
        """The time since the start, once the search has visited so many nodes."""
        if self.nodestime:
            return (nodes - self._first) / self.nodestime
        return 1000 * (time.perf_counter() - self._began)

    def nodes_until(self, milliseconds: float) -> int:
        """The number of nodes of the search when this time is up; only where time is counted in nodes."""
        return self._first + round(self.nodestime * milliseconds)
