"""Fitting the weights and K: what is minimised, and the default way, damped Gauss-Newton.

What is minimised is the summed loss of the training set plus a pull to the starting weights. The pull is that of a
normal prior about them: it is fixed while the loss grows with every game, so it fades as games are added. K is
1 / `inverse_k`; it is fitted together with the weights where material is frozen, since then only it can scale them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from learn.passes import TRAIN, Samples, Sums, gather
from learn.positions import FEATURE_SCALE
from learn.sample import FitParameters, Loss
from learn.shares import BLOCK

POSITIONS_PER_OBSERVATION = 10  # the positions of a game are far from independent
SPREAD, SPREAD_AT = 0.25, 300  # of `prior_spread`, at how many games: what predicts other games best, measured
LEAST_SIZE = 10.0  # centipawns: a smaller weight is taken to be of this size
NOISE = {Loss.SQUARED: 0.1, Loss.CROSS_ENTROPY: 1.0}  # the variance of a residual
DOUBLED = {Loss.SQUARED: 1.0, Loss.CROSS_ENTROPY: 2.0}  # so that half the derivative is slope times residual
TOLERANCE = 1e-7  # relative improvement below which the fit has converged
STRIDE = 16  # of the blocks that a first approach on a large sample uses
LARGE = 4 * STRIDE * BLOCK  # rows from which a first approach pays


@dataclass(frozen=True)
class Step:
    """Better parameters that a fit has reached, and the sums there.

    A fit that moves one weight at a time says which one, by its index, and in which cycle through them, from 1.
    """

    parameters: FitParameters
    sums: Sums
    term: int | None = None
    cycle: int | None = None
    at: float = field(default_factory=time.perf_counter)


class FitCallback:
    """What a fit calls as it goes; this one does nothing."""

    def stepped(self, step: Step) -> None:
        """The fit has reached better parameters."""

    def trying(self, term: int, parameters: FitParameters) -> None:
        """The fit turns to the weight with this index."""

    def progressed(self, what: str, done: float) -> None:
        """So much, 0 to 1, of some work is done."""


@dataclass(frozen=True)
class FitProblem:
    """What may move and what it costs.

    `free` are the indices of the weights that may move, `bounds` is float64[weights, 2]. `spread`, float64[weights], is
    the standard deviation of each weight about its `start` before any game is seen, in centipawns; None for no pull.
    """

    free: np.ndarray
    bounds: np.ndarray
    fit_k: bool
    start: np.ndarray
    loss: Loss = Loss.SQUARED
    spread: np.ndarray | None = None

    def ridge(self, sums: Sums) -> np.ndarray:
        """The pull on each free weight, in units of the summed loss, for sample weights as in `sums`."""
        if self.spread is None:
            return np.zeros(len(self.free))
        mean_weight = sums.squares / sums.sample_weight[TRAIN]  # a row that counts half has half the information
        return NOISE[self.loss] * POSITIONS_PER_OBSERVATION * mean_weight / self.spread[self.free] ** 2

    def objective(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> float:
        """What the fit minimises, from the sums at `parameters` over every `stride`-th block."""
        distance = parameters.weights[self.free] - self.start[self.free]
        return DOUBLED[self.loss] * float(sums.loss[TRAIN]) + float(self.ridge(sums) @ distance**2) / stride

    def directions(self, parameters: FitParameters) -> np.ndarray:
        """What features are to be multiplied by for the derivatives of score / K by each free weight and by 1 / K.

        float64[weights, free + 1].
        """
        directions = np.zeros((len(parameters.weights), len(self.free) + 1))
        directions[self.free, np.arange(len(self.free))] = parameters.inverse_k / FEATURE_SCALE
        directions[:, -1] = parameters.weights / FEATURE_SCALE
        return directions

    def system(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Half the gradient of the objective and its Gauss-Newton matrix, over the free weights and 1 / K."""
        assert sums.products is not None
        directions = self.directions(parameters)
        gradient = directions.T @ sums.products[:-1, -1]
        matrix = directions.T @ sums.products[:-1, :-1] @ directions
        ridge = np.append(self.ridge(sums) / stride, 0.0)
        distance = np.append(parameters.weights[self.free] - self.start[self.free], 0.0)
        return gradient + ridge * distance, matrix + np.diag(ridge)


