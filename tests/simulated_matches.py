"""Simulated matches: check that the test errs as often as alpha and beta promise and that intervals cover 95%.

The statistics see only the counts of the pairs, not the distribution of known strength that the pairs are drawn from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from merino.match.statistics import NELO_PER_T, Model, Sprt, elo_of, estimate, llr

MAX_PAIRS = 20_000
BATCH = 8  # pairs between two checks of the test
SHAPES = {"many draws": (0.02, 0.18, 0.60, 0.18, 0.02), "few draws": (0.10, 0.20, 0.40, 0.20, 0.10)}


@dataclass(frozen=True)
class SimulatedTest:
    """The results of simulated matches under one test."""

    matches: int
    accepted: int  # elo1
    pairs: float  # a match, on average
    undecided: int = 0


def shares_for(shape: Sequence[float], elo: float, model: Model) -> np.ndarray:
    """The distribution of pairs with this strength and a shape like `shape`, by an exponential tilt."""
    values = np.linspace(0, 1, len(shape))

    def tilted(slope: float) -> np.ndarray:
        weights = np.asarray(shape) * np.exp(slope * values)
        return weights / weights.sum()

    def strength(slope: float) -> float:
        shares = tilted(slope)
        mean = float(shares @ values)
        if model is Model.LOGISTIC:
            return elo_of(mean)
        return (mean - 0.5) / float(np.sqrt(2 * shares @ (values - mean) ** 2)) * NELO_PER_T

    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if strength(middle) < elo else (low, middle)
    return tilted((low + high) / 2)


def simulate_test(sprt: Sprt, shares: np.ndarray, matches: int, random: np.random.Generator) -> SimulatedTest:
    """Simulate matches under the test with pairs drawn from these shares."""
    counts = np.zeros((matches, 5))
    low, high = sprt.bounds
    accepted, pairs, spent = 0, 0, 0
    while len(counts) and pairs < MAX_PAIRS:
        counts = counts + random.multinomial(BATCH, shares, len(counts))
        pairs += BATCH
        ratio = llr(counts, sprt.elo0, sprt.elo1, sprt.model)
        accepted += int(np.sum(ratio >= high))
        is_open = (low < ratio) & (ratio < high)
        spent += pairs * int(np.sum(~is_open))
        counts = counts[is_open]
    return SimulatedTest(matches, accepted, (spent + pairs * len(counts)) / matches, len(counts))


def coverage(shares: np.ndarray, pairs: int, matches: int, random: np.random.Generator) -> float:
    """The share of simulated matches whose 95% interval contains the true Elo."""
    truth = elo_of(float(shares @ np.linspace(0, 1, 5)))
    held = 0
    for counts in random.multinomial(pairs, shares, matches):
        found = estimate(counts)
        held += abs(found.elo - truth) <= found.elo_error
    return held / matches
