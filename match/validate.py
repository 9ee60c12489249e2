"""Simulated matches: whether the test errs as often as alpha and beta promise, and the error bars cover 95%.

`merino match --validate`, or `python -m match.validate`. What is simulated is not what is assumed: pairs are drawn from
a distribution with the strength asked for, and the statistics see only their counts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match.arguments import Parser, natural, positive
from match.statistics import ELO_PER_NEPER, Model, Sprt, elo_of, estimate, llr

MATCHES = 2000
MOST_PAIRS = 20_000
BATCH = 8  # pairs between two looks at the test
TESTS = (
    Sprt(0, 10, model=Model.NORMALIZED),
    Sprt(-5, 5, model=Model.NORMALIZED),
    Sprt(0, 10, model=Model.LOGISTIC),
    Sprt(0, 20, 0.05, 0.10, Model.NORMALIZED),
)
PAIRS_OF_BARS = (50, 200, 1000)
ELOS_OF_BARS = (0.0, 30.0, 150.0)
SHAPES = {"many draws": (0.02, 0.18, 0.60, 0.18, 0.02), "few draws": (0.10, 0.20, 0.40, 0.20, 0.10)}


@dataclass(frozen=True)
class Trial:
    """What came of simulated matches under one test."""

    matches: int
    accepted: int  # elo1
    pairs: float  # a match, on average
    undecided: int = 0


def shares_for(shape: Sequence[float], elo: float, model: Model) -> np.ndarray:
    """The distribution of pairs like `shape` with this strength, by an exponential tilt."""
    values = np.linspace(0, 1, len(shape))

    def tilted(slope: float) -> np.ndarray:
        weights = np.asarray(shape) * np.exp(slope * values)
        return weights / weights.sum()

    def strength(slope: float) -> float:
        shares = tilted(slope)
        mean = float(shares @ values)
        if model is Model.LOGISTIC:
            return elo_of(mean)
        return (mean - 0.5) / float(np.sqrt(2 * shares @ (values - mean) ** 2)) * ELO_PER_NEPER

    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if strength(middle) < elo else (low, middle)
    return tilted((low + high) / 2)


def simulate_test(sprt: Sprt, shares: np.ndarray, matches: int, random: np.random.Generator) -> Trial:
    """Play matches under the test with pairs from these shares."""
    counts = np.zeros((matches, 5))
    low, high = sprt.bounds
    accepted, pairs, spent = 0, 0, 0
    while len(counts) and pairs < MOST_PAIRS:
        counts = counts + random.multinomial(BATCH, shares, len(counts))
        pairs += BATCH
        ratio = llr(counts, sprt.elo0, sprt.elo1, sprt.model)
        accepted += int(np.sum(ratio >= high))
        is_open = (low < ratio) & (ratio < high)
        spent += pairs * int(np.sum(~is_open))
        counts = counts[is_open]
    return Trial(matches, accepted, (spent + pairs * len(counts)) / matches, len(counts))


def coverage(shares: np.ndarray, pairs: int, matches: int, random: np.random.Generator) -> float:
    """The share of simulated matches whose 95% interval holds the true Elo."""
    truth = elo_of(float(shares @ np.linspace(0, 1, 5)))
    held = 0
    for counts in random.multinomial(pairs, shares, matches):
        found = estimate(counts)
        held += abs(found.elo - truth) <= found.elo_error
    return held / matches


def validate(words: Sequence[str]) -> int:
    """Print the tables; 0."""
    parser = Parser(prog="merino match --validate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--matches", type=positive, default=MATCHES, help=f"simulated a row ({MATCHES})")
    parser.add_argument("--seed", type=natural, default=1)
    wish = parser.parse_args(words)
    random = np.random.default_rng(wish.seed)
    chance = 1.96 * (0.05 * 0.95 / wish.matches) ** 0.5
    print(f"Sequential test, {wish.matches} simulated matches a row; true Elo at elo0, between, and at elo1.")
    print(f"By chance alone a share of 5% or 95% comes out up to {chance:.1%} off (19 times of 20), here and below.")
    print("| Test | alpha, beta | Pairs | True Elo | elo1 accepted | promised | Pairs a match |")
    print("| --- | --- | --- | ---: | ---: | --- | ---: |")
    for sprt in TESTS:
        for name, shape in SHAPES.items():
            for elo in (sprt.elo0, (sprt.elo0 + sprt.elo1) / 2, sprt.elo1):
                trial = simulate_test(sprt, shares_for(shape, elo, sprt.model), wish.matches, random)
                promise = {sprt.elo0: f"at most {sprt.alpha:.1%}", sprt.elo1: f"at least {1 - sprt.beta:.1%}"}
                row = (
                    sprt,
                    f"{sprt.alpha:g}, {sprt.beta:g}",
                    name,
                    f"{elo:g}",
                    f"{trial.accepted / trial.matches:.1%}",
                )
                print(f"| {' | '.join(map(str, row))} | {promise.get(elo, '')} | {trial.pairs:.0f} |", flush=True)
    print(f"\n95% interval of the Elo, {wish.matches} simulated matches a cell: how often it holds the true one")
    print("| True Elo | Pairs | " + " | ".join(f"{number} of them" for number in PAIRS_OF_BARS) + " |")
    print("| ---: | --- |" + " ---: |" * len(PAIRS_OF_BARS))
    for elo in ELOS_OF_BARS:
        for name, shape in SHAPES.items():
            shares = shares_for(shape, elo, Model.LOGISTIC)
            cells = [f"{coverage(shares, number, wish.matches, random):.1%}" for number in PAIRS_OF_BARS]
            print(f"| {elo:g} | {name} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(validate(sys.argv[1:]))
