"""Compare the nodes of `merino bench` with the line `Bench: N` of the last commit that has one.

The number is a signature of the search: it is the same on every machine, and changes only with the search.

    python tools/check_bench.py
"""

import re
import subprocess
import sys
from pathlib import Path

from merino.engine.search.bench import run_bench

ROOT = Path(__file__).resolve().parent.parent
PROMISE = re.compile(r"^Bench: (\d+)$", re.MULTILINE)


def promised(messages: str) -> int | None:
    """The nodes in the first of these commit messages, newest first, that names them; None where none does."""
    found = PROMISE.findall(messages)
    return int(found[0]) if found else None


def main() -> int:
    """0 if both are equal, 1 if not, 2 if no commit names a number."""
    wanted = promised(subprocess.check_output(["git", "log", "--format=%B"], cwd=ROOT, encoding="utf-8"))
    if wanted is None:
        print("No commit message names a Bench. Is this a shallow clone?", file=sys.stderr)
        return 2
    nodes, _ = run_bench(lambda _: None)
    if nodes != wanted:
        print(f"Bench: {nodes}, but the last commit that names one promises {wanted}.", file=sys.stderr)
        return 1
    print(f"Bench: {nodes}, as the last commit that names one promises")
    return 0


if __name__ == "__main__":
    sys.exit(main())
