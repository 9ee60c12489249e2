"""`--cluster local:2` beside two threads of one process: matches, learning, and a piece of work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.clock import line
from benchmarks.fitting import GAMES as FILE
from benchmarks.matches import NODES
from merino.core.common.work import RemoteExecutor, ordered
from merino.eval.linear.weights import defaults
from merino.lab.cluster.address import ClusterAddress, Needs
from merino.lab.cluster.connection import ClusterError, ClusterSession, session
from merino.learn.inputs import ReadOptions, read_rows
from merino.learn.loss_and_gradient import Detail, Samples, gather
from merino.learn.positions import Selection
from merino.learn.remote_reading import read_rows_remotely
from merino.learn.request import Events
from merino.learn.sample import FitParameters
from merino.learn.settings import Settings
from merino.match.config import MatchConfig
from merino.match.players import OwnPlayer
from merino.match.runner import play_match
from merino.match.time_control import TimeControl

GAMES, ROUNDS, PROCESSES, PIECES, PASSES = 200, 3, 2, 300, 3
COPIES = 64  # of the games of the project: 45,000 games, so that what each reading costs once hardly counts


@dataclass
class _Costs:
    """What the rounds of some work took: seconds by the wall clock, and of all processors."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def report() -> None:
    """Print games, passes and reading with two processes beside two threads, in turns, and the cost of a piece."""
    print(f"a cluster of {PROCESSES} processes of this machine; medians of {ROUNDS} rounds in turns")
    began = time.perf_counter()
    try:
        with session(ClusterAddress(processes=PROCESSES), Needs(("match", "learn")), lambda _: None) as found:
            line("until the workers are ready, once a command", time.perf_counter() - began, "s")
            _report_pieces(found)
            _report_matches(found)
            _report_learning(found)
    except ClusterError as error:
        print(f"  left out: {error}")


def _report_pieces(found: ClusterSession) -> None:
    costs = _Costs()
    list(ordered(found.executor, _nothing, iter(range(PIECES // 10)), 8))
    with _measured(found, costs):
        list(ordered(found.executor, _nothing, iter(range(PIECES)), 8))
    line("a piece of work there and back, eight under way", 1000 * costs.wall[0] / PIECES, "ms")
    line("its CPU time, of client, scheduler and worker", 1000 * costs.cpu[0] / PIECES, "ms")
    costs = _Costs()
    with _measured(found, costs):
        time.sleep(5)
    line("all of them with nothing to do", 1000 * costs.cpu[0] / costs.wall[0], "ms/s", "of CPU time")


def _nothing(number: int) -> int:
    return number


def _report_matches(found: ClusterSession) -> None:
    player = OwnPlayer("default")
    config = MatchConfig((player, player), TimeControl(NODES))

    def play(executor: RemoteExecutor | None, games: int = GAMES) -> None:
        assert len(list(play_match(config, games, PROCESSES, executor=executor))) == games

    for executor in (None, found.executor):
        play(executor, 4)
    name = f"{GAMES} games of 1,000 nodes"
    _compare(found, "games", name, GAMES, lambda: play(None), lambda: play(found.executor))


def _report_learning(found: ClusterSession) -> None:
    reading, settings, point = ReadOptions(Selection(), defaults()), Settings(), FitParameters(defaults(), 1 / 200)

    def read() -> Samples:
        return read_rows([path], reading, Events()).sample(settings)

    def read_there() -> Samples:
        sample = read_rows_remotely([path], reading, Events(), found.executor).sample(settings)
        assert sample.validation_rows
        return sample

    with TemporaryDirectory() as folder:
        path = Path(folder) / "games.pgn"
        path.write_bytes(FILE.read_bytes() * COPIES)
        sample, remote = read(), read_there()
        for each in (sample, remote):
            gather(each, point, detail=Detail.PRODUCTS)
        _compare(found, "MB", "games read for learning", path.stat().st_size / 1e6, read, read_there)

    def passes(each: Samples) -> None:
        for _ in range(PASSES):
            gather(each, point, detail=Detail.PRODUCTS)

    name = f"passes over {sample.size / 1e6:.1f} million rows"
    _compare(found, "passes", name, PASSES, lambda: passes(sample), lambda: passes(remote))


def _compare(
    found: ClusterSession, unit: str, what: str, amount: float, here: Callable[[], object], there: Callable[[], object]
) -> None:
    """Print what is done a second here and there, and what it costs in CPU time."""
    costs = _Costs(), _Costs()
    for _ in range(ROUNDS):
        for work, mine in zip((here, there), costs, strict=True):
            with _measured(found, mine):
                work()
    (wall, other_wall), (cpu, other_cpu) = ([median(getattr(each, name)) for each in costs] for name in ("wall", "cpu"))
    line(f"{what}, {PROCESSES} threads", amount / wall, f"{unit}/s")
    line(f"{what}, local:{PROCESSES}", amount / other_wall, f"{unit}/s", f"{wall / other_wall:.2f} of that")
    remark = f"instead of {cpu / amount:.3f}; idle cores would give {cpu / other_cpu:.2f} of the speed"
    line(f"{what}, CPU time there", other_cpu / amount, f"s/{unit}", remark)


@contextmanager
def _measured(found: ClusterSession, costs: _Costs) -> Iterator[None]:
    wall, cpu = time.perf_counter(), _cpu_seconds(found)
    yield
    costs.wall.append(time.perf_counter() - wall)
    costs.cpu.append(_cpu_seconds(found) - cpu)


def _cpu_seconds(found: ClusterSession) -> float:
    """The CPU time of this process, with the scheduler in it, and of the workers."""
    told = found.executor.each(time.process_time)
    return time.process_time() + sum(future.result() for futures in told.values() for future in futures)
