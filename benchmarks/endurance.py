"""`python -m benchmarks.endurance FOLDER`: very fast games of Merino against itself, for nights, and their faults.

Terms and net play each other and themselves as UCI processes, by `merino match`, in blocks of games that take turns in
players and clock. The same command goes on where the last one stopped, even within a block, and adds up. Prints
a table in Markdown; exits with 1 if there are faults.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from merino.core.common.about import __version__
from merino.core.common.files import write_whole
from tools.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
CLOCKS = ("1+0.01", "0.5+0.005")
EVALUATIONS = {"terms": "", "net": ",option.EvalFile=gen13"}
PAIRINGS = (("terms", "net"), ("terms", "terms"), ("net", "net"))
FAULTS = ("time_losses", "illegal", "crashes")
HEAD = ("clock", "players", "games", "plies", "lost on time", "illegal moves", "crashes")
_PLIES = re.compile(rb'^\[PlyCount "(\d+)"\]', re.MULTILINE)


def plan(number: int) -> tuple[str, tuple[str, str]]:
    """The clock and the players of the block of this number."""
    return CLOCKS[number % len(CLOCKS)], PAIRINGS[number // len(CLOCKS) % len(PAIRINGS)]


def play_block(folder: Path, number: int, games: int) -> dict[str, Any]:
    """Play a block, or the rest of it, and keep what came of it; raises CalledProcessError."""
    clock, names = plan(number)
    pgn, state, result = (folder / f"{number:05}{ending}" for ending in (".pgn", ".state", ".json"))
    command = [sys.executable, "-m", "merino", "match", *map(_player, names, "AB")]
    limits = ["--tc", clock, "--games", str(games), "--seed", str(number + 1)]
    files = ["--pgn", str(pgn), "--state", str(state), "--json", "--quiet"]
    done = subprocess.run([*command, *limits, *files], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    plies = sum(int(count) for count in _PLIES.findall(pgn.read_bytes()))
    block = {"clock": clock, "players": names, "games": found["games"], "plies": plies, "version": __version__}
    block |= {fault: found[fault] for fault in FAULTS}
    write_whole(result, json.dumps(block).encode())
    return block


def _player(evaluation: str, side: str) -> str:
    """The UCI process that plays by an evaluation, in the words of `merino match`."""
    return f"engine:{sys.executable} -m merino uci,name={evaluation} {side}{EVALUATIONS[evaluation]}"


def blocks_in(folder: Path) -> list[dict[str, Any]]:
    """What came of the blocks that have been played, in order."""
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]


def table(blocks: Iterable[dict[str, Any]]) -> str:
    """The sums by clock and players, and of all."""
    sums: dict[tuple[str, str], list[int]] = {}
    for block in blocks:
        numbers = [block[key] for key in ("games", "plies", *FAULTS)]
        for key in ((block["clock"], " - ".join(block["players"])), ("all", "")):
            sums[key] = [sum(pair) for pair in zip(sums.get(key, [0] * len(numbers)), numbers, strict=True)]
    rows = [(*key, *(f"{number:,}" for number in sums[key])) for key in sorted(sums, key=lambda key: key[0] == "all")]
    return markdown_table(HEAD, rows, range(2, len(HEAD)))


def main() -> int:
    """Play until there are enough games, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.endurance", description=(__doc__ or "").split("\n\n")[1]
    )
    parser.add_argument("folder", type=Path, help="where games and results are kept, and taken up again")
    parser.add_argument("--games", type=int, default=10_000, help="games in all (default: %(default)s)")
    parser.add_argument("--block", type=int, default=50, help="games of a block, an even number (default: %(default)s)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    blocks = blocks_in(arguments.folder)
    try:
        while sum(block["games"] for block in blocks) < arguments.games:
            blocks.append(play_block(arguments.folder, len(blocks), arguments.block))
            print(f"{sum(block['games'] for block in blocks):,} games", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        parser.exit(error.returncode, f"the match ended with code {error.returncode}; the same command goes on\n")
    print(table(blocks))
    return 1 if any(block[fault] for block in blocks for fault in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
