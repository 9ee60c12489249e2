"""BSPSAS: a Bayesian SPSA that knows the uncertainty of each parameter alone."""

import numpy as np

from merino.core.compiled.jit import kernel
from merino.lab.tune.rules import EstimatorSettings, Method, State, innovation, slope, state_of


def _prepare(settings: EstimatorSettings, start: np.ndarray) -> State:
    spread = np.zeros((1, 3, len(start)))
    spread[0, 0] = settings.sigma_0**2
    return state_of(settings, start, spread=spread)


@kernel
def _update(settings, state, number, plus, minus, y, tau2):
    """Update each parameter as if the others were known, (9) and (10).

    It leaves out the sum of (9) over the other parameters, which is noise that grows with the distance from the origin.
    """
    sigma, mean, spread = settings.sigma, state.mean, state.spread
    surprise = innovation(sigma, mean, plus, minus, y)
    for i in range(len(plus)):
        gain, variance = slope(sigma, plus, minus, i), spread[0, 0, i]
        share = 1.0 / (tau2 + gain * gain * variance)
        mean[0, i] += gain * variance * surprise * share
        spread[0, 0, i] = variance * tau2 * share


METHOD = Method(
    "bspsas",
    "Bayesian: each parameter has an uncertainty, which shrinks and sets the step",
    _update,
    prepare=_prepare,
    deviations=lambda _, state: np.sqrt(state.spread[0, 0]),
)
