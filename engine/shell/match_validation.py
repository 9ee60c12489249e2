"""Simulated matches: whether the test errs as often as alpha and beta promise, and the error bars cover 95%.

The tables that `merino match --validate` prints.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.console import shared_options as shared
from engine.console.command_line import Parser, positive
from match.statistics import Model, Sprt
from match.validate import SHAPES, coverage, shares_for, simulate_test

MATCHES = 2000
TESTS = (
    Sprt(0, 10, model=Model.NORMALIZED),
    Sprt(-5, 5, model=Model.NORMALIZED),
    Sprt(0, 10, model=Model.LOGISTIC),
    Sprt(0, 20, 0.05, 0.10, Model.NORMALIZED),
)
PAIRS_OF_BARS = (50, 200, 1000)
ELOS_OF_BARS = (0.0, 30.0, 150.0)


def validate(words: Sequence[str]) -> int:
    """Print the tables; 0."""
    parser = Parser(
        prog="merino match --validate",
        description="Simulate matches of known strength and compare the error rates of the test with alpha and beta.",
        examples=("merino match --validate --matches 500",),
    )
    sentence = "simulated matches per row (default: %(default)s)"
    parser.add_argument("--matches", metavar="N", type=positive, default=MATCHES, help=sentence)
    shared.add_seed(parser, "the simulated games")
    order = parser.parse_args(words)
    random = np.random.default_rng(order.seed)
    chance = 1.96 * (0.05 * 0.95 / order.matches) ** 0.5
    print(f"Sequential test, {order.matches} simulated matches a row; true Elo at elo0, between, and at elo1.")
    print(f"By chance alone a share of 5% or 95% comes out up to {chance:.1%} off (19 times of 20), here and below.")
    print("| Test | alpha, beta | Pairs | True Elo | elo1 accepted | promised | Pairs a match |")
    print("| --- | --- | --- | ---: | ---: | --- | ---: |")
    for sprt in TESTS:
        for name, shape in SHAPES.items():
            for elo in (sprt.elo0, (sprt.elo0 + sprt.elo1) / 2, sprt.elo1):
                trial = simulate_test(sprt, shares_for(shape, elo, sprt.model), order.matches, random)
                promise = {sprt.elo0: f"at most {sprt.alpha:.1%}", sprt.elo1: f"at least {1 - sprt.beta:.1%}"}
                row = (
                    sprt,
                    f"{sprt.alpha:g}, {sprt.beta:g}",
                    name,
                    f"{elo:g}",
                    f"{trial.accepted / trial.matches:.1%}",
                )
                print(f"| {' | '.join(map(str, row))} | {promise.get(elo, '')} | {trial.pairs:.0f} |", flush=True)
    print(f"\n95% interval of the Elo, {order.matches} simulated matches a cell: how often it holds the true one")
    print("| True Elo | Pairs | " + " | ".join(f"{number} of them" for number in PAIRS_OF_BARS) + " |")
    print("| ---: | --- |" + " ---: |" * len(PAIRS_OF_BARS))
    for elo in ELOS_OF_BARS:
        for name, shape in SHAPES.items():
            shares = shares_for(shape, elo, Model.LOGISTIC)
            cells = [f"{coverage(shares, number, order.matches, random):.1%}" for number in PAIRS_OF_BARS]
            print(f"| {elo:g} | {name} | {' | '.join(cells)} |", flush=True)
    return 0
