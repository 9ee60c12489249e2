"""Scores and lines of a search as people read them."""

import math

import chess
import pytest

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.game import Position
from merino.engine.notation.scores import line_text, score_text
from merino.engine.search.limits import MATE_SCORE, Line, Score
from merino.eval.outlook import expected_score

MATE_IN_TWO, MATED_IN_ONE = Score(MATE_SCORE - 3), Score(-MATE_SCORE + 2)


@pytest.mark.parametrize(
    ("score", "turn", "text"),
    [
        (Score(35), WHITE, "+0.35"),
        (Score(35), BLACK, "-0.35"),
        (Score(0), BLACK, "0.00"),
        (MATE_IN_TWO, WHITE, "+M2"),
        (MATE_IN_TWO, BLACK, "-M2"),
        (MATED_IN_ONE, WHITE, "-M1"),
        (MATED_IN_ONE, BLACK, "+M1"),
    ],
)
def test_a_score_is_told_as_white_sees_it(score: Score, turn: int, text: str) -> None:
    assert score_text(score, turn) == text


def test_a_line_tells_depth_score_time_nodes_and_moves() -> None:
    board = chess.Board()
    board.push_san("e4")
    position = Position(board.fen())
    line = Line(9, 12, 1, Score(-20), "lowerbound", 1_234_567, 1000, 0, 1500, (position.parse_uci("e7e5"),))
    assert line_text(line, board) == "depth  9   +0.20!    1.5 s    1.2M nodes  1...e5"
    assert line_text(line, board, is_narrow=True) == " 9  +0.20!   1.5 s  1.2M  1...e5"
    assert "?" in line_text(line._replace(bound="upperbound"), board)


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (9_999, "9999"),
        (999_999, "1000k"),
        (99_940_000, "99.9M"),
        (99_999_999, "100M"),
        (1_234_567_890, "1235M"),
        (12_345_678_901, "12.3G"),
        (1_234_567_890_123, "1235G"),
    ],
)
def test_a_number_of_nodes_keeps_its_columns(nodes: int, text: str) -> None:
    line = Line(9, 12, 1, Score(0), "", nodes, 1000, 0, 1500, ())
    assert line_text(line, chess.Board(), is_narrow=True) == f" 9    0.00   1.5 s {text:>5}  "


def test_what_one_side_expects_the_other_does_not() -> None:
    assert expected_score(200, 200) == pytest.approx(1 / (1 + math.exp(-1)))
    for centipawns in (0, 1, 35, 200, 3000, 30_000):
        assert expected_score(-centipawns, 200) == pytest.approx(1 - expected_score(centipawns, 200))
    assert expected_score(100, 50) == expected_score(200, 100) > expected_score(100, 100)
