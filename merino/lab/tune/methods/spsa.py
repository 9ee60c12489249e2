"""SPSA: Spall's simultaneous perturbation stochastic approximation, with the parameters c and r of fishtest."""

from merino.core.compiled.jit import kernel
from merino.lab.tune.rules import ALPHA, Method, shrinking

STABILITY_SHARE = 0.1  # A of (17) as a share of all pairs


@kernel
def step(settings, state, number, plus, minus, y, tau2):
    """SPSA: r_n y times half the difference played, where r_n = a_n / c_n^2 (17)."""
    mean = state.mean
    stability = STABILITY_SHARE * settings.pairs
    fading = ((stability + settings.pairs) / (stability + number)) ** ALPHA / shrinking(settings.pairs, number) ** 2
    for i in range(len(plus)):
        moved = mean[0, i] + settings.r_end[i] * fading * 0.5 * (plus[i] - minus[i]) * y
        mean[0, i] = min(max(moved, settings.low[i]), settings.high[i])


METHOD = Method("spsa", "a step of fixed, shrinking size, as on fishtest", step)
