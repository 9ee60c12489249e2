"""Perft of the positions everybody counts, against the published numbers."""

import pytest

from merino.core.board.fen import START_FEN, parse_fen
from merino.core.board.perft import MAX_DEPTH, perft

# https://www.chessprogramming.org/Perft_Results: leaves at depths 1, 2, 3, ...
PUBLISHED = {
    START_FEN: (20, 400, 8_902, 197_281, 4_865_609, 119_060_324),
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": (48, 2_039, 97_862, 4_085_603),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (14, 191, 2_812, 43_238, 674_624, 11_030_083),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": (6, 264, 9_467, 422_333, 15_833_292),
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (44, 1_486, 62_379, 2_103_487, 89_941_194),
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": (46, 2_079, 89_890, 3_894_594),
    # https://www.chessprogramming.org/Chess960_Perft_Results, the first line of its table
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9": (21, 528, 12_189, 326_672, 8_146_062),
}


def test_the_published_counts_come_to_more_than_100_million_leaves():
    assert sum(counts[-1] for counts in PUBLISHED.values()) > 100_000_000


@pytest.mark.parametrize(("fen", "counts"), PUBLISHED.items())
def test_perft_is_the_published_count_at_every_depth(fen, counts):
    position = parse_fen(fen)
    assert tuple(perft(position, depth) for depth in range(1, len(counts) + 1)) == counts


@pytest.mark.parametrize(("fen", "counts"), PUBLISHED.items())
def test_perft_without_bulk_counting_is_the_published_count(fen, counts):
    position = parse_fen(fen)
    depths = [depth for depth in range(1, len(counts) + 1) if counts[depth - 1] < 5_000_000]
    assert [perft(position, depth, bulk=False) for depth in depths] == [counts[depth - 1] for depth in depths]


def test_perft_leaves_the_position_as_it_was():
    position = parse_fen(START_FEN)
    before = position.tobytes()
    perft(position, 3, bulk=False)
    assert position.tobytes() == before


@pytest.mark.parametrize("fen", ["7k/5Q2/6K1/8/8/8/8/8 b - -", "R5k1/5ppp/8/8/8/8/8/6K1 b - -"])
def test_a_game_that_is_over_has_no_leaves(fen):
    assert [perft(parse_fen(fen), depth) for depth in (0, 1, 2, 3)] == [1, 0, 0, 0]


@pytest.mark.parametrize("depth", [-1, MAX_DEPTH + 1])
def test_a_depth_out_of_range_is_refused(depth):
    with pytest.raises(ValueError, match=f"perft depth {depth} is not within"):
        perft(parse_fen(START_FEN), depth)
