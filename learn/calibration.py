"""Whether predictions keep their word: positions said to be worth 70% of the points should bring 70%."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learn.passes import scores_of
from learn.sample import FitParameters, Sample

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


def calibration(sample: Sample, parameters: FitParameters, bins: int = BINS) -> list[Bin]:
    """The validation set in bins with equally many positions, by rising prediction."""
    rows = np.flatnonzero(sample.is_validation)
    game = sample.game[rows]
    predicted = 1 / (1 + np.exp(-parameters.inverse_k * scores_of(sample, parameters.weights)[rows].astype(np.float64)))
    label = sample.results[game].astype(np.float64)
    sample_weight = sample.sample_weight[sample.to_end[rows]].astype(np.float64)
    edges = np.quantile(predicted, np.linspace(0, 1, bins + 1)[1:-1])
    place = np.searchsorted(edges, predicted)
    found = []
    for number in range(bins):
        mine = place == number
        if not mine.any():
            continue
        weight = sample_weight[mine]
        mean = float(np.average(label[mine], weights=weight))
        by_game = np.bincount(game[mine], weight * (label[mine] - mean))
        error = float(np.sqrt((by_game**2).sum()) / weight.sum())
        found.append(Bin(float(np.average(predicted[mine], weights=weight)), mean, error, int(mine.sum())))
    return found
