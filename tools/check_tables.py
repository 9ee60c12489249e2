"""`python -m tools.check_tables FOLDER`: compare what compiled code and python-chess read in Syzygy tables.

For each table of results in the folder, random positions with its material, the colours changed in half of them, and a
capture en passant in as many as have one. Prints a line for each position on which they differ, and at the end how long
a position takes to look up.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

import chess
import chess.syzygy
import numpy as np

from merino.core.board.fen import parse_fen
from merino.core.compiled.jit import entry
from merino.engine.search.state import new_search_record
from merino.engine.syzygy.layout import LOSS, WIN
from merino.engine.syzygy.probing import known_result
from merino.engine.tables.tablebase import open_tables
from tools.try_tables import men_anywhere


@entry
def _look_up(records, positions, results):
    for index in range(len(positions)):
        records[0].positions[0] = positions[index]
        results[index] = known_result(records[0], 0, LOSS, WIN, 0)


def random_position(name: str, draw: Random) -> chess.Board:
    """A legal position of this material, such as KRPvKR."""
    while True:
        board = men_anywhere(name, draw)
        targets = [square for square in chess.SQUARES if square >> 3 == (5 if board.turn else 2)] if board.pawns else []
        for board.ep_square in (*targets, None):
            if board.ep_square is None or board.has_legal_en_passant():
                break
        if board.is_valid():
            return board


def main(arguments: list[str] | None = None) -> int:
    """Compare; the exit code is 1 if any position differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_tables", description="Compare two readers of tables.")
    parser.add_argument("folder", type=Path, help="Syzygy tables of results, with those that captures lead to")
    parser.add_argument("--positions", type=int, default=2000, help="of each table (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    draw, record, tables = Random(args.seed), new_search_record(), open_tables(str(args.folder))
    tables.results.attach(record)
    wrong, seconds, count = 0, [0.0, 0.0], 0
    with chess.syzygy.open_tablebase(str(args.folder)) as theirs:
        for name in sorted(path.stem for path in args.folder.glob("*.rtbw")):
            boards = [random_position(name, draw) for _ in range(args.positions)]
            found = np.zeros(len(boards), dtype=np.int64)
            positions = np.concatenate([parse_fen(board.fen()) for board in boards])
            _look_up(record, positions[:1], found)  # compiles, and reads the table
            began = time.process_time()
            _look_up(record, positions, found)
            between = time.process_time()
            expected = np.array([theirs.probe_wdl(board) for board in boards])
            seconds = [seconds[0] + between - began, seconds[1] + time.process_time() - between]
            count += len(boards)
            for index in np.flatnonzero(found != expected):
                print(f"{name}: {boards[index].fen()}: {found[index]}, by python-chess {expected[index]}")
            wrong += int((found != expected).sum())
    mine, other = (1e6 * each / max(1, count) for each in seconds)
    print(f"{count:,} positions, {wrong} differ; {mine:.2f} microseconds each, by python-chess {other:.0f}")
    if tables.results.fault:
        print(tables.results.fault)
    return int(bool(wrong or tables.results.fault))


if __name__ == "__main__":
    sys.exit(main())
