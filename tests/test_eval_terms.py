"""Each of the 27 terms against its python-chess spelling, on playouts, sparse boards and hand-made positions."""

from functools import cache

import chess
import numpy as np
import pytest

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.fen import parse_fen
from merino.eval.linear.compiled import counts_of
from merino.eval.linear.registry import TERMS
from tests import naive
from tests.boards import playouts, records, sparse

COLOURS = ((WHITE, chess.WHITE), (BLACK, chess.BLACK))
COLUMNS = {term.name: index for index, term in enumerate(TERMS)}
# How many of the 1,800 sides must have some of the term, so that the comparison says something.
OFTEN_ENOUGH = 30


@cache
def boards() -> list[chess.Board]:
    return [*playouts(401, 400), *playouts(402, 50, chess960=True), *sparse(403, 450)]


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return counts_of(records(boards()))


def count(name: str, fen: str, colour: int = WHITE) -> float:
    """One side's count of a term before phase share and group multiplier."""
    board, column = chess.Board(fen), COLUMNS[name]
    side = chess.WHITE if colour == WHITE else chess.BLACK
    shared = naive.TERMS[name].multiplier * naive.share(board, side, naive.TERMS[name].phase)
    return float(counts_of(parse_fen(fen))[0, colour, column]) / shared


@pytest.mark.parametrize("name", naive.TERMS)
def test_a_term_agrees_with_python_chess(name, counts):
    found = counts[:, :, COLUMNS[name]]
    expected = np.array([[naive.feature(board, colour, name) for _, colour in COLOURS] for board in boards()])
    wrong = np.flatnonzero(~np.isclose(found, expected, rtol=0, atol=1e-9).all(axis=1))
    assert not len(wrong), f"{boards()[wrong[0]].fen()}: {found[wrong[0]]} instead of {expected[wrong[0]]}"
    assert np.count_nonzero(expected) >= OFTEN_ENOUGH
    assert len(np.unique(expected.round(9))) > 1


