"""Perft of the start position: ours, and the same question put to Stockfish where it is installed."""

import os
import shutil
import subprocess

from benchmarks.clock import children_cpu_seconds, line
from merino.core.board.fen import START_FEN, parse_fen
from merino.core.board.perft import perft
from merino.core.common.timing import cpu_seconds, medians_in_turns

DEPTH, LEAVES = 6, 119_060_324
ROUNDS = 7


def report() -> None:
    """Print leaves per second with and without bulk counting, and the ratio to Stockfish."""
    print(f"perft {DEPTH} from the start position, {LEAVES:,} leaves; CPU time, medians of {ROUNDS} rounds in turns")
    ours = medians_in_turns([lambda: _ours(bulk=True), lambda: _ours(bulk=False)], ROUNDS)
    line("Merino, last ply counted", _millions(ours[0]), "M/s")
    line("Merino, every move played", _millions(ours[1]), "M/s")
    stockfish = find_stockfish()
    if stockfish is None:
        print("  (no stockfish on this machine to compare with)")
        return
    beside, whole, start_up = medians_in_turns(
        [
            lambda: _ours(bulk=True),
            lambda: _theirs(stockfish, f"position startpos\ngo perft {DEPTH}"),
            lambda: _theirs(stockfish, "isready"),
        ],
        ROUNDS,
    )
    line(f"{_name_of(stockfish)}, start-up taken off", _millions(whole - start_up), "M/s")
    line("Merino beside it", _millions(beside), "M/s")
    line("ratio, more than 1 if Merino is faster", (whole - start_up) / beside, "")


def find_stockfish() -> str | None:
    """The path of a stockfish, Debian's folder for games included."""
    return shutil.which("stockfish", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"]))


def _millions(seconds: float) -> float:
    return LEAVES / seconds / 1e6


def _ours(bulk: bool) -> float:
    position = parse_fen(START_FEN)
    perft(position, 2, bulk)  # compiled before the clock runs
    found = 0

    def count() -> None:
        nonlocal found
        found = perft(position, DEPTH, bulk)

    seconds = cpu_seconds(count)
    if found != LEAVES:
        raise RuntimeError(f"perft {DEPTH} is {found}, not {LEAVES}")
    return seconds


def _theirs(path: str, commands: str) -> float:
    return children_cpu_seconds(lambda: _talk(path, commands))


def _talk(path: str, commands: str) -> str:
    """What an engine prints when it is given these lines and then `quit`."""
    return subprocess.run([path], input=f"{commands}\nquit\n", capture_output=True, text=True, check=True).stdout


def _name_of(path: str) -> str:
    names = [row.removeprefix("id name ") for row in _talk(path, "uci").splitlines() if row.startswith("id name ")]
    return names[0] if names else path
