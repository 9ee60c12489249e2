"""What every rule of a tune shares: settings, state, a pair, and what makes a method.

A pair plays two vectors `plus` and `minus` against each other, both colours from one opening; `y` is wins minus losses
of `plus`, -2..2. The model: y = 2 tanh(x / 2) + noise of deviation tau, where x = sum A_i (t_i - m_i) with the optimum
t, the middle m of both vectors and A_i = (plus_i - minus_i) / sigma_i^2. The vectors may be rounded, clipped or made
from an older estimate, so late results and batches need no special treatment. sigma_i is the width of the strength
curve: the Elo lost at distance d is d^2 / (2 beta sigma_i^2), beta = ln 10 / 400.

After Ivec and Vojnovic, "Bayesian statistics approach to chess engines optimization", arXiv:2205.15602; numbers in
parentheses are their equations, here and in `tune.methods`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from merino.core.compiled.jit import kernel
from merino.match.statistics import Z_95

OUTSIDE = 0.05  # with what probability an optimum is outside its interval
BETA = math.log(10) / 400  # turns a small Elo difference into log-odds, and into the expected y of a pair
ALPHA, GAMMA = 0.602, 0.101  # how fast SPSA's step and the perturbation of most methods shrink (17)
MAX_PERTURBATION = 3.43  # of other methods, in units of c_end: the paper's first one, 200,000^0.101
FIRST_TAU2, FIRST_TAU2_PAIRS = 1.1, 20.0  # variance of y at 40% draws, and how many pairs this guess is worth


class EstimatorSettings(NamedTuple):
    """The settings of a method, constant during a run; arrays are float64[d] in the parameters' own units.

    `c_end` and `r_end` are perturbation and step size at the last of `pairs` pairs, `sigma` the width of the strength
    curve, `sigma_0` the expected deviation of the optimum from the start, `whole` which parameters are
    integers (bool[d]), `tau` the deviation of y, 0 to estimate it. `method` is a number of `tune.methods`, `bank` its
    filters, float64[filters, n].
    """

    method: int
    pairs: int
    tau: float
    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray
    c_end: np.ndarray
    r_end: np.ndarray
    sigma: np.ndarray
    sigma_0: np.ndarray
    bank: np.ndarray


class State(NamedTuple):
    """The state of a method. Unused arrays have length 0.

    `moments` float64[2]: pairs so far, sum of y^2. `mean`, `bias` float64[filters, d]: the optimum, and at what
    distance from it both players of the largest perturbation are equal. `spread` float64[filters, 3, d]: variance of
    the mean, its covariance with the bias, variance of the bias. `covariance` float64[d, d], of the mean. `evidence`
    float64[filters]: the log-odds of the filter, and the log-likelihood of the results. `beliefs` float64[BELIEFS, d,
    hypotheses], see `tune.beliefs`, in distances of the optimum from `start`, float64[d]; `plan` float64[2, d], see
    `tune.beliefs`; `schedule` float64[4], of the method's own.
    """

    moments: np.ndarray
    mean: np.ndarray
    bias: np.ndarray
    spread: np.ndarray
    covariance: np.ndarray
    evidence: np.ndarray
    beliefs: np.ndarray
    plan: np.ndarray
    schedule: np.ndarray
    start: np.ndarray


class ExpectedGain(NamedTuple):
    """What the estimate is worth against the start, in Elo: its mean and its standard deviation."""

    mean: float
    deviation: float

    @property
    def low(self) -> float:
        """The lower end of its 95% interval."""
        return self.mean - Z_95 * self.deviation

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + Z_95 * self.deviation


class PairResult(NamedTuple):
    """A pair that was played: its number from 1, both vectors, and wins minus losses of `plus`."""

    number: int
    plus: np.ndarray
    minus: np.ndarray
    y: float


def state_of(settings: EstimatorSettings, estimate: np.ndarray, **arrays: np.ndarray) -> State:
    """The state before the first pair, with the `estimate`, float64[d], and the method's own arrays of State."""
    size, filters = len(estimate), len(settings.bank)
    unused = {
        "bias": np.zeros((0, size)),
        "spread": np.zeros((0, 3, size)),
        "covariance": np.zeros((0, 0)),
        "beliefs": np.zeros((0, size, 0)),
        "plan": np.zeros((0, size)),
        "schedule": np.zeros(0),
        "start": np.zeros(0),
    }
    filtered = {
        "mean": np.tile(np.asarray(estimate, dtype=np.float64), (filters, 1)),
        "evidence": settings.bank[:, 3].copy(),
    }
    return State(**{"moments": np.zeros(2)} | unused | filtered | arrays)


