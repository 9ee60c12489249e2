"""Calibration: positions predicted to be worth 70% of the points should score 70%."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from merino.core.compiled.jit import entry
from merino.learn.loss_and_gradient import Samples, handicap_of, scales_of, score_of
from merino.learn.sample import FitParameters, Sample, Span

BINS = 20
MAX_ROWS = 500_000  # to find the edges of the bins; of a larger sample, evenly spaced rows


@dataclass(frozen=True)
class Bin:
    """Positions with similar predictions: the means of prediction and result, and the number of positions.

    `error` is the standard error of the mean result, clustered by game.
    """

    predicted: float
    scored: float
    error: float
    positions: int


def _predicted_of_share(parameters: FitParameters, step: int, sample: Sample, span: Span) -> np.ndarray:
    """Predictions for the validation rows of a share, taking every `step`-th row of the whole sample."""
    rows = np.arange(span.first, span.last)
    chosen = sample.is_validation[span.first : span.last] & ((rows - span.first + span.rows_before) % step == 0)
    return _predictions(sample, span, parameters)[chosen]


def _binned(
    parameters: FitParameters, edges: np.ndarray, means: np.ndarray | None, sample: Sample, span: Span
) -> np.ndarray:
    """Sums over the validation rows of a share, by bin: weight, weight times prediction, weight times result, rows.

    If `means` has the mean result of each bin: the sums of the squared residuals of games instead.
    """
    rows = np.flatnonzero(sample.is_validation[span.first : span.last]) + span.first
    predicted = _predictions(sample, span, parameters)[rows - span.first]
    place, bins = np.searchsorted(edges, predicted), len(edges) + 1
    weight = sample.sample_weight[sample.to_end[rows]].astype(np.float64)
    label = sample.results[sample.game[rows]].astype(np.float64)
    if means is None:
        sums = [np.bincount(place, each, bins) for each in (weight, weight * predicted, weight * label)]
        return np.array([*sums, np.bincount(place, minlength=bins).astype(np.float64)])
    code = place * (span.last_game - span.first_game) + sample.game[rows] - span.first_game
    by_game = np.bincount(code, weight * (label - means[place]), bins * (span.last_game - span.first_game))
    return np.sum(by_game.reshape(bins, -1) ** 2, axis=1)


@entry
def _predict(sample, scales, inverse_k, per_point, first, last, predicted):
    for row in range(first, last):
        score = score_of(sample.features[row], scales[sample.stage[row]])
        z = inverse_k * score + handicap_of(sample, row, per_point)
        predicted[row - first] = 1 / (1 + math.exp(-z))


def _predictions(sample: Sample, span: Span, parameters: FitParameters) -> np.ndarray:
    """The prediction for each row of a share, float64[n]."""
    found = np.empty(span.last - span.first)
    scales = scales_of(parameters.weights, sample.terms)
    _predict(sample, scales, parameters.inverse_k, parameters.per_point, span.first, span.last, found)
    return found


def calibration(sample: Samples, parameters: FitParameters) -> list[Bin]:
    """The validation set in bins of equal size, by ascending prediction; without those that weigh nothing."""
    step = max(1, sample.size // MAX_ROWS)
    seen = np.concatenate(list(sample.each(partial(_predicted_of_share, parameters, step))))
    edges = np.quantile(seen, np.linspace(0, 1, BINS + 1)[1:-1])
    weight, predicted, points, rows = np.sum(list(sample.each(partial(_binned, parameters, edges, None))), axis=0)
    means = points / np.where(weight, weight, 1.0)
    squares = np.sum(list(sample.each(partial(_binned, parameters, edges, means))), axis=0)
    return [
        Bin(
            float(predicted[number] / weight[number]),
            float(means[number]),
            float(np.sqrt(squares[number]) / weight[number]),
            int(rows[number]),
        )
        for number in np.flatnonzero(weight)
    ]
