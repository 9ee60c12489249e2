"""How sure each weight is, with a game as the unit: its positions share one result and are far from independent."""

from __future__ import annotations

import numpy as np

from learn.fit import Task, Watcher, approach
from learn.passes import Sums, gradients_by_game
from learn.positions import FEATURE_SCALE
from learn.sample import Point, Sample


def by_sandwich(sample: Sample, point: Point, task: Task, sums: Sums) -> np.ndarray:
    """Standard errors of the weights at an optimum, float64[terms], by the sandwich formula clustered by game.

    `sums` are those of a pass with products at `point`. Frozen weights get 0. Formula: K.-Y. Liang and S. Zeger (1986).
    """
    size = len(task.free) + task.fit_k
    _, matrix = task.system(sums, point)
    directions = np.zeros((sample.terms, len(task.free) + 1))
    directions[task.free, np.arange(len(task.free))] = point.steepness / FEATURE_SCALE
    directions[:, -1] = point.weights / FEATURE_SCALE
    scores = gradients_by_game(sample, point, task.loss) @ directions[:, :size]
    inverse = np.linalg.pinv(matrix[:size, :size])
    covariance = inverse @ (scores.T @ scores) @ inverse
    spread = np.zeros(sample.terms)
    spread[task.free] = np.sqrt(np.maximum(np.diag(covariance)[: len(task.free)], 0))
    return spread


def by_resampling(sample: Sample, point: Point, task: Task, times: int, seed: int, watcher: Watcher) -> np.ndarray:
    """Standard errors of the weights, float64[terms], from fits to games drawn anew with replacement."""
    games = sample.games(held=False)
    chance = np.random.default_rng(seed)
    found = []
    for number in range(times):
        drawn = np.bincount(chance.choice(games, len(games)), minlength=len(sample.results))
        again = sample._replace(game_weight=drawn.astype(np.float32))
        found.append(approach(again, point, task, Watcher()).weights)
        watcher.progressed("Resampling games", (number + 1) / times)
    spread = np.std(found, axis=0, ddof=1)
    return np.where(np.isin(np.arange(sample.terms), task.free), spread, 0.0)