@kernel
def shrinking(pairs, number):
    """The factor of c_end at pair `number` of `pairs`: (17), 1 at the last pair."""
    return (pairs / number) ** GAMMA


@kernel
def shrinking_place(settings, state, number, random, middle, reach):
    """The perturbations of pair `number` about the estimate, as fishtest has them; draws nothing from `random`."""
    for i in range(len(reach)):
        reach[i] = settings.c_end[i] * shrinking(settings.pairs, number)


@kernel
def slope(sigma, plus, minus, i):
    """A_i of (6) for any two vectors: how much ln(win / loss) grows per unit of the optimum."""
    return (plus[i] - minus[i]) / (sigma[i] * sigma[i])


@kernel
def innovation(sigma, mean, plus, minus, y):
    """The result minus the prediction of `mean`, float64[1, d], to first order."""
    for i in range(len(plus)):
        y -= slope(sigma, plus, minus, i) * (mean[0, i] - 0.5 * (plus[i] + minus[i]))
    return y


@kernel
def write_mean(settings, state, theta):
    """Put the estimate into `theta`, float64[d]: the mean of the filters by their evidence, clipped to the bounds."""
    mean, evidence = state.mean, state.evidence
    filters, size = mean.shape
    best, total = evidence[0], 0.0
    for index in range(1, filters):
        best = max(best, evidence[index])
    for i in range(size):
        theta[i] = 0.0
    for index in range(filters):
        if evidence[index] > best - 30.0:  # the others count for less than 1e-13
            share = np.exp(evidence[index] - best)
            total += share
            for i in range(size):
                theta[i] += share * mean[index, i]
    for i in range(size):
        theta[i] = min(max(theta[i] / total, settings.low[i]), settings.high[i])


@dataclass(frozen=True, eq=False)
class Method:
    """The rule that makes the next estimate from a result: one file of `tune.methods`.

    `update(settings, state, number, plus, minus, y, tau2)`, a kernel, changes `mean` and the method's own arrays of the
    state by the result `y` of pair `number`; `tau2` is the variance of y. `prepare` makes the state before the first
    pair. `place(settings, state, number, random, middle, reach)`, a kernel, fills `reach`, float64[d], with the
    perturbations of pair `number`, and may move `middle`, which is the estimate; `random` moves on where it draws.

    What it knows of its errors: `deviations(settings, state)`, the posterior standard deviations, float64[d];
    `intervals(settings, state)`, float64[2, d], which the optimum is in with 95%; and `gain(settings, state)` over the
    start. None where it knows none, or where those follow from the deviations.

    `bank` are its filters, float64[filters, n]; of those of 4 numbers the last is the log-odds at the start. `version`
    rises when it plays other pairs than before. `always_differ`: players of an integer do, however small c_end is.
    """

    name: str
    sentence: str  # what it does with a result
    update: Any
    prepare: Callable[[EstimatorSettings, np.ndarray], State] = state_of
    deviations: Callable[[EstimatorSettings, State], np.ndarray] | None = None
    place: Any = shrinking_place
    bank: np.ndarray = field(default_factory=lambda: np.zeros((1, 4)))
    version: int = 1
    intervals: Callable[[EstimatorSettings, State], np.ndarray] | None = None
    gain: Callable[[EstimatorSettings, State], ExpectedGain] | None = None
    always_differ: bool = False
