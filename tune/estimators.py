"""The rules of a tune by the method of its settings: state in, result of a pair in, state out.

One definition for games and for simulation; `tune.rules` has the model, `tune.methods` the methods.
"""

import numpy as np
from numba import literal_unroll

from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.tune.methods import METHODS, method_of
from merino.inner.tune.rules import EstimatorSettings, PairResult, State

FIRST_TAU2, FIRST_TAU2_PAIRS = 1.1, 20.0  # variance of y at 40% draws, and how many pairs this guess is worth
_UPDATES = tuple(method.update for method in METHODS.values())
_WIDTHS = tuple(method.width for method in METHODS.values())


def initial_state(settings: EstimatorSettings, start: np.ndarray) -> State:
    """The state before the first pair, with the estimate `start`, float64[d]."""
    return method_of(settings.method).prepare(settings, start)


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
    """The posterior standard deviation of each parameter, float64[d]; NaN for a method that has none."""
    find = method_of(settings.method).deviations
    return np.full(len(settings.low), np.nan) if find is None else find(state)


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
    tau2, method = noise(settings, state), 0
    for update in literal_unroll(_UPDATES):
        if method == settings.method:
            update(settings, state, number, plus, minus, y, tau2)
        method += 1
    state.moments[0] += 1.0
    state.moments[1] += y * y


@kernel
def perturbation(settings, number, random):
    """The perturbation of pair `number` over c_end; `random` moves on where the method draws it."""
    found, method = 0.0, 0
    for width in literal_unroll(_WIDTHS):
        if method == settings.method:
            found = width(settings, number, random)
        method += 1
    return found


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
