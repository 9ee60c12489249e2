"""What scores mean: K, which turns them into expected points, and what a point of the players' ratings counts.

A result tells who is stronger as well as who stands better. Its model is 1 / (1 + e^-(score / K + r * gap)), where the
gap is White's rating above Black's. K is 1 / `inverse_k`. What a point of rating counts, r, is fitted with the weights
at the start, as K is, and then stays (an offset of the regression).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from merino.core.compiled.jit import entry
from merino.learn.loss_and_gradient import (
    Samples,
    gather,
    handicap_of,
    label_of,
    scales_in,
    scales_of,
    score_of,
    slope_and_residual,
    strides,
    weight_of,
)
from merino.learn.sample import FitParameters, Loss, Sample, Span

ROUNDS = 12  # of Newton's method, at most
TOLERANCE = 1e-3  # relative change of r by a round that is the last
K_TOLERANCE = 1e-3  # relative change of K by a step that leaves less than a tenth of it


def with_scale(
    sample: Samples, weights: np.ndarray, loss: Loss, k: float | None = None, ratings: bool = False
) -> FitParameters:
    """The weights with the K that predicts the training set best, or this one; with `ratings` their share, too."""
    start = FitParameters(weights, 1 / k) if k else fit_k(sample, weights, loss)
    return with_ratings(sample, start, loss, k is None) if ratings else start


def fit_k(
    sample: Samples,
    weights: np.ndarray,
    loss: Loss = Loss.SQUARED,
    start: float = 1 / 200,
    per_point: float = 0.0,
) -> FitParameters:
    """These weights with the K that predicts the training set best, where a point of rating counts so much."""
    parameters = FitParameters(np.asarray(weights, dtype=np.float64), start, per_point)
    for stride in strides(sample):
        for _ in range(20):
            sums = gather(sample, parameters, loss, stride=stride)
            change = -sums.k_slope / max(sums.k_curvature, 1e-30)
            inverse_k = float(
                np.clip(parameters.inverse_k + change, parameters.inverse_k / 3, parameters.inverse_k * 3)
            )
            converged = abs(inverse_k - parameters.inverse_k) < K_TOLERANCE * parameters.inverse_k
            parameters = replace(parameters, inverse_k=float(np.clip(inverse_k, 1e-5, 1.0)))
            if converged:
                break
    return parameters


def with_ratings(sample: Samples, start: FitParameters, loss: Loss, fits_k: bool) -> FitParameters:
    """The parameters with the r, and if `fits_k` the K, that predict the training set best.

    They stay as they are if no game has ratings.
    """
    found = start
    for _ in range(ROUNDS):
        slope, curvature = np.sum(list(sample.each(partial(_slope_of_share, found, loss))), axis=0)
        if curvature == 0:
            return start
        change = -float(slope / curvature)
        found = replace(found, per_point=found.per_point + change)
        if fits_k:
            found = fit_k(sample, found.weights, loss, found.inverse_k, found.per_point)
        if abs(change) <= TOLERANCE * abs(found.per_point):
            break
    return found


def rated_games(sample: Samples) -> int:
    """How many games have the ratings of both players."""
    return sum(sample.each(_rated))


def _rated(sample: Sample, span: Span) -> int:
    return int(np.count_nonzero(~np.isnan(sample.gaps[span.first_game : span.last_game])))


@entry
def _slope_and_curvature(sample, scales, inverse_k, per_point, entropy, first, last, sums):
    """Add half the derivatives of the training loss by r to `sums`, float64[2]."""
    for row in range(first, last):
        gap = sample.gaps[sample.game[row]]
        if np.isnan(gap) or sample.is_validation[row]:
            continue
        weight, score = weight_of(sample, row), score_of(sample.features[row], scales[sample.stage[row]])
        z = inverse_k * score + handicap_of(sample, row, per_point)
        slope, residual = slope_and_residual(z, label_of(sample, row), entropy)
        sums[0] += weight * slope * residual * gap
        sums[1] += weight * (slope * gap) ** 2


def _slope_of_share(parameters: FitParameters, loss: Loss, sample: Sample, span: Span) -> np.ndarray:
    """The derivatives of a share."""
    sums, entropy = np.zeros(2), loss is Loss.CROSS_ENTROPY
    scales = scales_of(parameters.weights, sample.terms)
    _slope_and_curvature(sample, scales, *scales_in(parameters), entropy, span.first, span.last, sums)
    return sums
