"""The two vectors of a pair: the estimate plus and minus a random perturbation."""

import numpy as np

from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.match.rng import next_random
from merino.inner.tune.estimators import place
from merino.inner.tune.rng import next_float
from merino.inner.tune.rules import EstimatorSettings, State, write_mean

_BITS = 63  # of a random number


def next_pair(
    settings: EstimatorSettings, state: State, number: int, random: np.ndarray
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
    write_mean(settings, state, plus)
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
