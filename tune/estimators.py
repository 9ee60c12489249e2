"""The update rules: state in, result of a pair of games in, state out. One definition for games and for simulation.

A pair plays two vectors `plus` and `minus` against each other, both colours from one opening; `y` is wins minus losses
of `plus`, -2..2. The model: y = 2 tanh(x / 2) + noise of deviation tau, where x = sum A_i (t_i - m_i) with the optimum
t, the middle m of both vectors and A_i = (plus_i - minus_i) / sigma_i^2. The vectors may be rounded, clipped or made
from an older estimate, so late results and batches need no special treatment. sigma_i is the width of the strength
curve: the Elo lost at distance d is d^2 / (2 beta sigma_i^2), beta = ln 10 / 400.

After Ivec and Vojnovic, "Bayesian statistics approach to chess engines optimization", arXiv:2205.15602; numbers in
parentheses are their equations. SPSA is Spall's, with the parameters c and r of fishtest.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from merino.inner.core.compiled.jit import entry, kernel

ALPHA, GAMMA = 0.602, 0.101  # how fast SPSA's step and the perturbation of every method shrink (17)
STABILITY_SHARE = 0.1  # A of (17) as a share of all pairs
FIRST_TAU2, FIRST_TAU2_PAIRS = 1.1, 20.0  # variance of y at 40% draws, and how many pairs this guess is worth


class Method(IntEnum):
    """The rule that makes the next estimate from a result."""

    SPSA = 0
    BSPSAS = 1
    BSPSA = 2
    AUTO = 3


# As globals like these, kernels treat them as constants.
_SPSA, _BSPSAS, _BSPSA = int(Method.SPSA), int(Method.BSPSAS), int(Method.BSPSA)

# The handicap of a filter of AUTO, in log-odds: for a lopsided curve, and for a curvature other than the one
# stated. Without it, a short tune on an even curve would follow filters that it does not need.
LOPSIDED_ODDS, CURVATURE_ODDS = -4.0, -3.0
# The filters of AUTO: deviation of the bias as a share of the largest perturbation, the power of the perturbation that
# the bias grows with, by what the stated curvature is multiplied, and the log-odds before the first pair.
BANK = np.array(
    [
        (spread, power, multiplier, LOPSIDED_ODDS * (spread > 0) + CURVATURE_ODDS * (multiplier != 1))
        for multiplier in (0.3, 1.0, 3.0)
        for spread, power in ((0.0, 1.0), (0.04, 1.0), (0.2, 1.0), (0.04, 2.0), (0.2, 2.0))
    ]
)
MAX_WIDTH = 3.43  # AUTO's largest perturbation in units of c_end: the paper's first one, 200,000^0.101
LEVELS = np.array([1.0, 0.5, 0.25])  # AUTO's perturbations as shares of the largest
LEVEL_SHARES = np.array([0.3, 0.3, 0.4])  # how often each is played


class EstimatorSettings(NamedTuple):
    """The settings of a method, constant during a run; arrays are float64[d] in the parameters' own units.

    `c_end` and `r_end` are perturbation and step size at the last of `pairs` pairs, `sigma` the width of the strength
    curve, `sigma_0` the expected deviation of the optimum from the start, `whole` which parameters are
    integers (bool[d]), `tau` the deviation of y, 0 to estimate it. `bank` is float64[filters, 4], see BANK.
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
    float64[filters]: the log-odds of the filter, and the log-likelihood of the results.
    """

    moments: np.ndarray
    mean: np.ndarray
    bias: np.ndarray
    spread: np.ndarray
    covariance: np.ndarray
    evidence: np.ndarray


class PairResult(NamedTuple):
    """A pair that was played: its number from 1, both vectors, and wins minus losses of `plus`."""

    number: int
    plus: np.ndarray
    minus: np.ndarray
    y: float


def initial_state(settings: EstimatorSettings, start: np.ndarray) -> State:
    """The state before the first pair, with the estimate `start`, float64[d]."""
    size, filters = len(start), len(settings.bank)
    variance = settings.sigma_0**2
    spread, covariance, bias = np.zeros((0, 3, size)), np.zeros((0, 0)), np.zeros((0, size))
    if settings.method == Method.BSPSA:
        covariance = np.diag(variance)
    elif settings.method != Method.SPSA:
        spread, bias = np.zeros((filters, 3, size)), np.zeros((filters, size))
        spread[:, 0] = variance
        spread[:, 2] = (settings.bank[:, :1] * settings.c_end * MAX_WIDTH) ** 2
    mean = np.tile(np.asarray(start, dtype=np.float64), (filters, 1))
    return State(np.zeros(2), mean, bias, spread, covariance, settings.bank[:, 3].copy())


def after(settings: EstimatorSettings, state: State, result: PairResult) -> State:
    """The state after one more pair; the old state is unchanged."""
    new = State(*(array.copy() for array in state))
    _absorb_one(settings, new, result.number, result.plus, result.minus, result.y)
    return new


def estimate(settings: EstimatorSettings, state: State) -> np.ndarray:
    """The best estimate of the optimum within the bounds, float64[d]."""
    theta = np.empty(state.mean.shape[1])
    _estimate_one(settings, state, theta)
    return theta


def noise_now(settings: EstimatorSettings, state: State) -> float:
    """The variance of y used for the next result."""
    return float(_noise_one(settings, state))


def deviations(settings: EstimatorSettings, state: State) -> np.ndarray:
    """The posterior standard deviation of each parameter, float64[d]; NaN for SPSA, which has none."""
    if settings.method == Method.SPSA:
        return np.full(len(settings.low), np.nan)
    if settings.method == Method.BSPSA:
        return np.sqrt(np.diag(state.covariance))
    shares = np.exp(state.evidence - state.evidence.max())
    shares = shares[:, None] / shares.sum()
    mean = (shares * state.mean).sum(axis=0)
    return np.sqrt((shares * (state.spread[:, 0] + (state.mean - mean) ** 2)).sum(axis=0))


@entry
def _absorb_one(settings, state, number, plus, minus, y):
    absorb(settings, state, number, plus, minus, y)


@entry
def _estimate_one(settings, state, theta):
    write_estimate(settings, state, theta)


@entry
def _noise_one(settings, state):
    return noise(settings, state)


@kernel
def absorb(settings, state, number, plus, minus, y):
    """Change `state` by the result `y` of pair `number`; `plus` and `minus` are float64[d]."""
    tau2 = noise(settings, state)
    if settings.method == _SPSA:
        _step(settings, state.mean, number, plus, minus, y)
    elif settings.method == _BSPSAS:
        _update_alone(settings, state.mean, state.spread, plus, minus, y, tau2)
    elif settings.method == _BSPSA:
        _update_jointly(settings, state.mean, state.covariance, plus, minus, y, tau2)
    else:
        _update_bank(settings, state, plus, minus, y, tau2)
    state.moments[0] += 1.0
    state.moments[1] += y * y


@kernel
def noise(settings, state):
    """The variance of y: as given, or estimated from the pairs so far."""
    if settings.tau > 0.0:
        return settings.tau * settings.tau
    return (FIRST_TAU2 * FIRST_TAU2_PAIRS + state.moments[1]) / (FIRST_TAU2_PAIRS + state.moments[0])


@kernel
def write_estimate(settings, state, theta):
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


@kernel
def shrinking(pairs, number):
    """The factor of c_end at pair `number` of `pairs`: (17), 1 at the last pair."""
    return (pairs / number) ** GAMMA


@kernel
def _step(settings, mean, number, plus, minus, y):
    """SPSA: r_n y times half the difference played, where r_n = a_n / c_n^2 (17)."""
    stability = STABILITY_SHARE * settings.pairs
    fading = ((stability + settings.pairs) / (stability + number)) ** ALPHA / shrinking(settings.pairs, number) ** 2
    for i in range(len(plus)):
        moved = mean[0, i] + settings.r_end[i] * fading * 0.5 * (plus[i] - minus[i]) * y
        mean[0, i] = min(max(moved, settings.low[i]), settings.high[i])


@kernel
def _slope(sigma, plus, minus, i):
    """A_i of (6) for any two vectors: how much ln(win / loss) grows per unit of the optimum."""
    return (plus[i] - minus[i]) / (sigma[i] * sigma[i])


@kernel
def _innovation(sigma, mean, plus, minus, y):
    """The result minus the prediction of `mean`, float64[1, d], to first order."""
    for i in range(len(plus)):
        y -= _slope(sigma, plus, minus, i) * (mean[0, i] - 0.5 * (plus[i] + minus[i]))
    return y


@kernel
def _update_alone(settings, mean, spread, plus, minus, y, tau2):
    """BSPSAS: updates each parameter as if the others were known, (9) and (10).

    It leaves out the sum of (9) over the other parameters, which is noise that grows with the distance from the origin.
    """
    sigma = settings.sigma
    surprise = _innovation(sigma, mean, plus, minus, y)
    for i in range(len(plus)):
        slope, variance = _slope(sigma, plus, minus, i), spread[0, 0, i]
        share = 1.0 / (tau2 + slope * slope * variance)
        mean[0, i] += slope * variance * surprise * share
        spread[0, 0, i] = variance * tau2 * share


@kernel(makes_arrays=True)
def _update_jointly(settings, mean, covariance, plus, minus, y, tau2):
    """BSPSA: (13) to (16), with the inverse updated by the Sherman-Morrison formula."""
    sigma = settings.sigma
    surprise = _innovation(sigma, mean, plus, minus, y)
    size = len(plus)
    gain = np.zeros(size)
    for i in range(size):
        slope = _slope(sigma, plus, minus, i)
        for j in range(size):
            gain[j] += slope * covariance[i, j]
    variance = tau2
    for i in range(size):
        variance += _slope(sigma, plus, minus, i) * gain[i]
    for i in range(size):
        share = gain[i] / variance
        mean[0, i] += share * surprise
        for j in range(size):
            covariance[i, j] -= share * gain[j]


@kernel(makes_arrays=True)
def _update_bank(settings, state, plus, minus, y, tau2):
    """AUTO: every filter sees the pair, and its evidence records how well it predicted the result."""
    size = len(plus)
    seen, gains = np.empty((4, size)), np.empty((4, size))
    for i in range(size):
        reach = 0.5 * abs(plus[i] - minus[i]) / (settings.c_end[i] * MAX_WIDTH)
        seen[_SLOPE, i] = _slope(settings.sigma, plus, minus, i)
        seen[_MIDDLE, i] = 0.5 * (plus[i] + minus[i])
        seen[_REACH, i] = reach
        seen[_REACH_2, i] = reach * reach
    for index in range(len(state.mean)):
        _update_filter(state.mean, state.bias, state.spread, state.evidence, settings.bank, index, seen, gains, y, tau2)


# Rows of `seen`, what is known of a pair by parameter: A_i, the middle of both vectors, and c over the largest c to the
# powers 1 and 2. Rows of `gains`, of one filter: how much mean and bias gain with the surprise, and two sums by term.
_SLOPE, _MIDDLE, _REACH, _REACH_2 = range(4)
_MEAN, _BIAS, _EXPECTED, _KNOWN = range(4)


@kernel
def _update_filter(means, biases, spreads, evidence, bank, f, seen, gains, y, tau2):
    """Filter `f` of the bank: an estimate and a bias for each parameter, and their 2 x 2 covariance.

    The players of perturbation c are equal not at the optimum but at a distance of bias * (c / largest c)^power from
    it; this describes a lopsided strength curve. There are many loops, as LLVM vectorises only those with few arrays.
    """
    size, multiplier = seen.shape[1], bank[f, 2]
    power = _REACH if bank[f, 1] == 1.0 else _REACH_2
    for i in range(size):
        gains[_MEAN, i] = seen[_SLOPE, i] * (spreads[f, 0, i] + seen[power, i] * spreads[f, 1, i])
    for i in range(size):
        gains[_BIAS, i] = seen[_SLOPE, i] * (spreads[f, 1, i] + seen[power, i] * spreads[f, 2, i])
    for i in range(size):
        gains[_EXPECTED, i] = seen[_SLOPE, i] * (means[f, i] + seen[power, i] * biases[f, i] - seen[_MIDDLE, i])
    for i in range(size):
        gains[_KNOWN, i] = seen[_SLOPE, i] * (gains[_MEAN, i] + seen[power, i] * gains[_BIAS, i])
    expected, known = 0.0, 0.0
    for i in range(size):
        expected += gains[_EXPECTED, i]
        known += gains[_KNOWN, i]
    surprise = y - 2.0 * np.tanh(0.5 * multiplier * expected)
    variance = tau2 + multiplier * multiplier * known
    evidence[f] -= 0.5 * (surprise * surprise / variance + np.log(variance))
    step, share = multiplier * surprise / variance, multiplier * multiplier / variance
    for i in range(size):
        means[f, i] += gains[_MEAN, i] * step
        spreads[f, 0, i] -= gains[_MEAN, i] * gains[_MEAN, i] * share
    for i in range(size):
        spreads[f, 1, i] -= gains[_MEAN, i] * gains[_BIAS, i] * share
    for i in range(size):
        biases[f, i] += gains[_BIAS, i] * step
        spreads[f, 2, i] -= gains[_BIAS, i] * gains[_BIAS, i] * share
