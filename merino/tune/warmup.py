"""Load every compiled entry that tuning needs, from the cache or by compiling it."""

from __future__ import annotations

from merino.match.rng import seed_state
from merino.tune.curves import SETTINGS
from merino.tune.estimators import after, estimate, initial_state, next_pair, noise_now
from merino.tune.methods import DEFAULT, METHODS
from merino.tune.rules import PairResult
from merino.tune.simulator import CONTENDERS, simulate, tuner_settings


def warm_up() -> None:
    """Simulate a short tune, and take the steps of a tune by games."""
    simulate(CONTENDERS[DEFAULT], SETTINGS["S0"], size=2, pairs=1, runs=1, seed=1, at_a_time=1)
    settings = tuner_settings(METHODS[DEFAULT], SETTINGS["S0"], 2, 1)
    state = initial_state(settings, settings.sigma_0)
    plus, minus = next_pair(settings, state, 1, seed_state(1, 2))
    state = after(settings, state, PairResult(1, plus, minus, 0.0))
    estimate(settings, state)
    noise_now(settings, state)
