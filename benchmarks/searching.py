"""Search speed: nodes per second by threads and by evaluation, and the bench every commit names."""

import subprocess
import sys
import time
from statistics import median
from typing import NamedTuple

from benchmarks.clock import line
from merino.core.board.game import Position
from merino.engine.search.bench import POSITIONS
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.families import DEFAULT_FILE, load, load_evaluation

MOVETIME_MS = 3000
HASH_MB = 64
ROUNDS = 5
NODES = 100_000
EVALUATIONS = ("default", "full", "gen12", "gen13")


class Speed(NamedTuple):
    """Nodes per second by the wall clock, and per second of CPU time of all threads together."""

    wall: float
    cpu: float


def report() -> None:
    """Print nodes per second from the start position with one thread and two, then the output of the bench."""
    print(f"search from the start position, {MOVETIME_MS} ms; medians of {ROUNDS} rounds in turns")
    searchers = [Searcher(HASH_MB, threads, load(DEFAULT_FILE)) for threads in (1, 2)]
    for searcher in searchers:
        searcher.search(Position(), Limits(depth=4))  # compiled before the clock runs
    rounds = [[_speed(searcher) for searcher in searchers] for _ in range(ROUNDS)]
    one, two = (Speed(*map(median, zip(*speeds, strict=True))) for speeds in zip(*rounds, strict=True))
    line("one thread", one.wall / 1e6, "M/s")
    line("two threads", two.wall / 1e6, "M/s")
    line("ratio by the wall clock", two.wall / one.wall, "", "(means something with two idle cores)")
    line("one thread, of CPU time", one.cpu / 1e6, "M/s")
    line("two threads, of both CPU times", two.cpu / 1e6, "M/s")
    line("twice their ratio", 2 * two.cpu / one.cpu, "", "(what two idle cores would give)")
    _report_evaluations()
    print("bench: fixed positions and depth, one thread", flush=True)
    subprocess.run([sys.executable, "-m", "merino", "bench"], check=True)


def _report_evaluations() -> None:
    """Print what each evaluation costs: nodes per second of CPU time, and as a share of those with the terms."""
    print(f"one thread by evaluation, {NODES:,} nodes for each position of the bench; medians of {ROUNDS} rounds")
    searchers = [Searcher(HASH_MB, 1, load_evaluation(name)) for name in EVALUATIONS]
    for searcher in searchers:
        searcher.search(Position(), Limits(depth=4))  # compiled before the clock runs
    rounds = [[_nodes_per_second(searcher) for searcher in searchers] for _ in range(ROUNDS)]
    for name, speeds in zip(EVALUATIONS, zip(*rounds, strict=True), strict=True):
        shares = [speed / terms[0] for speed, terms in zip(speeds, rounds, strict=True)]
        line(name, median(speeds) / 1e6, "M/s", f"{median(shares):.2f} of {EVALUATIONS[0]}")


def _nodes_per_second(searcher: Searcher) -> float:
    """The nodes of the searches of all positions, over their CPU time."""
    searcher.clear()
    cpu = time.process_time()
    results = [searcher.search(Position(fen), Limits(nodes=NODES)) for fen in POSITIONS]
    return sum(result.line.nodes for result in results if result.line) / (time.process_time() - cpu)


def _speed(searcher: Searcher) -> Speed:
    searcher.clear()
    wall, cpu = time.perf_counter(), time.process_time()
    result = searcher.search(Position(), Limits(movetime=MOVETIME_MS))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if result.line is None:
        raise RuntimeError("the search of the start position found no line")
    return Speed(result.line.nodes / wall, result.line.nodes / cpu)
