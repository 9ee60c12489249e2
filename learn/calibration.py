"""Whether predictions keep their word: positions said to be worth 70% of the points should bring 70%."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learn.passes import scores_of
from learn.sample import Point, Sample

BINS = 20


@dataclass(frozen=True)
class Bin:
    """Positions with predictions close together.

    The means of prediction and result, the standard error of the result's with a game as the unit, and how many
    positions there are.
    """

    predicted: float
    scored: float
    error: float
    positions: int


def calibration(sample: Sample, point: Point, bins: int = BINS) -> list[Bin]:
    """The validation set in bins with equally many positions, by rising prediction."""
    held = np.flatnonzero(sample.held)
    game = sample.game[held]
    predicted = 1 / (1 + np.exp(-point.steepness * scores_of(sample, point.weights)[held].astype(np.float64)))
    label = sample.results[game].astype(np.float64)
    importance = sample.importance[sample.to_end[held]].astype(np.float64)
    edges = np.quantile(predicted, np.linspace(0, 1, bins + 1)[1:-1])
    place = np.searchsorted(edges, predicted)
    found = []
    for number in range(bins):
        mine = place == number
        if not mine.any():
            continue
        weight = importance[mine]
        mean = float(np.average(label[mine], weights=weight))
        by_game = np.bincount(game[mine], weight * (label[mine] - mean))
        error = float(np.sqrt((by_game**2).sum()) / weight.sum())
        found.append(Bin(float(np.average(predicted[mine], weights=weight)), mean, error, int(mine.sum())))
    return found
