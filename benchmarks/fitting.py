"""Fitting the weights to the games that come with Merino, 24 times over: 1.8 million positions, by each method."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.clock import line
from merino.inner.core.common.timing import cpu_seconds
from merino.inner.eval.linear.weights import SHIPPED, load
from merino.inner.formats.pgn_games import read_games
from merino.inner.learn.fit import FitCallback, fit_k
from merino.inner.learn.learning import METHODS, Settings, problem_of, split
from merino.inner.learn.positions import Rows, Selection, rows_of_games

GAMES = Path(__file__).resolve().parent.parent / "games" / "selfplay.pgn"
COPIES = 24


def many_rows() -> Rows:
    """The rows of all copies."""
    once = rows_of_games(read_games(GAMES.read_bytes()), Selection())
    games = len(once.results)
    return Rows(
        np.concatenate([once.features] * COPIES),
        np.concatenate([once.stage] * COPIES),
        np.concatenate([once.game + np.int32(copy * games) for copy in range(COPIES)]),
        np.concatenate([once.to_end] * COPIES),
        np.concatenate([once.results] * COPIES),
        np.concatenate([once.scores] * COPIES),
    )


def report() -> None:
    """Print the seconds of each method, of the processor and by the clock on the wall."""
    rows, settings = many_rows(), Settings()
    print(f"fitting terms 6 to 27 to {len(rows) / 1e6:.1f} million positions, with K before; one run each")
    sample, weights = split(rows, settings), load(SHIPPED / "greko2015-before-training.txt")
    fit_k(sample, weights)
    start = fit_k(sample, weights)
    problem = problem_of(sample, weights, settings)
    small = split(rows_of_games(read_games(GAMES.read_bytes()), Selection()), settings)
    for name, method in METHODS.items():
        method(small, start, problem, FitCallback())  # compiled before the clock runs

        def fit(method: Callable[..., object] = method) -> None:
            method(sample, fit_k(sample, weights), problem, FitCallback())

        began = time.perf_counter()
        seconds = cpu_seconds(fit)
        line(name, seconds, "CPU s", f"{time.perf_counter() - began:.2f} s by the wall clock")
