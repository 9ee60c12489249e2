"""What a node of the search costs a processor: `python -m tools.cache_misses [--evalfile NET | --engine COMMAND]`.

Valgrind's cachegrind (which must be installed) counts instructions, branches that are predicted wrongly, and lines of
memory that are missed in a first cache of 48 KiB and in a second one of 1 MiB. The first positions of the bench are
searched in two runs, further in the second, so that the difference is of nodes alone. It takes minutes, and the load
of the machine changes nothing.

Cachegrind knows no AVX-512, so Merino is compiled for a processor without it, apart from what is in daily use.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import chess
import chess.engine

from benchmarks.markdown import markdown_table
from merino.engine.search.bench import POSITIONS

CACHES = ("--I1=32768,8,64", "--D1=49152,12,64", "--LL=1048576,16,64")
OLDER = {  # a processor that cachegrind knows
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+mmx,+movbe,+pclmul,+popcnt,+sse,+sse2,+sse3,"
    "+sse4.1,+sse4.2,+ssse3,+xsave",
}
OWN = f"{shlex.quote(sys.executable)} -m merino uci"
SEARCHED = 6  # positions
COUNTED = {  # what to show, and the events of cachegrind that it sums
    "instructions": ("Ir",),
    "reads": ("Dr",),
    "writes": ("Dw",),
    "branches": ("Bc", "Bi"),
    "predicted wrongly": ("Bcm", "Bim"),
    "reads missed in the first cache": ("D1mr",),
    "and in the second": ("DLmr",),
    "writes missed in the first": ("D1mw",),
    "and in the second cache": ("DLmw",),
    "instructions missed in the first": ("I1mr",),
}


def totals(report: str) -> dict[str, int]:
    """The events that a file of cachegrind sums up, by name; raises ValueError if it does not."""
    parts = dict(line.partition(": ")[::2] for line in report.splitlines())
    if not {"events", "summary"} <= parts.keys():
        raise ValueError("this is no report of cachegrind")
    return dict(zip(parts["events"].split(), map(int, parts["summary"].split()), strict=True))


def per_node(short: tuple[dict[str, int], int], long: tuple[dict[str, int], int]) -> dict[str, float]:
    """What a node costs, from the events and nodes of a short and a long run."""
    nodes = long[1] - short[1]
    return {name: sum(long[0][event] - short[0][event] for event in events) / nodes for name, events in COUNTED.items()}


def search(command: Sequence[str], options: dict[str, str], limit: chess.engine.Limit) -> int:
    """Search each position in an engine; the number of nodes that it tells."""
    with chess.engine.SimpleEngine.popen_uci(list(command), timeout=None, stderr=subprocess.DEVNULL) as engine:
        engine.configure({"Hash": 16, **options})
        engine.ping()
        nodes = [engine.analyse(chess.Board(fen), limit)["nodes"] for fen in POSITIONS[1 : 1 + SEARCHED]]
        engine.quit()
    return sum(nodes)


def limit_of(text: str) -> chess.engine.Limit:
    """The limit of a search written as for `go`: "nodes 100000", "depth 9"; raises ValueError."""
    kind, number = text.split()
    if kind not in ("nodes", "depth"):
        raise ValueError(f"{kind!r} is neither nodes nor depth")
    return chess.engine.Limit(**{kind: int(number)})


def main() -> None:
    """Print the table of an engine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--evalfile", metavar="NET", help="the evaluation (the terms)")
    parser.add_argument("--engine", metavar="COMMAND", help="another engine that speaks UCI")
    usual = [limit_of("nodes 100000"), limit_of("nodes 300000")]
    parser.add_argument("--go", nargs=2, type=limit_of, metavar=("SHORT", "LONG"), default=usual)
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        parser.error("valgrind is not installed")
    os.environ.update(OLDER)
    options = {} if args.evalfile is None else {"EvalFile": args.evalfile}
    command = shlex.split(args.engine or OWN)
    search(command, options, args.go[0])  # compiled before
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for limit in args.go:
            report = Path(folder) / "cachegrind.out"
            watched = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", *CACHES]
            watched += ["--smc-check=all-non-file", f"--cachegrind-out-file={report}", *command]
            nodes = search(watched, options, limit)
            runs.append((totals(report.read_text()), nodes))
    rows = [(name, f"{value:,.2f}") for name, value in per_node(*runs).items()]
    print(markdown_table((f"{runs[1][1] - runs[0][1]:,} nodes", "a node"), rows, right_aligned=[1]))


if __name__ == "__main__":
    main()
