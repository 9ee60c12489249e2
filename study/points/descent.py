"""The values step by step: gradient descent from zero, as in Medvedev's chart.

The fit itself uses Newton's method and needs a dozen steps. His program takes 10,000 steps of gradient descent with
learning rate 1 to the same optimum; after each step the values are scaled to a pawn of 100.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.inner.study.points.regression import PENALTY, Cells, totals

LAST_STEP = 10_000
STEP_LENGTH = 1.0
_EVEN = np.rint(np.geomspace(1, LAST_STEP, 121)).astype(np.int64)
HEADLINES = np.array([n * 10**power for power in range(5) for n in (1, 2, 5) if n * 10**power <= LAST_STEP])
SHOWN_STEPS = np.unique([*_EVEN, *HEADLINES])


@dataclass(frozen=True)
class Descent:
    """The path from weights of zero to the optimum.

    `steps` int64[n], ascending from 1; `weights` float64[n, k] after each, in logits as those of a Fit; `costs`
    float64[n], the mean cross-entropy with its penalty.
    """

    steps: np.ndarray
    weights: np.ndarray
    costs: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """The values in centipawns, float64[n, k], with the pawn at 100; nan if its weight is not positive."""
        pawn = np.where(self.weights[:, :1] > 0, self.weights[:, :1], np.nan)
        return 100 * self.weights / pawn

    @property
    def headlines(self) -> np.ndarray:
        """The rows for a short table, int64: 1, 2 and 5 times each power of ten."""
        return np.flatnonzero(np.isin(self.steps, HEADLINES))


def descend(cells: Cells) -> Descent:
    """Descend, and record the steps SHOWN_STEPS, which are about even on a logarithmic scale."""
    trials, scores = totals(cells)
    count = max(trials.sum(), 1)
    weights = np.zeros(cells.table.shape[1])
    noted, path, costs = set(SHOWN_STEPS.tolist()), [], []
    for step in range(1, LAST_STEP + 1):
        expected = 1 / (1 + np.exp(-np.clip(cells.table @ weights, -700, 700)))
        gradient = (trials * expected - scores) @ cells.table / count + 2 * PENALTY * weights
        weights = weights - STEP_LENGTH * gradient
        if step in noted:
            path.append(weights)
            costs.append(_cost(cells.table @ weights, trials, scores) / count + PENALTY * float(weights @ weights))
    return Descent(SHOWN_STEPS, np.array(path), np.array(costs))


def _cost(logit: np.ndarray, trials: np.ndarray, scores: np.ndarray) -> float:
    """The cross-entropy summed over the vectors."""
    return float((trials * np.logaddexp(0, logit) - scores * logit).sum())
