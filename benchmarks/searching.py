"""Search speed: nodes per second of one thread and of two, and the bench every commit names."""

import subprocess
import sys
from functools import partial

from benchmarks.clock import line, medians_in_turns
from engine.game import Position
from engine.search.limits import Limits
from engine.search.searcher import Searcher
from eval.weights import DEFAULT_FILE, load

MOVETIME_MS = 3000
HASH_MB = 64
ROUNDS = 5


def report() -> None:
    """Print nodes per second from the start position with one thread and two, then the output of the bench."""
    print(f"search from the start position, {MOVETIME_MS} ms; wall clock, medians of {ROUNDS} rounds in turns")
    searchers = {threads: Searcher(HASH_MB, threads, load(DEFAULT_FILE)) for threads in (1, 2)}
    for searcher in searchers.values():
        searcher.search(Position(), Limits(depth=4))  # compiled before the clock runs
    one, two = medians_in_turns([partial(_nodes_per_second, searcher) for searcher in searchers.values()], ROUNDS)
    line("one thread", one / 1e6, "M/s")
    line("two threads", two / 1e6, "M/s")
    line("ratio, at best 2 where two cores are idle", two / one, "")
    print("bench: fixed positions and depth, one thread", flush=True)
    subprocess.run([sys.executable, "-m", "engine", "bench"], check=True)


def _nodes_per_second(searcher: Searcher) -> float:
    searcher.clear()
    result = searcher.search(Position(), Limits(movetime=MOVETIME_MS))
    if result.line is None:
        raise RuntimeError("the search of the start position found no line")
    return result.line.nps
