"""Long perft comparisons: published counts, then positions of random games against python-chess.

`python -m benchmarks.perft_suite [--games N] [--seed N] [--quick]`; ends with exit code 1 at the first difference.
"""

import argparse
import sys
import time
from typing import NamedTuple

import chess

from merino.core.board.fen import parse_fen
from merino.core.board.perft import perft
from tests.boards import playouts


class Known(NamedTuple):
    """A position and the number of leaves that others have published for one depth."""

    fen: str
    depth: int
    leaves: int


# The six positions of the Chess Programming Wiki's page "Perft Results", then well-known traps of move generation:
# en passant that uncovers a check, castling through and out of check, promotion into check and stalemate.
PUBLISHED = (
    Known("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 7, 3_195_901_860),
    Known("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 6, 8_031_647_685),
    Known("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 8, 3_009_794_393),
    Known("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 6, 706_045_033),
    Known("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 5, 89_941_194),
    Known("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 6, 6_923_051_137),
    Known("3k4/3p4/8/K1P4r/8/8/8/8 b - - 0 1", 6, 1_134_888),
    Known("8/8/1k6/2b5/2pP4/8/5K2/8 b - d3 0 1", 6, 1_440_467),
    Known("5k2/8/8/8/8/8/8/4K2R w K - 0 1", 6, 661_072),
    Known("3k4/8/8/8/8/8/8/R3K3 w Q - 0 1", 6, 803_711),
    Known("r3k2r/1b4bq/8/8/8/8/7B/R3K2R w KQkq - 0 1", 4, 1_274_206),
    Known("r3k2r/8/3Q4/8/8/5q2/8/R3K2R b KQkq - 0 1", 4, 1_720_476),
    Known("2K2r2/4P3/8/8/8/8/8/3k4 w - - 0 1", 6, 3_821_001),
    Known("8/8/1P2K3/8/2n5/1q6/8/5k2 b - - 0 1", 5, 1_004_658),
    Known("4k3/1P6/8/8/8/8/K7/8 w - - 0 1", 6, 217_342),
    Known("8/P1k5/K7/8/8/8/8/8 w - - 0 1", 6, 92_683),
    Known("K1k5/8/P7/8/8/8/8/8 w - - 0 1", 6, 2_217),
    Known("8/k1P5/8/1K6/8/8/8/8 w - - 0 1", 7, 567_584),
    Known("8/8/2k5/5q2/5n2/8/5K2/8 b - - 0 1", 4, 23_527),
)
QUICK = 200_000_000  # leaves
GAMES = 200
DEPTH_AGAINST_PYTHON_CHESS = 3


def main() -> None:
    """Compare and say how far it went."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perft_suite", description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=GAMES, help="random positions of each kind (%(default)s)")
    parser.add_argument("--seed", type=int, default=960, help="seed of the random games (%(default)s)")
    parser.add_argument("--quick", action="store_const", const=QUICK, help=f"leave out counts above {QUICK:,}")
    arguments = parser.parse_args()
    compared = compare_with_published(arguments.quick) and compare_with_python_chess(arguments.games, arguments.seed)
    sys.exit(not compared)


def compare_with_published(limit: int | None) -> bool:
    """Whether every published count up to `limit` leaves is ours too."""
    chosen = [known for known in PUBLISHED if limit is None or known.leaves <= limit]
    start, total = time.perf_counter(), 0
    for fen, depth, leaves in chosen:
        if not _agrees(fen, depth, leaves):
            return False
        total += leaves
        print(f"  {leaves:>15,}  depth {depth}  {fen}", flush=True)
    print(f"{len(chosen)} published counts: all equal, {total:,} leaves in {time.perf_counter() - start:.0f} s")
    return True


def compare_with_python_chess(count: int, seed: int) -> bool:
    """Whether python-chess counts as we do, in `count` positions of standard chess and as many of Chess960."""
    for name, chess960 in (("standard", False), ("Chess960", True)):
        start, total = time.perf_counter(), 0
        for board in map(chess.Board.copy, playouts(seed, count, chess960, plies=60)):
            leaves = count_leaves(board, DEPTH_AGAINST_PYTHON_CHESS)
            if not _agrees(board.shredder_fen() if chess960 else board.fen(), DEPTH_AGAINST_PYTHON_CHESS, leaves):
                return False
            total += leaves
        counted = f"as python-chess counts, {total:,} leaves in {time.perf_counter() - start:.0f} s"
        print(f"{count} random {name} positions: {counted}", flush=True)
    return True


def count_leaves(board: chess.Board, depth: int) -> int:
    """The perft of python-chess, the last ply counted."""
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += count_leaves(board, depth - 1)
        board.pop()
    return total


def _agrees(fen: str, depth: int, leaves: int) -> bool:
    ours = perft(parse_fen(fen), depth)
    if ours != leaves:
        print(f"DIFFERENT: {fen} has {leaves:,} leaves at depth {depth}, Merino counts {ours:,}")
    return ours == leaves


if __name__ == "__main__":
    main()
