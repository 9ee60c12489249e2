"""Fitting the weights: least squares of the predicted against the real result, by damped Gauss-Newton.

The prediction for a position is p = 1 / (1 + exp(-score / K)), score = features @ weights for White. What is minimised
is the weighted mean of (result - p) ** 2, plus a pull to the starting weights that fades as games are added. K is
1 / `steepness`; it is fitted together with the weights where material is frozen, since then only it can scale them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from learn.positions import FEATURE_SCALE

BLOCK = 1 << 15  # rows a thread works on at a time
POSITIONS_PER_OBSERVATION = 10  # the positions of a game are far from independent
PRIOR_SPREAD = 1.0  # prior standard deviation of a weight, in units of its size
LEAST_SIZE = 10.0  # centipawns: a smaller weight is taken to be of this size
NOISE = 0.1  # typical squared error of a prediction
ENOUGH = 1e-7  # relative improvement below which the fit has converged


@dataclass(frozen=True)
class Sample:
    """Rows with their labels and importance: int16[n, 27], float32[n] in 0..1, float32[n]."""

    features: np.ndarray
    labels: np.ndarray
    importance: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    @property
    def total(self) -> float:
        """The sum of the importance."""
        return float(self.importance.sum(dtype=np.float64))

    def every(self, step: int) -> Sample:
        """Every `step`-th row."""
        return Sample(self.features[::step], self.labels[::step], self.importance[::step])


@dataclass(frozen=True)
class Point:
    """Weights in centipawns, float64[27], and the steepness 1 / K."""

    weights: np.ndarray
    steepness: float

    @property
    def k(self) -> float:
        """K in centipawns."""
        return 1 / self.steepness


@dataclass(frozen=True)
class Task:
    """What may move: indices of free weights, bounds float64[27, 2], whether K is free, and where weights start."""

    free: np.ndarray
    bounds: np.ndarray
    fit_k: bool
    start: np.ndarray
    prior_spread: float = PRIOR_SPREAD

    def ridge(self) -> np.ndarray:
        """The pull to the start on the free weights, and none on the steepness, in units of the summed squares."""
        spread = self.prior_spread * np.maximum(np.abs(self.start[self.free]), LEAST_SIZE)
        return np.append(NOISE * POSITIONS_PER_OBSERVATION / spread**2, 0.0)


@dataclass
class Sums:
    """Sums over a sample at a point: squared error, gradient and Gauss-Newton matrix over (free weights, steepness)."""

    loss: float = 0.0
    gradient: np.ndarray = field(default_factory=lambda: np.zeros(0))
    matrix: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))


def predictions(sample: Sample, point: Point) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
    """Block by block: (rows, features float32, scores in centipawns, predictions)."""
    weights = (point.weights / FEATURE_SCALE).astype(np.float32)
    for start in range(0, len(sample), BLOCK):
        rows = slice(start, min(start + BLOCK, len(sample)))
        features = sample.features[rows].astype(np.float32)
        scores = features @ weights
        yield rows, features, scores, 1 / (1 + np.exp(-np.float32(point.steepness) * scores))


def mean_error(sample: Sample, point: Point) -> float:
    """The weighted mean of the squared error."""
    loss = 0.0
    for rows, _, _, predicted in predictions(sample, point):
        loss += float(sample.importance[rows] @ np.square(predicted - sample.labels[rows]))
    return loss / sample.total


def gather(sample: Sample, point: Point, free: np.ndarray, threads: int = 2) -> Sums:
    """The sums over a sample, each thread over a share of it."""
    cuts = np.linspace(0, len(sample), max(1, min(threads, len(sample) // BLOCK + 1)) + 1).astype(np.int64)

    def work(first: int, last: int) -> Sums:
        part = Sample(sample.features[first:last], sample.labels[first:last], sample.importance[first:last])
        return _gather_part(part, point, free)

    with ThreadPoolExecutor(len(cuts) - 1) as pool:
        parts = list(pool.map(work, cuts[:-1], cuts[1:]))
    return Sums(
        sum(part.loss for part in parts),
        np.sum([part.gradient for part in parts], axis=0),
        np.sum([part.matrix for part in parts], axis=0),
    )


def _gather_part(sample: Sample, point: Point, free: np.ndarray) -> Sums:
    size = len(free) + 1
    sums = Sums(0.0, np.zeros(size), np.zeros((size, size)))
    for rows, features, scores, predicted in predictions(sample, point):
        residual = predicted - sample.labels[rows]
        importance = sample.importance[rows]
        slope = predicted * (1 - predicted)
        jacobian = np.empty((len(scores), size), dtype=np.float32)
        np.multiply(features[:, free], (slope * np.float32(point.steepness / FEATURE_SCALE))[:, None], jacobian[:, :-1])
        jacobian[:, -1] = slope * scores
        weighted = jacobian * importance[:, None]
        sums.loss += float(importance @ np.square(residual))
        sums.gradient += residual @ weighted
        sums.matrix += jacobian.T @ weighted
    return sums


def fit_k(sample: Sample, weights: np.ndarray, start: float = 1 / 200) -> Point:
    """The point with these weights and the K that predicts best."""
    point = Point(np.asarray(weights, dtype=np.float64), start)
    none = np.zeros(0, dtype=np.int64)
    for size in (64, 1):
        part = sample.every(size) if len(sample) > 100_000 else sample
        for _ in range(20):
            sums = gather(part, point, none)
            change = -sums.gradient[0] / max(sums.matrix[0, 0], 1e-30)
            steepness = float(np.clip(point.steepness + change, point.steepness / 3, point.steepness * 3))
            converged = abs(steepness - point.steepness) < 1e-5 * point.steepness
            point = replace(point, steepness=float(np.clip(steepness, 1e-5, 1.0)))
            if converged:
                break
    return point


def gauss_newton(
    sample: Sample, start: Point, task: Task, report: Callable[[Point], None] | None = None, steps: int = 30
) -> Point:
    """The point that minimises the error on `sample` plus the pull to the start, within bounds exactly.

    `report` is called with each better point. A first approach on a part of a large sample saves most of the time.
    """
    point = start
    for stride in (16, 1):
        if stride == 1 or len(sample) > 200_000:
            point = _descend(sample.every(stride), point, task, report, steps, task.ridge() / stride)
    return point


def _descend(
    sample: Sample,
    point: Point,
    task: Task,
    report: Callable[[Point], None] | None,
    steps: int,
    ridge: np.ndarray,
) -> Point:
    damping = 1e-6
    best, sums = np.inf, Sums()
    candidate = point
    for _ in range(steps):
        trial = gather(sample, candidate, task.free)
        pulled = candidate.weights[task.free] - task.start[task.free]
        loss = trial.loss + float(ridge[:-1] @ pulled**2)
        if loss < best:
            improvement = (best - loss) / best if np.isfinite(best) else 1.0
            best, sums, point, damping = loss, trial, candidate, damping / 4
            if report is not None:
                report(point)
            if improvement < ENOUGH:
                break
        else:
            damping = max(damping, 1e-6) * 16
            if damping > 1e6:
                break
        candidate = _step(point, task, sums, ridge, damping)
    return point


def _step(point: Point, task: Task, sums: Sums, ridge: np.ndarray, damping: float) -> Point:
    """The Gauss-Newton step; weights that would leave their bounds are held there and the rest solved again."""
    values = np.append(point.weights[task.free], point.steepness)
    low = np.append(task.bounds[task.free, 0], point.steepness / 3)
    high = np.append(task.bounds[task.free, 1], point.steepness * 3)
    pull = ridge * (values - np.append(task.start[task.free], 0.0))
    gradient = sums.gradient + pull
    matrix = sums.matrix + np.diag(ridge) + damping * np.diag(np.diag(sums.matrix) + 1e-12)
    target = values.copy()
    moving = np.ones(len(values), dtype=bool)
    moving[-1] = task.fit_k
    for _ in range(len(values)):
        held = target - values
        held[moving] = 0
        if moving.any():
            right = -(gradient + matrix @ held)[moving]
            target[moving] = values[moving] + np.linalg.solve(matrix[np.ix_(moving, moving)], right)
        outside = moving & ((target < low) | (target > high))
        if not outside.any():
            break
        target[outside] = np.clip(target[outside], low[outside], high[outside])
        moving &= ~outside
    weights = point.weights.copy()
    weights[task.free] = target[:-1]
    return Point(weights, float(target[-1]))
