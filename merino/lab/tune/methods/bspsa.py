"""BSPSA: a Bayesian SPSA that knows the uncertainty of all parameters together."""

import numpy as np

from merino.core.compiled.jit import kernel
from merino.lab.tune.rules import Method, innovation, slope, state_of


@kernel(makes_arrays=True)
def _update(settings, state, number, plus, minus, y, tau2):
    """(13) to (16), with the inverse updated by the Sherman-Morrison formula."""
    sigma, mean, covariance = settings.sigma, state.mean, state.covariance
    surprise = innovation(sigma, mean, plus, minus, y)
    size = len(plus)
    gain = np.zeros(size)
    for i in range(size):
        own = slope(sigma, plus, minus, i)
        for j in range(size):
            gain[j] += own * covariance[i, j]
    variance = tau2
    for i in range(size):
        variance += slope(sigma, plus, minus, i) * gain[i]
    for i in range(size):
        share = gain[i] / variance
        mean[0, i] += share * surprise
        for j in range(size):
            covariance[i, j] -= share * gain[j]


METHOD = Method(
    "bspsa",
    "as `bspsas`, with all correlations",
    _update,
    prepare=lambda settings, start: state_of(settings, start, covariance=np.diag(settings.sigma_0**2)),
    deviations=lambda _, state: np.sqrt(np.diag(state.covariance)),
)
