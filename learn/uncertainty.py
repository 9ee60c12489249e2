"""How sure each weight is, with a game as the unit: its positions share one result and are far from independent.

The standard error of a weight is of two parts: what other games would have changed, and, where few games have
anything to say of it, how far from its start it may be although the pull keeps it there.
"""

from __future__ import annotations

import numpy as np

from learn.fit import Task, Watcher, approach
from learn.passes import Sums, gradients_by_game
from learn.sample import Point, Sample


def by_sandwich(sample: Sample, point: Point, task: Task, sums: Sums) -> np.ndarray:
    """Standard errors of the weights at an optimum, float64[weights], by the sandwich formula clustered by game.

    `sums` are those of a pass with products at `point`. Frozen weights get 0. Formula: K.-Y. Liang and S. Zeger (1986).
    """
    inverse, pull = _inverse_and_pull(point, task, sums)
    gradients = gradients_by_game(sample, point, task.loss) @ task.directions(point)[:, : len(inverse)]
    return _of_free(task, inverse @ (gradients.T @ gradients) @ inverse + pull)


def by_resampling(
    sample: Sample, point: Point, task: Task, sums: Sums, times: int, seed: int, watcher: Watcher
) -> np.ndarray:
    """The same, its first part from fits to games drawn anew with replacement."""
    games = sample.games(held=False)
    chance = np.random.default_rng(seed)
    found = []
    for number in range(times):
        drawn = np.bincount(chance.choice(games, len(games)), minlength=len(sample.results))
        again = sample._replace(game_weight=drawn.astype(np.float32))
        found.append(approach(again, point, task, Watcher()).weights[task.free])
        watcher.progressed("Resampling games", (number + 1) / times)
    _, pull = _inverse_and_pull(point, task, sums)
    free = len(task.free)
    return _of_free(task, np.diag(np.var(found, axis=0, ddof=1)) + pull[:free, :free])


def _inverse_and_pull(point: Point, task: Task, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of the Gauss-Newton matrix, and the covariance that comes from what the pull holds back."""
    size = len(task.free) + task.fit_k
    _, matrix = task.system(sums, point)
    inverse = np.linalg.pinv(matrix[:size, :size])
    ridge = task.ridge(sums)
    spread = np.zeros(len(task.free)) if task.spread is None else task.spread[task.free]
    held_back = np.append(ridge * spread, 0.0)[:size]
    return inverse, inverse @ np.diag(held_back**2) @ inverse


def _of_free(task: Task, covariance: np.ndarray) -> np.ndarray:
    spread = np.zeros(len(task.bounds))
    spread[task.free] = np.sqrt(np.maximum(np.diag(covariance)[: len(task.free)], 0))
    return spread
