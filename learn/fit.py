"""The objective of the fit of weights and K, and the default method, damped Gauss-Newton.

The objective is the summed loss of the training set plus a pull to the starting weights. The pull is a normal prior
about them: it is fixed while the loss grows with each game, so it fades as games are added. K is 1 / `inverse_k`; it
is fitted together with the weights if material is frozen, because then nothing else can scale the scores.

What all cells of a table have in common is told by the term that counts the same pieces. A knight stands on one square,
so 10 centipawns more for each of them are a knight worth 10 more: the scores are the same. Told by the value, a cell
says how much better or worse than usual a piece stands there, and its interval is that of this difference. Usual is the
mean over the cells, each as often as it makes a difference in the training set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from merino.inner.eval.linear.registry import Term, TermTable, to_read
from merino.inner.learn.loss_and_gradient import TRAIN, Detail, Samples, Sums, carrier_counts, gather
from merino.inner.learn.rows import FEATURE_SCALE
from merino.inner.learn.sample import BLOCK, FitParameters, Loss

POSITIONS_PER_OBSERVATION = 10  # the positions of a game are far from independent
MIN_SIZE = 10.0  # centipawns; a smaller weight counts as this large
NOISE = {Loss.SQUARED: 0.1, Loss.CROSS_ENTROPY: 1.0}  # the variance of a residual
DOUBLED = {Loss.SQUARED: 1.0, Loss.CROSS_ENTROPY: 2.0}  # so that half the derivative is slope times residual
TOLERANCE = 1e-7  # the fit has converged when a step would improve the objective by a smaller part of it
MAX_STEPS = 30
ROUGH_TOLERANCE = 1e-5  # the same for the part of a large sample that only gives a start
K_TOLERANCE = 1e-3  # relative change of K by a step that leaves less than a tenth of it
SURPRISE = 0.1  # by this part a fall may miss what was expected of it before the matrix is computed anew
STRIDE = 16  # a large sample is first fitted on every 16th block
LARGE = 4 * STRIDE * BLOCK  # rows from which that saves time


@dataclass(frozen=True)
class Step:
    """Better parameters that a fit has found, and the sums there.

    A method that moves one weight at a time gives its index, `term`, and the number of its cycle, from 1.
    """

    parameters: FitParameters
    sums: Sums
    term: int | None = None
    cycle: int | None = None
    at: float = field(default_factory=time.perf_counter)


class FitCallback:
    """Callbacks of a fit; these do nothing."""

    def stepped(self, step: Step) -> None:
        """Called when the fit has found better parameters."""

    def trying(self, term: int, parameters: FitParameters) -> None:
        """Called before the fit tries to change the weight with this index."""

    def progressed(self, what: str, done: float) -> None:
        """Called with the name of some work and the share of it that is done, 0 to 1."""


@dataclass(frozen=True)
class FitProblem:
    """The free weights, their bounds, the prior and the loss.

    `free` are the indices of the weights that may move, `bounds` is float64[weights, 2]. `spread`, float64[weights], is
    the prior's standard deviation of each weight about its `start`, in centipawns; None for no prior. `centring` is the
    matrix of `centring_of`, None where no table is to be centred: weights times it score the same. `mean_weight` is
    that of a row for the prior, None for the one in the sums.
    """

    free: np.ndarray
    bounds: np.ndarray
    fit_k: bool
    start: np.ndarray
    loss: Loss = Loss.SQUARED
    spread: np.ndarray | None = None
    centring: np.ndarray | None = None
    mean_weight: float | None = None

    def centred(self, weights: np.ndarray) -> np.ndarray:
        """The same weights with their tables centred, float64[weights]."""
        return weights if self.centring is None else np.asarray(self.centring @ weights)

    def rounded(self, parameters: FitParameters) -> FitParameters:
        """The parameters with tables centred and the free weights rounded to whole centipawns, within bounds."""
        weights, (low, high) = self.centred(parameters.weights).copy(), self.bounds[self.free].T
        weights[self.free] = np.clip(np.rint(weights[self.free]), np.ceil(low), np.floor(high))
        return replace(parameters, weights=weights + 0.0)  # no -0

    def ridge(self, sums: Sums) -> np.ndarray:
        """The factor of the squared distance from the start for each free weight, in units of the summed loss."""
        if self.spread is None:
            return np.zeros(len(self.free))
        mean_weight = mean_weight_of(sums) if self.mean_weight is None else self.mean_weight
        return NOISE[self.loss] * POSITIONS_PER_OBSERVATION * mean_weight / self.spread[self.free] ** 2

    def objective(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> float:
        """The objective at `parameters`, from their sums over every `stride`-th block."""
        distance = parameters.weights[self.free] - self.start[self.free]
        return DOUBLED[self.loss] * float(sums.loss[TRAIN]) + float(self.ridge(sums) @ distance**2) / stride

    def directions(self, parameters: FitParameters) -> np.ndarray:
        """The matrix that turns features into derivatives of score / K: float64[weights, free + 1].

        It has a column for each free weight and, at the end, one for 1 / K.
        """
        directions = np.zeros((len(parameters.weights), len(self.free) + 1))
        directions[self.free, np.arange(len(self.free))] = parameters.inverse_k / FEATURE_SCALE
        directions[:, -1] = parameters.weights / FEATURE_SCALE
        return directions

    def gradient(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> np.ndarray:
        """Half the gradient of the objective over the free weights and 1 / K: float64[free + 1]."""
        distance = parameters.weights[self.free] - self.start[self.free]
        pull = np.append(self.ridge(sums) / stride * distance, 0.0)
        return np.asarray(self.directions(parameters).T @ sums.gradient + pull)

    def matrix(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> np.ndarray:
        """The Gauss-Newton matrix over the free weights and 1 / K: float64[free + 1, free + 1]."""
        directions = self.directions(parameters)
        ridge = np.append(self.ridge(sums) / stride, 0.0)
        return np.asarray(directions.T @ sums.products @ directions + np.diag(ridge))


def mean_weight_of(sums: Sums) -> float:
    """The mean weight of a row: one that counts half has half the information."""
    return float(sums.squares / sums.sample_weight[TRAIN])


def sizes(*weights: np.ndarray) -> np.ndarray:
    """The size of each weight in centipawns: its largest absolute value in these sets, at least MIN_SIZE."""
    return np.maximum(np.max(np.abs(weights), axis=0), MIN_SIZE)


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


def strides(sample: Samples) -> tuple[int, ...]:
    """The strides of the passes: a large sample is first fitted on every STRIDE-th block, then on all."""
    return (STRIDE, 1) if sample.size >= LARGE else (1,)


def gauss_newton(sample: Samples, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The parameters that minimise the objective within bounds exactly.

    A large sample is first fitted on a part, without calls of `callback`; this saves most of the time.
    """
    *parts, whole = strides(sample)
    for stride in parts:
        start = approach(sample, start, problem, FitCallback(), stride, ROUGH_TOLERANCE)
    return approach(sample, start, problem, callback, whole)