def prior_spread(games: int) -> float:
    """The standard deviation of a weight about its start, in units of its size, that suits a training set.

    It grows with the root of the games, so that the pull fades twice: against the loss, and by itself.
    """
    return SPREAD * float(np.sqrt(games / SPREAD_AT))


def sizes(*weights: np.ndarray) -> np.ndarray:
    """The size of each weight in centipawns: its largest value in any of these sets, and never too little."""
    return np.maximum(np.max(np.abs(weights), axis=0), LEAST_SIZE)


def fit_k(sample: Samples, weights: np.ndarray, loss: Loss = Loss.SQUARED, start: float = 1 / 200) -> FitParameters:
    """The parameters with these weights and the K that predicts the training set best."""
    parameters = FitParameters(np.asarray(weights, dtype=np.float64), start)
    for stride in strides(sample):
        for _ in range(20):
            sums = gather(sample, parameters, loss, products=False, stride=stride)
            change = -sums.k_slope / max(sums.k_curvature, 1e-30)
            inverse_k = float(
                np.clip(parameters.inverse_k + change, parameters.inverse_k / 3, parameters.inverse_k * 3)
            )
            converged = abs(inverse_k - parameters.inverse_k) < 1e-4 * parameters.inverse_k
            parameters = replace(parameters, inverse_k=float(np.clip(inverse_k, 1e-5, 1.0)))
            if converged:
                break
    return parameters


def strides(sample: Samples) -> tuple[int, ...]:
    """On which parts of a sample to work in turn: every so many blocks of a large one, then all."""
    return (STRIDE, 1) if sample.size >= LARGE else (1,)


def gauss_newton(sample: Samples, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The parameters that minimise the objective within bounds exactly.

    A first approach on a part of a large sample, which nobody is told of, saves most of the time.
    """
    parameters = start
    for stride in strides(sample):
        parameters = approach(sample, parameters, problem, callback if stride == 1 else FitCallback(), stride)
    return parameters


def approach(
    sample: Samples,
    parameters: FitParameters,
    problem: FitProblem,
    callback: FitCallback,
    stride: int = 1,
    steps: int = 30,
) -> FitParameters:
    """Gauss-Newton on every `stride`-th block from parameters that may be near the end already."""
    damping = 1e-6
    best, best_sums = np.inf, None
    candidate = parameters
    for _ in range(steps):
        sums = gather(sample, candidate, problem.loss, stride=stride)
        value = problem.objective(sums, candidate, stride)
        if value < best or best_sums is None:
            improvement = (best - value) / best if np.isfinite(best) else 1.0
            best, best_sums, parameters, damping = value, sums, candidate, damping / 4
            callback.stepped(Step(parameters, sums))
            if improvement < TOLERANCE:
                break
        else:
            damping = max(damping, 1e-6) * 16
            if damping > 1e6:
                break
        candidate = _step(parameters, problem, *problem.system(best_sums, parameters, stride), damping)
    return parameters


def _step(
    parameters: FitParameters, problem: FitProblem, gradient: np.ndarray, matrix: np.ndarray, damping: float
) -> FitParameters:
    """The damped step; weights that would leave their bounds are held there and the rest solved again."""
    values = np.append(parameters.weights[problem.free], parameters.inverse_k)
    low = np.append(problem.bounds[problem.free, 0], parameters.inverse_k / 3)
    high = np.append(problem.bounds[problem.free, 1], parameters.inverse_k * 3)
    matrix = matrix + damping * np.diag(np.diag(matrix)) + 1e-12 * np.eye(len(values))  # a term may be in no row
    target = values.copy()
    moving = np.ones(len(values), dtype=bool)
    moving[-1] = problem.fit_k
    for _ in range(len(values)):
        clamped = target - values
        clamped[moving] = 0
        if moving.any():
            right = -(gradient + matrix @ clamped)[moving]
            target[moving] = values[moving] + np.linalg.solve(matrix[np.ix_(moving, moving)], right)
        outside = moving & ((target < low) | (target > high))
        if not outside.any():
            break
        target[outside] = np.clip(target[outside], low[outside], high[outside])
        moving &= ~outside
    weights = parameters.weights.copy()
    weights[problem.free] = target[:-1]
    return FitParameters(weights, float(target[-1]))
