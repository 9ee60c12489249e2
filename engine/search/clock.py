"""From a clock to a budget: how long to think, and when to stop at the latest. Times in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from engine.search.limits import Limits

MOVES_LEFT = 25  # expected in a game without a move count
INCREMENT_SHARE = 0.8
MOST_OF_CLOCK = 0.5  # never spend more on one move
STRETCH = 4.0  # the hard limit over the soft one
STABLE_ITERATIONS = 6  # of one best move until the budget is smallest
DOUBT_MOST, DOUBT_SLOPE = 1.8, 1.2  # times the budget where the best move took no nodes, and the fall from there
LARGEST_DROP = 60  # centipawns lost since the last iteration that count


@dataclass(frozen=True)
class Budget:
    """`soft`: no new iteration once this is spent, give or take stability; `hard`: stop whatever happens."""

    soft: float
    hard: float
    is_exact: bool = False  # movetime: use it all

    def enough(self, elapsed: float, stable_iterations: int, score_drop: int, share: float) -> bool:
        """Whether to stop after an iteration: sooner with a settled best move, later when the score falls.

        `share` is the part of the nodes that the best move took, 0..1: where it took most, the others are refuted.
        """
        if self.is_exact:
            return elapsed >= self.hard
        stability = 1.4 - 0.8 * min(stable_iterations, STABLE_ITERATIONS) / STABLE_ITERATIONS
        trouble = 1.0 + max(0, min(score_drop, LARGEST_DROP)) / LARGEST_DROP
        doubt = DOUBT_MOST - DOUBT_SLOPE * share
        return elapsed >= self.soft * stability * trouble * doubt


def budget(limits: Limits, side: int, overhead: int) -> Budget | None:
    """The budget for the side to move, or None where no time limit is set.

    `overhead` is what a move costs outside the search; negative clocks count as 1 ms.
    """
    if limits.movetime is not None:
        exact = max(1.0, limits.movetime - min(overhead, limits.movetime // 10))
        return Budget(exact, exact, is_exact=True)
    clock = limits.time[side]
    if clock is None:
        return None
    increment = max(0, limits.increment[side])
    left = max(1.0, max(clock, 1) - overhead)
    moves = MOVES_LEFT if not limits.moves_to_go else min(max(limits.moves_to_go, 1), MOVES_LEFT) + 1
    soft = left / moves + INCREMENT_SHARE * increment
    most = max(1.0, MOST_OF_CLOCK * left)
    return Budget(min(soft, most), min(STRETCH * soft, most))