def approach(
    sample: Samples,
    parameters: FitParameters,
    problem: FitProblem,
    callback: FitCallback,
    stride: int = 1,
    tolerance: float = TOLERANCE,
) -> FitParameters:
    """Gauss-Newton on every `stride`-th block, starting at `parameters`, until a step would gain next to nothing.

    The matrix takes most of the time of a pass. It is kept as long as steps keep what it promises.
    """
    damping = 1e-6
    sums = gather(sample, parameters, problem.loss, Detail.PRODUCTS, stride)
    best, matrix = problem.objective(sums, parameters, stride), problem.matrix(sums, parameters, stride)
    callback.stepped(Step(parameters, sums))
    for _ in range(MAX_STEPS):
        gradient = problem.gradient(sums, parameters, stride)
        candidate, expected = _step(parameters, problem, gradient, matrix, damping)
        if expected < tolerance * best:  # and such a step needs no check
            return candidate if expected > 0 else parameters
        found = gather(sample, candidate, problem.loss, Detail.GRADIENT, stride)
        fall = best - problem.objective(found, candidate, stride)
        if fall <= 0:
            damping = max(damping, 1e-6) * 16
            continue
        if abs(fall - expected) > SURPRISE * expected:
            found = gather(sample, candidate, problem.loss, Detail.PRODUCTS, stride)
            matrix = problem.matrix(found, candidate, stride)
        best, parameters, sums, damping = best - fall, candidate, found, damping / 4
        callback.stepped(Step(parameters, sums))
    return parameters


def _step(
    parameters: FitParameters, problem: FitProblem, gradient: np.ndarray, matrix: np.ndarray, damping: float
) -> tuple[FitParameters, float]:
    """The damped step, and how far the objective should fall by it.

    Weights that would leave their bounds are fixed there, and the rest is solved again.
    """
    values = np.append(parameters.weights[problem.free], parameters.inverse_k)
    low = np.append(problem.bounds[problem.free, 0], parameters.inverse_k / 3)
    high = np.append(problem.bounds[problem.free, 1], parameters.inverse_k * 3)
    damped = matrix + damping * np.diag(np.diag(matrix)) + 1e-12 * np.eye(len(values))  # a term may be in no row
    target = values.copy()
    moving = np.ones(len(values), dtype=bool)
    moving[-1] = problem.fit_k
    for _ in range(len(values)):
        clamped = target - values
        clamped[moving] = 0
        if moving.any():
            right = -(gradient + damped @ clamped)[moving]
            target[moving] = values[moving] + np.linalg.solve(damped[np.ix_(moving, moving)], right)
        outside = moving & ((target < low) | (target > high))
        if not outside.any():
            break
        target[outside] = np.clip(target[outside], low[outside], high[outside])
        moving &= ~outside
    weights = parameters.weights.copy()
    weights[problem.free] = target[:-1]
    step = target - values
    return replace(parameters, weights=weights, inverse_k=float(target[-1])), -float(
        2 * gradient @ step + step @ matrix @ step
    )


def centring_of(sample: Samples, terms: Sequence[Term], phases: int, free: np.ndarray) -> np.ndarray | None:
    """The matrix that centres the tables of weights, float64[weights, weights]; None where there is none to centre.

    A table is centred in a phase in which all its weights may move, and those that take what it has in common; `free`
    are the indices of the weights that may move.
    """
    places = {each.name: at for each, at in to_read(terms)}
    tables = [each for each, _ in to_read(terms) if isinstance(each, TermTable) and each.counts is not None]
    if not tables:
        return None
    found, counts = np.eye(phases * len(terms)), carrier_counts(sample, phases)[:, 0].astype(np.float64)
    for table in tables:
        takes_it = places.get(table.counts or "")
        if table.counts and takes_it is None:
            continue  # a derived set may lack the term
        for first in range(0, phases * len(terms), len(terms)):
            cells = _columns(places[table.name], first)
            whole = _columns(takes_it, first) if takes_it else []
            total = counts[cells].sum()
            if total and np.isin([*cells, *whole], free).all():
                mean = counts[cells] @ found[cells] / total
                found[cells] -= mean
                if takes_it:
                    found[whole] += mean * table.group.multiplier / terms[takes_it.start].group.multiplier
    return found


def _columns(at: slice, first: int) -> list[int]:
    """The columns of a term or table in the phase whose weights begin at `first`."""
    return list(range(first + at.start, first + at.stop))
