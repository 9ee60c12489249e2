"""Scaling of the static evaluation: endings that a lead does not win, and the fifty-move rule."""

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.compiled.jit import entry
from merino.engine.search import limits, static_eval
from merino.engine.search.searcher import Searcher
from merino.eval.linear import compiled, weights


@entry
def _endgame_scaling(positions, score):
    return static_eval.endgame_scaling(positions[0], score)


@entry
def _rule50_scaling(positions, score):
    return static_eval.rule50_scaling(positions[0], score)


def scaled_score(fen: str) -> tuple[int, int]:
    """The evaluation for the side to move, and what the search makes of it."""
    record = Position(fen).record
    score = int(compiled.scores_of(record, weights.defaults())[0])
    return score, int(_endgame_scaling(record, np.int64(score)))


DRAWN_AS_A_RULE = {
    "rook and knight against rook": "8/5R2/8/3KN3/8/4k3/8/7r {} - - 0 99",
    "rook against knight": "8/8/R4n2/5k2/3K4/8/8/8 {} - - 0 122",
    "rook against bishop": "8/8/8/3k4/8/2b5/4K3/R7 {} - - 0 90",
    "two bishops against bishop": "8/8/b4k2/7K/1b6/8/8/3B4 {} - - 0 121",
    "rook and bishop against rook and pawn": "8/8/8/3KB3/6p1/4k3/5R2/7r {} - - 0 99",
}
WON = {
    "queen against rook": "8/8/4k3/8/4r3/8/2K5/7Q {} - - 0 90",
    "bishop and knight": "8/8/4k3/8/8/8/3K4/5B1N {} - - 0 90",
    "two bishops": "8/8/4k3/8/8/8/3K4/5BB1 {} - - 0 90",
    "two rooks against rook": "8/8/4k3/8/4r3/8/2K5/6RR {} - - 0 90",
    "rook, knight and pawn against rook": "8/5R2/8/3KN3/6P1/4k3/8/7r {} - - 0 99",
}


@pytest.mark.parametrize("side", "wb")
@pytest.mark.parametrize("name", DRAWN_AS_A_RULE)
def test_a_lead_of_a_piece_without_pawns_is_worth_little(name: str, side: str) -> None:
    score, ours = scaled_score(DRAWN_AS_A_RULE[name].format(side))
    assert abs(score) >= 100, "the terms alone see an advantage"
    assert abs(ours) <= abs(score) // 4 + 1
    assert ours == 0 or (ours > 0) == (score > 0)


@pytest.mark.parametrize("side", "wb")
@pytest.mark.parametrize("name", WON)
def test_what_wins_keeps_its_score(name: str, side: str) -> None:
    score, ours = scaled_score(WON[name].format(side))
    assert ours == score


def test_two_knights_mate_nobody_but_may_mate_a_king_with_a_pawn() -> None:
    for side in "wb":
        assert scaled_score(f"8/8/8/6N1/2N5/3K4/8/3k4 {side} - - 0 122") == (0, 0)
    assert scaled_score("8/7p/8/6N1/2N5/3K4/8/3k4 w - - 0 122")[1] != 0


@pytest.mark.parametrize("score", [-812, -1, 0, 1, 812])
def test_a_score_is_scaled_down_toward_the_fifty_move_rule(score: int) -> None:
    fens = [f"8/8/4k3/8/4r3/8/2K5/7Q w - - {count} 90" for count in range(100)]
    scores = [int(_rule50_scaling(Position(fen).record, np.int64(score))) for fen in fens]
    assert scores[0] == score
    assert [abs(value) for value in scores] == sorted((abs(value) for value in scores), reverse=True)
    assert all(value * score >= 0 for value in scores)


def test_the_search_distinguishes_a_won_ending_from_one_without_pawns() -> None:
    """The same pieces with and without White's last pawn."""
    searcher = Searcher(hash_mb=4)
    drawn = searcher.search(Position("8/5R2/8/3KN3/8/4k3/8/7r w - - 0 99"), limits.Limits(nodes=20_000)).line
    won = searcher.search(Position("8/5R2/8/3KN3/6P1/4k3/8/7r w - - 0 99"), limits.Limits(nodes=20_000)).line
    assert drawn is not None and won is not None
    assert drawn.score < 200 < won.score
