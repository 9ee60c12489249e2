"""Time management: the clock of a search, and the budget of a move, a soft and a hard limit. Times in milliseconds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from merino.engine.search.limits import Limits

MAX_OF_CLOCK = 0.5  # never spend more on one move
RESERVED_LAGS = 3  # lag varies: so many times the usual one is kept for the worst
STABLE_ITERATIONS = 6  # of one best move until the budget is smallest
DEFAULT_SHARE = 2 / 3  # of the nodes that the best move takes
MAX_DROP = 60  # centipawns lost since the last iteration that count


@dataclass(frozen=True)
class Budget:
    """`soft`: no new iteration starts after this time, adjusted by stability; `hard`: the search stops in any case.

    Both count what was `pondered` before the clock started.
    """

    soft: float
    hard: float
    parameters: Mapping[str, int]  # of the search, by name
    is_exact: bool = False  # movetime: use it all
    pondered: float = 0.0

    def after(self, pondered: float) -> Budget:
        """The same with so much time that was pondered, which an exact one does not count."""
        return self if self.is_exact else replace(self, pondered=pondered)

    @property
    def left(self) -> float:
        """The time from the start of the clock to the hard limit."""
        return max(0.0, self.hard - self.pondered)

    def should_stop(self, elapsed: float, stable_iterations: int, score_drop: int, share: float) -> bool:
        """Whether to stop after an iteration: sooner with a stable best move, later when the score falls.

        `elapsed` is the time since the start of the clock. `share` is the part of the nodes that the best move took,
        0..1: if it took most, the others are refuted.
        """
        if self.is_exact:
            return elapsed >= self.hard
        p = self.parameters
        settled = min(stable_iterations, STABLE_ITERATIONS) / STABLE_ITERATIONS
        stability = 1 + p["clock_stability"] / 100 * (0.5 - settled)
        falling = 1 + p["clock_falling_score"] / 100 * max(0, min(score_drop, MAX_DROP)) / MAX_DROP
        unsure = 1 + p["clock_node_share"] / 100 * (DEFAULT_SHARE - share)
        return self.pondered + elapsed >= self.soft * stability * falling * unsure


def budget(limits: Limits, side: int, overhead: int, parameters: Mapping[str, int], lag: float = 0.0) -> Budget | None:
    """The budget for the side to move, or None where no time limit is set.

    `overhead` is the time reserved for what happens outside the search, `lag` what each move has cost there lately;
    a clock that has run out counts as 1 ms. `parameters` are those of the search, by name.
    """
    if limits.movetime is not None:
        exact = max(1.0, limits.movetime - min(overhead, limits.movetime // 10))
        return Budget(exact, exact, parameters, is_exact=True)
    clock = limits.time[side]
    if clock is None:
        return None
    gain = max(0, limits.increment[side]) - lag  # each move adds the one and loses the other
    left = max(1.0, max(clock, 1) - max(overhead, RESERVED_LAGS * lag))
    moves = parameters["clock_moves"]
    if limits.moves_to_go:
        moves = min(max(limits.moves_to_go, 1), moves) + 1
    soft = max(0.0, left / moves + (parameters["clock_increment"] / 100 * gain if gain > 0 else gain))
    most = max(1.0, MAX_OF_CLOCK * left)
    return Budget(min(soft, most), min(parameters["clock_hard_limit"] / 100 * soft, most), parameters)


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
