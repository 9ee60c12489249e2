"""The players' strength: a result tells who is stronger as well as who stands better.

The model of a result is 1 / (1 + e^-(score / K + r * gap)), where the gap is White's rating above Black's. What a point
of rating counts, r, is fitted with the weights at the start, as K is, and then stays (an offset of the regression).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from merino.inner.core.compiled.jit import entry
from merino.inner.learn.fit import fit_k
from merino.inner.learn.loss_and_gradient import (
    Samples,
    handicap_of,
    label_of,
    scales_in,
    scales_of,
    score_of,
    slope_and_residual,
    weight_of,
)
from merino.inner.learn.sample import FitParameters, Loss, Sample, Span

ROUNDS = 12  # of Newton's method, at most
TOLERANCE = 1e-3  # relative change of r by a round that is the last


def with_ratings(sample: Samples, start: FitParameters, loss: Loss, fits_k: bool) -> FitParameters:
    """The parameters with the r, and if `fits_k` the K, that predict the training set best.

    They stay as they are if no game has ratings.
    """
    found = start
    for _ in range(ROUNDS):
        slope, curvature = np.sum(list(sample.each(_Slope(found, loss))), axis=0)
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


@dataclass(frozen=True)
class _Slope:
    """The derivatives of a share."""

    parameters: FitParameters
    loss: Loss

    def __call__(self, sample: Sample, span: Span) -> np.ndarray:
        sums, entropy = np.zeros(2), self.loss is Loss.CROSS_ENTROPY
        scales = scales_of(self.parameters.weights, sample.terms)
        _slope_and_curvature(sample, scales, *scales_in(self.parameters), entropy, span.first, span.last, sums)
        return sums
