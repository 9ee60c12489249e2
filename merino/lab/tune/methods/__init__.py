"""The methods of a tune, one in each module of this folder, which is all that a new one needs; and the rules by them.

A module sets METHOD. The rules make the players of a pair from the state, and the state from its result: one definition
for games and for simulation. `lab.tune.rules` has the model.
"""

import pkgutil
from importlib import import_module
from statistics import NormalDist

import numpy as np

from merino.core.compiled.jit import Later, entry, kernel
from merino.lab.tune import rules
from merino.match.games import next_float, next_random

literal_unroll = Later("numba", "literal_unroll")
_FOUND = [import_module(f"{__name__}.{module.name}").METHOD for module in pkgutil.iter_modules(__path__)]
METHODS: dict[str, rules.Method] = {method.name: method for method in sorted(_FOUND, key=lambda method: method.name)}
DEFAULT = "adaptive"  # of a tune by games
_UPDATES = tuple(method.update for method in METHODS.values())
_PLACES = tuple(method.place for method in METHODS.values())
_BITS = 63  # of a random number


def number_of(method: rules.Method) -> int:
    """The number of a method in settings."""
    return list(METHODS.values()).index(method)


def method_of(settings: rules.EstimatorSettings) -> rules.Method:
    """The method of these settings."""
    return list(METHODS.values())[settings.method]


def initial_state(settings: rules.EstimatorSettings, start: np.ndarray) -> rules.State:
    """The state before the first pair, with the estimate `start`, float64[d]."""
    return method_of(settings).prepare(settings, start)


def after(settings: rules.EstimatorSettings, state: rules.State, result: rules.PairResult) -> rules.State:
    """The state after one more pair; the old state is unchanged."""
    new = rules.State(*(array.copy() for array in state))
    _absorb_one(settings, new, result.number, result.plus, result.minus, result.y)
    return new


def estimate(settings: rules.EstimatorSettings, state: rules.State) -> np.ndarray:
    """The best estimate of the optimum, within the bounds, float64[d]."""
    theta = np.empty(state.mean.shape[1])
    _estimate_one(settings, state, theta)
    return theta


def deviations(settings: rules.EstimatorSettings, state: rules.State) -> np.ndarray:
    """The posterior standard deviation of each parameter, float64[d]; NaN for a method that has none."""
    find = method_of(settings).deviations
    return np.full(len(settings.low), np.nan) if find is None else find(settings, state)


def intervals(settings: rules.EstimatorSettings, state: rules.State) -> np.ndarray:
    """Where the optimum of each parameter is with 95%, float64[2, d] within the bounds.

    NaN for a method without deviations.
    """
    find = method_of(settings).intervals
    if find is not None:
        found = find(settings, state)
    else:
        half = NormalDist().inv_cdf(1 - rules.OUTSIDE / 2) * deviations(settings, state)
        found = estimate(settings, state) + np.array([-half, half])
    return np.clip(found, settings.low, settings.high)


def gain_over(settings: rules.EstimatorSettings, state: rules.State, start: np.ndarray) -> rules.ExpectedGain:
    """What the estimate is worth against `start`, float64[d]; NaN for a method without deviations.

    By the width of the curve and the deviations, unless the method has its own idea of curves.
    """
    find = method_of(settings).gain
    if find is not None:
        return find(settings, state)
    steepness = 1 / (2 * rules.BETA * settings.sigma**2)
    moved = estimate(settings, state) - start
    spread = 2 * steepness * moved * deviations(settings, state)
    return rules.ExpectedGain(float((steepness * moved**2).sum()), float(np.sqrt((spread**2).sum())))


@entry
def _absorb_one(settings, state, number, plus, minus, y):
    absorb(settings, state, number, plus, minus, y)


@entry
def _estimate_one(settings, state, theta):
    rules.write_mean(settings, state, theta)


@kernel
def absorb(settings, state, number, plus, minus, y):
    """Change `state` by the result `y` of pair `number`; `plus` and `minus` are float64[d]."""
    tau2, method = rules.noise(settings.tau, state.moments[0], state.moments[1]), 0
    for update in literal_unroll(_UPDATES):
        if method == settings.method:
            update(settings, state, number, plus, minus, y, tau2)
        method += 1
    state.moments[0] += 1.0
    state.moments[1] += y * y


@kernel
def place(settings, state, number, random, middle, reach):
    """Fill `reach` with the perturbations of pair `number` by the method, which may move `middle`, the estimate."""
    method = 0
    for find in literal_unroll(_PLACES):
        if method == settings.method:
            find(settings, state, number, random, middle, reach)
        method += 1


def next_pair(
    settings: rules.EstimatorSettings, state: rules.State, number: int, random: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors `plus` and `minus` of pair `number`, float64[d], within the bounds; `random` moves on."""
    plus, minus = np.empty(len(settings.low)), np.empty(len(settings.low))
    _write_one(settings, state, number, random, plus, minus)
    return plus, minus


@entry
def _write_one(settings, state, number, random, plus, minus):
    write_pair(settings, state, number, random, plus, minus)


@kernel(makes_arrays=True)
def write_pair(settings, state, number, random, plus, minus):
    """Fill `plus` and `minus`, float64[d], for pair `number`, counted from 1.

    Integers are rounded up or down at random so that they are right on average, with the same random number for both
    players: otherwise a small perturbation could get the wrong sign.
    """
    size = len(plus)
    rules.write_mean(settings, state, plus)
    reaches = np.empty(size)
    place(settings, state, number, random, plus, reaches)
    word = 0
    for i in range(size):
        if i % _BITS == 0:
            word = next_random(random)
        reach = reaches[i]
        if word & 1:
            reach = -reach
        word >>= 1
        centre, low, high = plus[i], settings.low[i], settings.high[i]
        up, down = centre + reach, centre - reach
        if settings.whole[i]:
            share = next_float(random)
            up, down = np.floor(up + share), np.floor(down + share)
        plus[i] = min(max(up, low), high)
        minus[i] = min(max(down, low), high)
