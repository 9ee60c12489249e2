"""Fitting the weights to the games that come with Merino, many times over: terms by each method, and the set `full`."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.clock import line
from merino.core.common.timing import cpu_seconds
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.sets import set_named
from merino.eval.linear.weights import SHIPPED, load
from merino.formats.pgn_games import read_games
from merino.learn.gain import learn
from merino.learn.inputs import split
from merino.learn.minimisers import METHODS, FitCallback
from merino.learn.positions import Selection, block_of_games
from merino.learn.problem import problem_of
from merino.learn.rows import Rows, rows_of_block
from merino.learn.scale import fit_k
from merino.learn.settings import Settings

GAMES = Path(__file__).resolve().parent.parent / "games" / "selfplay.pgn"
COPIES, COPIES_FOR_FULL = 24, 4


def many_rows(copies: int = COPIES, terms: TermSet = TERMS) -> Rows:
    """The rows of so many copies."""
    games = read_games(GAMES.read_bytes())
    once = rows_of_block(block_of_games(games, Selection()), terms)
    return Rows(
        np.concatenate([once.features] * copies),
        np.concatenate([once.stage] * copies),
        np.concatenate([once.game + np.int32(copy * len(games)) for copy in range(copies)]),
        np.concatenate([once.to_end] * copies),
        np.concatenate([once.results] * copies),
        np.concatenate([once.scores] * copies),
    )


def report() -> None:
    """Print the seconds of each method, of the processor and by the clock on the wall."""
    rows, settings = many_rows(), Settings()
    print(f"fitting terms 6 to 27 to {len(rows) / 1e6:.1f} million positions, with K before; one run each")
    sample, weights = split(rows, settings), load(SHIPPED / "greko2015-before-training.txt")
    fit_k(sample, weights)
    start = fit_k(sample, weights)
    problem = problem_of(sample, weights, TERMS, settings.places(TERMS))
    small = split(many_rows(1), settings)
    for name, method in METHODS.items():
        method(small, start, problem, FitCallback())  # compiled before the clock runs

        def fit(method: Callable[..., object] = method) -> None:
            method(sample, fit_k(sample, weights), problem, FitCallback())

        began = time.perf_counter()
        seconds = cpu_seconds(fit)
        line(name, seconds, "CPU s", f"{time.perf_counter() - began:.2f} s by the wall clock")
    _report_full()


def _report_full() -> None:
    """Print the seconds of the whole fit of a large set: all weights in two phases, and their intervals."""
    terms = set_named("full")
    settings = Settings(first=1, phases=2, decay=None).of_set(terms)
    sample, weights = split(many_rows(COPIES_FOR_FULL, terms), settings), load(SHIPPED / "full.txt", terms)
    print(f"the set full, {2 * len(terms)} weights, to {sample.size / 1e6:.1f} million positions, with intervals")
    began = time.perf_counter()
    seconds = cpu_seconds(lambda: learn(sample, weights, settings, FitCallback(), terms))
    line("gauss-newton", seconds, "CPU s", f"{time.perf_counter() - began:.2f} s by the wall clock")
