"""What every rule of a tune shares: settings, state, a pair, and what makes a method.

A pair plays two vectors `plus` and `minus` against each other, both colours from one opening; `y` is wins minus losses
of `plus`, -2..2. The model: y = 2 tanh(x / 2) + noise of deviation tau, where x = sum A_i (t_i - m_i) with the optimum
t, the middle m of both vectors and A_i = (plus_i - minus_i) / sigma_i^2. The vectors may be rounded, clipped or made
from an older estimate, so late results and batches need no special treatment. sigma_i is the width of the strength
curve: the Elo lost at distance d is d^2 / (2 beta sigma_i^2), beta = ln 10 / 400.

After Ivec and Vojnovic, "Bayesian statistics approach to chess engines optimization", arXiv:2205.15602; numbers in
parentheses are their equations, here and in `lab.tune.methods`.
"""

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
FIRST_TAU2, FIRST_TAU2_PAIRS = 1.1, 20.0  # the prior variance of y, at 40% draws, and its weight in pairs


class EstimatorSettings(NamedTuple):
    """The settings of a method, constant during a run; arrays are float64[d] in the parameters' own units.

    `c_end` and `r_end` are perturbation and step size at the last of `pairs` pairs, `sigma` the width of the strength
    curve, `sigma_0` the expected deviation of the optimum from the start, `whole` which parameters are
    integers (bool[d]), `tau` the deviation of y, 0 to estimate it. `method` is the place of the method's name in the
    alphabet, `bank` its hypotheses, float64[hypotheses, n].
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
    """The state of a method; arrays of other methods have length 0.

    `moments` float64[2]: pairs so far, sum of y^2. `mean` float64[hypotheses, d]: the optimum; `evidence`
    float64[hypotheses]: the log-odds of a hypothesis given the results. `spread` float64[1, 3, d]: of BSPSAS, whose
    first row is the variance of the mean. `covariance` float64[d, d]: of BSPSA. Of ADAPTIVE: `beliefs` float64[BELIEFS,
    d, hypotheses], in distances of the optimum from `start`, float64[d]; `plan` float64[2, d]; `schedule` float64[4].
    """

    moments: np.ndarray
    mean: np.ndarray
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
    """The state before the first pair, with the `estimate`, float64[d], and the method's own arrays."""
    size, hypotheses = len(estimate), len(settings.bank)
    usual = {
        "moments": np.zeros(2),
        "mean": np.tile(np.asarray(estimate, dtype=np.float64), (hypotheses, 1)),
        "spread": np.zeros((0, 3, size)),
        "covariance": np.zeros((0, 0)),
        "evidence": np.zeros(hypotheses),
        "beliefs": np.zeros((0, size, 0)),
        "plan": np.zeros((0, size)),
        "schedule": np.zeros(0),
        "start": np.zeros(0),
    }
    return State(**usual | arrays)


@kernel
def noise(tau, pairs, squares):
    """The variance of y: as stated, or for a `tau` of 0 estimated from so many pairs and the sum of their squares."""
    if tau > 0.0:
        return tau * tau
    return (FIRST_TAU2 * FIRST_TAU2_PAIRS + squares) / (FIRST_TAU2_PAIRS + pairs)


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
def greatest(numbers):
    """The greatest of float64[n]."""
    found = numbers[0]
    for index in range(1, len(numbers)):
        found = max(found, numbers[index])
    return found


@kernel
def write_mean(settings, state, theta):
    """Write the estimate to `theta`, float64[d]: the mean of the hypotheses by their evidence, within the bounds."""
    mean, evidence = state.mean, state.evidence
    filters, size = mean.shape
    best, total = greatest(evidence), 0.0
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
    """The rule that makes the next estimate from a result: one module of `lab.tune.methods`.

    `update(settings, state, number, plus, minus, y, tau2)`, a kernel, changes the state's `mean` and the method's own
    arrays by the result `y` of pair `number`; `tau2` is the variance of y. `prepare` makes the state before the first
    pair. `place(settings, state, number, random, middle, reach)`, a kernel, fills `reach`, float64[d], with the
    perturbations of pair `number`, and may move `middle`, which is the estimate; `random` moves on where it draws.

    `deviations(settings, state)`, float64[d], are those of the posterior; `intervals(settings, state)`, float64[2, d],
    have the optimum with 95%; `gain(settings, state)` is the gain over the start. None where the method knows none, or
    where they follow from the deviations.

    `bank` are the hypotheses, float64[hypotheses, n]. `version` rises when a method plays other pairs than before.
    """

    name: str
    sentence: str  # what it does with a result
    update: Any
    prepare: Callable[[EstimatorSettings, np.ndarray], State] = state_of
    deviations: Callable[[EstimatorSettings, State], np.ndarray] | None = None
    place: Any = shrinking_place
    bank: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    version: int = 1
    intervals: Callable[[EstimatorSettings, State], np.ndarray] | None = None
    gain: Callable[[EstimatorSettings, State], ExpectedGain] | None = None