@pytest.mark.parametrize(
    ("name", "fen", "expected"),
    [
        ("PawnDoubled", "4k3/8/8/P7/8/P7/P7/4K3 w - -", 2),
        ("PawnIsolated", "4k3/8/8/8/8/8/P1P1PP2/4K3 w - -", 2),
        ("PawnIsolated", "4k3/8/8/1P6/8/8/P7/4K3 w - -", 0),  # a neighbour ahead, and one behind
        ("PawnBackwards", "4k3/8/8/8/2P5/8/1P6/4K3 w - -", 1),
        ("PawnBackwards", "4k3/8/8/8/2P5/8/PP6/4K3 w - -", 0),
        ("PawnBackwards", "4k3/8/8/8/2P5/8/1PP5/4K3 w - -", 0),  # the rearmost of c2 and c4 supports b2
        ("PawnCenter", "4k3/8/4P3/5P2/3P4/4P3/2P5/4K3 w - -", 3),
        ("PawnPassedFreeMax", "4k3/P7/8/8/8/8/8/4K3 w - -", (6 / 7) ** 2),
        ("PawnPassedFreeMax", "4k3/8/8/8/P7/8/p7/4K3 w - -", 0),  # an enemy pawn behind it on its file
        ("PawnPassedFreeMax", "4k3/8/8/1p6/P7/8/8/4K3 w - -", 0),
        ("PawnPassedFreeMax", "4k3/8/8/8/Pp6/8/8/4K3 w - -", (3 / 7) ** 2),  # level is not ahead
        ("PawnPassedFreeMax", "4k3/8/8/R7/P7/8/8/4K3 w - -", 0),
        ("PawnPassedBlockedMax", "4k3/8/8/R7/P7/8/8/4K3 w - -", (3 / 7) ** 2),
        ("PawnPassedBlockedMax", "4k3/8/8/P7/P7/8/8/4K3 w - -", (3 / 7) ** 2),  # both are passed, one is free
        ("PawnPassedKingDist", "3rk3/8/8/8/P7/8/8/4K3 w - -", 4),  # e8 to a5
        ("PawnPassedKingDist", "k2r4/8/8/8/P7/8/8/4K3 w - -", 3),  # a8 to a5
        ("PawnPassedKingDist", "3qk3/8/8/8/P7/8/8/4K3 w - -", 0),
        ("PawnPassedKingDist", "4k3/8/8/8/P7/8/8/4K3 w - -", 0),
        ("PawnPassedSquare", "8/8/8/8/P4k2/8/8/6K1 w - -", 3 / 6),  # f4 is one file too far
        ("PawnPassedSquare", "8/8/8/8/P3k3/8/8/6K1 w - -", 0),
        ("PawnPassedSquare", "8/8/8/8/P4k2/8/8/6K1 b - -", 0),  # he steps into the square
        ("PawnPassedSquare", "8/8/8/8/P5k1/8/8/K7 b - -", 2 / 6),
        ("PawnPassedSquare", "8/8/8/8/P7/1k6/8/6K1 w - -", 3 / 6),  # behind it
        ("PawnPassedSquare", "8/8/8/8/P7/1k6/8/6K1 b - -", 0),
        ("PawnPassedSquare", "4n3/8/8/8/P4k2/8/8/6K1 w - -", 0),
        ("KnightCenter", "4k3/8/8/8/3N4/8/8/N3K3 w - -", 0),
        ("KnightCenter", "4k3/8/8/8/8/5N2/8/4K3 w - -", 1 / 3),
        ("KnightOutpost", "6k1/8/3N4/4P3/8/8/8/4K3 w - -", 1),
        ("KnightOutpost", "4k3/8/2N5/3P4/8/8/8/4K3 w - -", 0),
        ("KnightOutpost", "6k1/8/3N4/8/8/8/8/4K3 w - -", 0),
        ("KnightMobility", "4k3/8/8/8/3N4/8/8/4K3 w - -", 1),
        ("KnightMobility", "4k3/8/8/8/8/8/8/N3K3 w - -", -1),
        ("KnightMobility", "4k3/8/8/8/8/8/7N/4K3 w - -", 1 - 2 * (5 / 6) ** 2),
        ("BishopPairEndgame", "4k3/8/8/8/8/8/8/2B1KB2 w - -", 1),
        ("BishopPairEndgame", "4k3/8/8/8/8/8/8/B1B1KB2 w - -", 0),
        ("BishopPairMidgame", "3qk3/8/8/8/8/8/8/B1B1KB2 w - -", 0),
        ("BishopCenter", "4k3/8/8/8/4B3/8/8/4K3 w - -", 1),
        ("BishopMobility", "4k3/8/8/8/3B4/8/8/4K3 w - -", 1),
        ("BishopMobility", "4k3/8/8/8/8/8/1P6/B3K3 w - -", -1),
        ("Rook7th", "4k3/R6R/8/8/8/8/8/4K3 w - -", 2),
        ("RookOpen", "4k3/p7/8/8/8/8/7P/R3K2R w - -", 1),
        ("RookMobility", "4k3/8/8/8/R2R4/8/8/4K3 w - -", 2),  # they look through each other
        ("RookMobility", "4k3/8/8/8/8/8/P7/RN2K3 w - -", -1),
        ("QueenKingTropism", "4k3/8/4Q3/8/8/8/8/4K3 b - -", 1),
        ("QueenKingTropism", "8/7k/8/8/8/8/8/Q3K3 w - -", 0),
        ("KingCenterEnd", "8/8/8/8/4K3/8/8/k7 w - -", 1),
        ("KingCenterEnd", "8/8/8/4k3/8/8/8/K7 w - -", -1),
    ],
)
def test_a_term_counts_what_its_definition_says(name, fen, expected):
    assert count(name, fen) == pytest.approx(expected)
    assert count(name, chess.Board(fen).mirror().fen(), BLACK) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("square", "quarters"),
    [
        *(("a1", 1), ("b1", 0), ("c1", 0), ("d1", 1), ("e1", 0), ("f1", 1), ("g1", 0), ("h1", 1)),
        *(("e2", 2), ("h2", 2), ("a3", 4), ("e4", 4), ("h8", 4), ("c8", 4)),
    ],
)
def test_a_king_is_exposed_by_the_square_he_stands_on(square, quarters):
    board = chess.Board("3q4/5k2/8/8/8/8/8/8 w - -")
    board.set_piece_at(chess.parse_square(square), chess.Piece.from_symbol("K"))
    assert count("KingCenterMid", board.fen()) == quarters / 4


@pytest.mark.parametrize(
    ("pawns", "king", "missing"),
    [
        ("f2 g2 h2", "g1", 0),
        ("f2 g2 h3", "g1", 1),
        ("f2 g4 h2", "g1", 2),
        ("f5 g2 h2", "g1", 3),
        ("f2 h2", "g1", 3),
        ("", "g1", 9),
        ("g2 h2", "h1", 3),  # the file beyond the edge has no pawn
        ("a2 b2", "a1", 3),
        ("f2 f4 g2 h2", "g1", 0),  # the rearmost counts
        ("f2 g2 h2", "g5", 0),  # wherever the king is
        ("d2 f2 g2 h2", "e1", 3),
        ("d5 e3 f4", "e1", 6),
    ],
)
def test_the_shield_counts_how_far_the_pawns_have_left_the_king(pawns, king, missing):
    board = chess.Board("q3k3/8/8/8/8/8/8/8 w - -")
    board.set_piece_at(chess.parse_square(king), chess.Piece.from_symbol("K"))
    for square in pawns.split():
        board.set_piece_at(chess.parse_square(square), chess.Piece.from_symbol("P"))
    assert count("KingPawnShield", board.fen()) == pytest.approx(-((missing / 9) ** 2))
