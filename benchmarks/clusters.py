"""`--cluster local:2` beside two threads of one process: matches, passes of the learner, and a piece of work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np

from benchmarks.clock import line
from benchmarks.fitting import many_rows
from benchmarks.matches import NODES
from engine.cluster.address import ClusterAddress, Needs
from engine.cluster.connection import ClusterError, ClusterSession, session
from engine.common.work import ordered
from eval.linear.weights import defaults
from learn.learning import Settings, split
from learn.passes import gather
from learn.positions import Rows
from learn.remote_sample import RemoteRows, remote_split
from learn.sample import FitParameters
from match.config import MatchConfig
from match.players import OwnPlayer
from match.runner import play_match
from match.time_control import TimeControl

GAMES, ROUNDS, PROCESSES, PIECES, PASSES = 80, 3, 2, 300, 3


def report() -> None:
    """Print games and passes a second with two processes and with two threads, in turns, and the cost of a piece."""
    print(f"a cluster of {PROCESSES} processes of this machine; medians of {ROUNDS} rounds in turns, by the wall clock")
    try:
        with session(ClusterAddress(processes=PROCESSES), Needs(("match", "learn")), lambda _: None) as found:
            _report_pieces(found)
            _report_matches(found)
            _report_passes(found)
    except ClusterError as error:
        print(f"  left out: {error}")


def _report_pieces(found: ClusterSession) -> None:
    began = time.perf_counter()
    for _ in ordered(found.executor, _nothing, iter(range(PIECES)), 8):
        pass
    line("a piece of work there and back, eight under way", 1000 * (time.perf_counter() - began) / PIECES, "ms")


def _nothing(number: int) -> int:
    return number


def _report_matches(found: ClusterSession) -> None:
    player = OwnPlayer("default")
    config = MatchConfig((player, player), TimeControl(NODES))
    here: list[float] = []
    there: list[float] = []
    for _ in range(ROUNDS + 1):  # the first warms up
        for executor, seconds in ((None, here), (found.executor, there)):
            with _timed(seconds):
                assert len(list(play_match(config, GAMES, PROCESSES, executor=executor))) == GAMES
    _tell("games/s", "games of 1,000 nodes", GAMES / median(here[1:]), GAMES / median(there[1:]))


def _report_passes(found: ClusterSession) -> None:
    rows = many_rows()
    sample, point = split(rows, Settings()), FitParameters(defaults(), 1 / 200)
    remote = remote_split(
        _sent(rows, found.executor), Settings().seed, False, Settings().decay, Settings().target, False
    )
    here: list[float] = []
    there: list[float] = []
    for _ in range(ROUNDS + 1):
        for each, seconds in ((sample, here), (remote, there)):
            with _timed(seconds):
                sums = [gather(each, point) for _ in range(PASSES)]
    assert sums[0].products is not None
    _tell("passes/s", f"{len(rows) / 1e6:.1f} million rows", PASSES / median(here[1:]), PASSES / median(there[1:]))
    line("sums sent back in a pass", sums[0].products.nbytes * len(sample.cuts[1:]) / 1e6, "MB")


def _sent(rows: Rows, executor: Any) -> RemoteRows:
    """The rows, in parts that workers keep."""
    counts = rows.rows_of_games()
    ends = np.linspace(0, len(rows.results), 17).astype(int)
    at, parts = np.append(0, np.cumsum(counts))[ends], []
    for first, last, game, end in zip(at[:-1], at[1:], ends[:-1], ends[1:], strict=True):
        parts.append(executor.keep(_itself, rows.between(first, last, game, end)))
    return RemoteRows(
        executor, tuple(parts), tuple(np.diff(ends).tolist()), counts, rows.results, rows.features.shape[1]
    )


def _itself(rows: Rows) -> Rows:
    return rows


@contextmanager
def _timed(seconds: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - began)


def _tell(unit: str, what: str, here: float, there: float) -> None:
    line(f"{what}, {PROCESSES} threads", here, unit)
    line(f"{what}, --cluster local:{PROCESSES}", there, unit, f"{there / here:.2f} of that")
