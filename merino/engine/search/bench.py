"""`merino bench`: the same positions to the same depth everywhere. The node count is the search's signature."""

import time
from collections.abc import Callable

from merino.core.board.fen import START_FEN
from merino.core.board.game import Position
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.families import default

DEPTH = 11
HASH_MB = 16  # whatever the default is: the node count depends on it

# Openings, middlegames and endgames, sharp and quiet; positions of ours and well-known test positions.
POSITIONS = (
    START_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
    "rnbqkb1r/pp3ppp/4pn2/2pp4/2PP4/2N2N2/PP2PPPP/R1BQKB1R w KQkq - 0 5",
    "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 10",
    "r2q1rk1/1b1nbppp/p2ppn2/1p6/3NP3/1BN1BP2/PPPQ2PP/2KR3R b - - 3 12",
    "2r2rk1/1b3ppp/p3pn2/1p1q4/3N4/P3BP2/1P2Q1PP/2R2RK1 w - - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "r2q1rk1/pb1nbppp/1p2pn2/2pp4/2PP4/1PN1PN2/PB2BPPP/R2Q1RK1 b - - 1 10",
    "3r1rk1/pp3ppp/2p1bn2/4p3/1q2P3/1BN2P2/PPQ3PP/3R1R1K b - - 4 18",
    "4r1k1/1P3ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "8/5pk1/6p1/1P6/8/5KP1/5P2/8 w - - 0 1",
    "3r2k1/5ppp/2N5/1P6/4n3/8/5PPP/2R3K1 b - - 0 1",
    "8/8/1p1k1p2/p1p2P1p/P1P1K2P/1P6/8/8 b - - 0 1",
    "6k1/5ppp/8/8/3Q4/8/5PPP/6K1 w - - 0 1",
    "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1",
    "r1b1k2r/ppq1bppp/2n1pn2/3p4/2pP1B2/2P1PN2/PPBN1PPP/R2QK2R w KQkq - 2 10",
    "5rk1/pp1q1ppp/3b4/3p4/3Pn3/1P2P1P1/PBQ2PBP/5RK1 b - - 0 20",
    "2kr3r/ppp2ppp/2n5/3qp3/6b1/2PP1N2/PP1BBPPP/R2Q1RK1 w - - 0 13",
)


def run_bench(
    write: Callable[[str], object] = print, depth: int = DEPTH, is_stopped: Callable[[], bool] = lambda: False
) -> tuple[int, int]:
    """Search every position to `depth` on one thread with a cleared table; the last line is `N nodes M nps`.

    Returns the nodes, the same on every run and machine, and the nodes per second.
    Once `is_stopped` is true it returns after the current position and prints nothing further.
    """
    searcher = Searcher(hash_mb=HASH_MB, evaluation=default())
    searcher.search(Position(), Limits(depth=2))
    total, seconds = 0, 0.0
    for number, fen in enumerate(POSITIONS, start=1):
        searcher.clear()
        position = Position(fen)
        began = time.perf_counter()
        result = searcher.search(position, Limits(depth=depth))
        seconds += time.perf_counter() - began
        if is_stopped():
            return total, 0
        line = result.line
        if line is None or result.best is None:
            raise RuntimeError(f"no move found in {fen}")
        total += line.nodes
        write(f"{number:2}/{len(POSITIONS)}  {line.nodes:9} nodes  {line.score.uci():>9}  {position.uci(result.best)}")
    nps = int(total / seconds)
    write(f"{total} nodes {nps} nps")
    return total, nps
