"""Matches: games per second at 1,000 nodes a move."""

import time

from benchmarks.clock import line
from merino.match.config import MatchConfig
from merino.match.players import OwnPlayer
from merino.match.runner import play_match
from merino.match.time_control import TimeControl

GAMES = 80
NODES = 1000
THREADS = (1, 2)


def report() -> None:
    """Print games per second on one thread and two, by the wall clock and by CPU time."""
    print(f"matches of {GAMES} games at {NODES:,} nodes a move, every game to its end by the rules")
    player = OwnPlayer("default")
    config = MatchConfig((player, player), TimeControl(NODES))
    list(play_match(config, 2, 1))  # compiled before the clock runs
    for threads in THREADS:
        wall, cpu = time.perf_counter(), time.process_time()
        games = len(list(play_match(config, GAMES, threads)))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        name = "one thread" if threads == 1 else f"{threads} threads"
        line(name, games / wall, "games/s")
        line(f"{name}, of CPU time, times {threads}", threads * games / cpu, "games/s", "(idle cores would give this)")
