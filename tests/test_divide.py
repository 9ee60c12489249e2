"""The divide comes in the order of Stockfish's generator: moves as `go perft 1` of Stockfish 15.1 prints them."""

import pytest

from merino.core.board.game import Position
from merino.core.board.perft import print_divide, stockfish_order

ORDERS = {
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": (
        "a2a3 b2b3 g2g3 d5d6 a2a4 g2g4 g2h3 d5e6 c3b1 c3d1 c3a4 c3b5 e5d3 e5c4 e5g4 e5c6 e5g6 e5d7 e5f7 d2c1 d2e3 d2f4 "
        "d2g5 d2h6 e2d1 e2f1 e2d3 e2c4 e2b5 e2a6 a1b1 a1c1 a1d1 h1f1 h1g1 f3d3 f3e3 f3g3 f3h3 f3f4 f3g4 f3f5 f3h5 f3f6 "
        "e1d1 e1f1 e1g1 e1c1"
    ),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (
        "e2e3 g2g3 a5a6 e2e4 g2g4 b4b1 b4b2 b4b3 b4a4 b4c4 b4d4 b4e4 b4f4 a5a4"
    ),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": "c4c5 d2d4 f3d4 b4c5 f1f2 g1h1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (
        "a2a3 b2b3 c2c3 g2g3 h2h3 a2a4 b2b4 g2g4 h2h4 d7c8q d7c8r d7c8b d7c8n b1d2 b1a3 b1c3 e2g1 e2c3 e2g3 e2d4 e2f4 "
        "c1d2 c1e3 c1f4 c1g5 c1h6 c4b3 c4d3 c4b5 c4d5 c4a6 c4e6 c4f7 h1f1 h1g1 d1d2 d1d3 d1d4 d1d5 d1d6 e1f1 e1d2 e1f2 "
        "e1g1"
    ),
    "rnb1kbnr/pp1p1ppp/8/2pPp3/8/8/PPP1QqPP/RNBK1BNR w kq e6 0 5": (
        "a2a3 b2b3 c2c3 g2g3 h2h3 d5d6 a2a4 b2b4 c2c4 g2g4 h2h4 d5e6 b1d2 b1a3 b1c3 g1f3 g1h3 c1d2 c1e3 c1f4 c1g5 c1h6 "
        "e2e1 e2d2 e2f2 e2d3 e2e3 e2f3 e2c4 e2e4 e2g4 e2b5 e2e5 e2h5 e2a6 d1d2"
    ),
    "4k3/8/8/8/4pP2/8/8/B3K2R b - f3 0 1": "e4e3 e4f3 e8d7 e8e7 e8f7 e8d8 e8f8",
}


@pytest.mark.parametrize("fen", ORDERS)
def test_moves_come_in_stockfishs_order(fen: str) -> None:
    position = Position(fen)
    assert " ".join(position.uci(move) for move in stockfish_order(position)) == ORDERS[fen]


def test_the_total_is_the_sum_of_the_rows_at_any_depth() -> None:
    said: list[str] = []
    position = Position("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1")
    assert print_divide(position, 1, said.append) == 14
    assert print_divide(position, 6, said.append) == 11030083
    *rows, blank, total, end = said[17:]
    assert (blank, total, end) == ("", "Nodes searched: 11030083", "")
    assert sum(int(row.split(": ")[1]) for row in rows) == 11030083
