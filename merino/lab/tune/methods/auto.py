"""AUTO: a bank of filters, each with its own idea of the strength curve, weighed by how well they predict."""

from __future__ import annotations

import numpy as np

from merino.core.compiled.jit import kernel
from merino.lab.tune.rules import MAX_PERTURBATION, EstimatorSettings, Method, State, slope, state_of
from merino.match.games import next_index

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
LEVELS = np.array([1.0, 0.5, 0.25])  # AUTO's perturbations as shares of the largest
LEVEL_SHARES = np.array([0.3, 0.3, 0.4])  # how often each is played


def _prepare(settings: EstimatorSettings, start: np.ndarray) -> State:
    size, filters = len(start), len(settings.bank)
    spread = np.zeros((filters, 3, size))
    spread[:, 0] = settings.sigma_0**2
    spread[:, 2] = (settings.bank[:, :1] * settings.c_end * MAX_PERTURBATION) ** 2
    return state_of(settings, start, spread=spread, bias=np.zeros((filters, size)))


def _deviations(settings: EstimatorSettings, state: State) -> np.ndarray:
    shares = np.exp(state.evidence - state.evidence.max())
    shares = shares[:, None] / shares.sum()
    mean = (shares * state.mean).sum(axis=0)
    return np.sqrt((shares * (state.spread[:, 0] + (state.mean - mean) ** 2)).sum(axis=0))


@kernel
def _place(settings, state, number, random, middle, reach):
    """One of the perturbations of AUTO, at random."""
    width = MAX_PERTURBATION * LEVELS[next_index(random, LEVEL_SHARES)]
    for i in range(len(reach)):
        reach[i] = settings.c_end[i] * width


@kernel(makes_arrays=True)
def _update_bank(settings, state, number, plus, minus, y, tau2):
    """AUTO: every filter sees the pair, and its evidence records how well it predicted the result."""
    size = len(plus)
    seen, gains = np.empty((4, size)), np.empty((4, size))
    for i in range(size):
        reach = 0.5 * abs(plus[i] - minus[i]) / (settings.c_end[i] * MAX_PERTURBATION)
        seen[_SLOPE, i] = slope(settings.sigma, plus, minus, i)
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


SENTENCE = (
    f"{len(BANK)} filters like those of `bspsas` at once, with wide perturbations that do not shrink; those that "
    "predict the results best decide"
)
METHOD = Method("auto", SENTENCE, _update_bank, _prepare, _deviations, _place, BANK, version=2)  # 1 played other pairs
