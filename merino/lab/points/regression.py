"""Logistic regression without an intercept, solved to convergence by Newton's method, many samples at once.

The objective for weights theta is the mean cross-entropy over the vectors, plus PENALTY * sum(theta ** 2):

    -s log p - (1 - s) log (1 - p),   p = 1 / (1 + exp(-x @ theta))

with s = 0, 1/2 or 1 the score of White. A vector and its opposite with the opposite score cost the same (so White and
Black are treated alike); they share a cell. Samples are the same cells with other counts: a bootstrap of a thousand
samples needs one table of cells, and its sums are products of matrices.

A descent follows the same objective by gradient steps from zero, as in the chart of Medvedev's article.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.core.compiled.jit import entry
from merino.lab.points.vectors import Vectors

PENALTY = 1e-6  # Medvedev's
MAX_STEPS = 60
ENOUGH = 1e-9  # a Newton step this small has converged
HALVINGS = 30
BATCH = 50  # samples solved together: their tables stay in the processor's cache
LAST_STEP = 10_000
STEP_LENGTH = 1.0
_EVEN = np.rint(np.geomspace(1, LAST_STEP, 121)).astype(np.int64)
HEADLINES = np.array([n * 10**power for power in range(5) for n in (1, 2, 5) if n * 10**power <= LAST_STEP])
SHOWN_STEPS = np.unique([*_EVEN, *HEADLINES])


@dataclass(frozen=True)
class Cells:
    """The different vectors of a sample, up to sign.

    `table` float64[cells, k] has them; `cell` int64[n] and `score` float64[n] say of each vector of the sample which
    cell it is and how the side scored whose view that is: 0, 0.5 or 1.
    """

    table: np.ndarray
    cell: np.ndarray
    score: np.ndarray


def cells_of(columns: np.ndarray, half_points: np.ndarray) -> Cells:
    """The cells of the rows of `columns`, small integers[n, k], whose games gave White `half_points`, 0..2."""
    spans = 2 * np.abs(columns.astype(np.int64)).max(axis=0, initial=0) + 1
    place = np.cumprod([1, *spans[:-1]])
    code = columns.astype(np.int64) @ place  # its sign is that of the last number that is not zero
    codes, first, cell = np.unique(np.abs(code), return_index=True, return_inverse=True)
    table = columns[first] * np.where(code[first] < 0, -1.0, 1.0)[:, None]
    score = np.where(code < 0, 2 - half_points, half_points) / 2
    assert len(table) == len(codes)
    return Cells(table, cell, score)


def fit(cells: np.ndarray, trials: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The best weights of each sample, float64[samples, k].

    `cells` is float64[cells, k]; `trials` and `scores` float64[samples, cells] say how often a cell occurs in a sample
    and how many points its side made.
    """
    weights = np.zeros((len(trials), cells.shape[1]))
    ridge = PENALTY * np.maximum(trials.sum(axis=1), 1)
    squares = (cells[:, :, None] * cells[:, None, :]).reshape(len(cells), -1)
    diagonal = 2 * ridge[:, None, None] * np.eye(cells.shape[1])
    cost, expected = _cost(cells, trials, scores, weights, ridge)
    for _ in range(MAX_STEPS):
        gradient = (trials * expected - scores) @ cells + 2 * ridge[:, None] * weights
        curvature = (trials * expected * (1 - expected)) @ squares
        step = np.linalg.solve(curvature.reshape(diagonal.shape) + diagonal, gradient[:, :, None])[:, :, 0]
        if np.abs(step).max() < ENOUGH * (1 + np.abs(weights).max()):
            break
        share = np.ones((len(trials), 1))
        for _ in range(HALVINGS):
            new = weights - share * step
            new_cost, new_expected = _cost(cells, trials, scores, new, ridge)
            worse = new_cost > cost + 1e-12 * np.abs(cost)
            if not worse.any():
                break
            share[worse] /= 2
        weights, cost, expected = new, new_cost, new_expected
    return weights


def _cost(
    cells: np.ndarray, trials: np.ndarray, scores: np.ndarray, weights: np.ndarray, ridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The objective, summed over the vectors, float64[samples]; and p of each cell, float64[samples, cells]."""
    logit = weights @ cells.T
    small = np.exp(-np.abs(logit))
    loss = trials * (np.maximum(logit, 0) + np.log1p(small)) - scores * logit
    return loss.sum(axis=1) + ridge * (weights**2).sum(axis=1), np.where(logit >= 0, 1, small) / (1 + small)


def totals(cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """How often each cell occurs in the sample, and how many points its side made, float64[cells] each."""
    size = len(cells.table)
    trials = np.bincount(cells.cell, minlength=size).astype(np.float64)
    return trials, np.bincount(cells.cell, weights=cells.score, minlength=size)


def fit_all(cells: Cells) -> np.ndarray:
    """The best weights for the sample itself, float64[k]."""
    trials, scores = totals(cells)
    return fit(cells.table, trials[None], scores[None])[0]


def bootstrap(cells: Cells, vectors: Vectors, samples: int, seed: int) -> np.ndarray:
    """The best weights for `samples` samples of as many games, drawn with replacement; float64[samples, k].

    `cells` are those of `vectors`. Games and not vectors are drawn: the vectors of a game share its result.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for first in range(0, samples, BATCH):
        count = min(BATCH, samples - first)
        drawn = np.empty((count, vectors.games), dtype=np.float64)
        for row in drawn:
            row[:] = np.bincount(rng.integers(0, vectors.games, vectors.games), minlength=vectors.games)
        trials, scores = np.zeros((2, count, len(cells.table)))
        _tally(drawn, vectors.game, cells.cell, cells.score, trials, scores)
        parts.append(fit(cells.table, trials, scores))
    return np.concatenate(parts)


@entry
def _tally(drawn, game, cell, score, trials, scores):
    """Add up trials and scores, float64[samples, cells], where game g was drawn drawn[sample, g] times."""
    for sample in range(len(drawn)):
        for index in range(len(game)):
            times = drawn[sample, game[index]]
            trials[sample, cell[index]] += times
            scores[sample, cell[index]] += times * score[index]


@dataclass(frozen=True)
class Descent:
    """The path from weights of zero to the optimum.

    `steps` int64[n], ascending from 1; `weights` float64[n, k] after each, in logits and with nan as those of a Fit;
    `costs` float64[n], the mean cross-entropy with its penalty.
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
            costs.append(
                _cross_entropy(cells.table @ weights, trials, scores) / count + PENALTY * float(weights @ weights)
            )
    seen = (cells.table != 0).any(axis=0)
    return Descent(SHOWN_STEPS, np.where(seen, path, np.nan), np.array(costs))


def _cross_entropy(logit: np.ndarray, trials: np.ndarray, scores: np.ndarray) -> float:
    """The cross-entropy summed over the vectors."""
    return float((trials * np.logaddexp(0, logit) - scores * logit).sum())
