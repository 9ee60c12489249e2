"""How long a GUI waits: from the start to `uciok` and `readyok`, in a search for `readyok` and `bestmove`, for a move.

A search to depth 1 takes some microseconds: what passes from `go` to `bestmove` is what each move costs beside its
search, in threads, clock and reports, and by the pipes.
"""

import time
from statistics import median

from benchmarks.clock import line
from tests.uci_process import UciProcess

ROUNDS = 50
SEARCH_SECONDS = 0.05  # before the search is asked for something


def report() -> None:
    """Print the median and the worst of 50 waits of each kind."""
    print(f"UCI over a pipe; wall clock, medians of {ROUNDS}")
    starts = [_start() for _ in range(ROUNDS)]
    with UciProcess() as engine:
        engine.ask("uci", "isready", until="readyok")
        searches = [_search(engine) for _ in range(ROUNDS)]
        moves = [_move(engine) for _ in range(ROUNDS)]
    for what, waits in zip(
        ("start to uciok", "start to readyok", "isready in a search", "stop to bestmove", "a move beside its search"),
        (*zip(*starts, strict=True), *zip(*searches, strict=True), moves),
        strict=True,
    ):
        line(what, 1000 * median(waits), "ms", f"worst {1000 * max(waits):.1f}")


def _start() -> tuple[float, float]:
    """Seconds from the start of a process to its `uciok` and to its `readyok`."""
    with UciProcess() as engine:
        engine.send("uci", "isready")
        return (
            engine.read_until("uciok")[-1].at - engine.started,
            engine.read_until("readyok")[-1].at - engine.started,
        )


def _search(engine: UciProcess) -> tuple[float, float]:
    """Seconds from `isready` to `readyok` in a search, and from `stop` to `bestmove`."""
    engine.send("go infinite")
    time.sleep(SEARCH_SECONDS)
    asked = time.perf_counter()
    engine.send("isready")
    answered = engine.read_until("readyok")[-1].at - asked
    asked = time.perf_counter()
    engine.send("stop")
    return answered, engine.read_until("bestmove")[-1].at - asked


def _move(engine: UciProcess) -> float:
    """Seconds from `go` under a clock to `bestmove` of a search that takes next to none."""
    asked = time.perf_counter()
    engine.send("go depth 1 wtime 10000 btime 10000 winc 100 binc 100")
    return engine.read_until("bestmove")[-1].at - asked
