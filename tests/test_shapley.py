"""Shapley values of pieces: they add up to the score, in every family, and say how sure they are."""

import json
from itertools import permutations

import chess
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.bitboard import EMPTY
from merino.core.board.game import Position
from merino.eval.evaluation import Evaluation
from merino.eval.families import load_evaluation
from merino.study import shapley
from merino.study.reporting import report_moves
from merino.study.shapley import Coalitions, shapley_of, shapley_values
from tests.material_family import MaterialEvaluation

NAMES = ("default", "gen12", "pieces1")
MIDDLEGAME = "r1bq1rk1/pp3ppp/2n1p3/3n4/1b1P4/2N1BN2/PP3PPP/R2QKB1R w KQ - 0 10"
ENDGAME = "8/5pk1/6p1/8/1P6/4B1P1/5PK1/2b5 b - - 0 50"
FEW = "8/5pk1/8/8/1P6/4B3/6K1/2b5 b - - 0 50"
CASTLED = "r4rk1/5ppp/8/8/8/8/5PPP/2R2RK1 w - - 0 20"


@pytest.fixture(params=NAMES)
def evaluation(request: pytest.FixtureRequest) -> Evaluation:
    return load_evaluation(request.param)


def white_score(evaluation: Evaluation, fen: str) -> int:
    position = Position(fen)
    return int(evaluation.scores(position.record)[0]) * (-1 if position.side else 1)


@pytest.mark.parametrize("fen", [MIDDLEGAME, ENDGAME, FEW, CASTLED])
def test_baseline_and_values_are_the_score(evaluation: Evaluation, fen: str) -> None:
    found = shapley_values(Position(fen).record, evaluation, 20.0)
    assert found.score == white_score(evaluation, fen)
    assert found.baseline + sum(piece.value for piece in found.pieces.values()) == pytest.approx(found.score)
    assert [chess.parse_square(square) for square in found.pieces] == sorted(chess.Board(fen).piece_map())


def test_few_pieces_have_the_mean_over_all_orders(evaluation: Evaluation) -> None:
    def score(present: tuple[int, ...]) -> float:
        board = chess.Board(FEW)
        for square, piece in board.piece_map().items():
            if square not in present:
                board.remove_piece_at(square)
                if piece.piece_type == chess.KING:
                    board.set_piece_at(chess.E1 if piece.color else chess.E8, piece)
        return white_score(evaluation, board.fen())

    squares = sorted(chess.Board(FEW).piece_map())
    known = {present: score(present) for order in permutations(squares) for present in _sets(order)}
    gains = {square: list[float]() for square in squares}
    for order in permutations(squares):
        for before, after in zip(_sets(order), _sets(order)[1:], strict=False):
            (new,) = set(after) - set(before)
            gains[new].append(known[after] - known[before])
    found = shapley_values(Position(FEW).record, evaluation)
    assert found.orders == found.error == 0
    for square, piece in found.pieces.items():
        assert piece.value == pytest.approx(np.mean(gains[chess.parse_square(square)]))


def _sets(order: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(sorted(order[:count])) for count in range(len(order) + 1)]


def test_drawn_orders_agree_with_all_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    record, evaluation = Position(CASTLED).record, load_evaluation("gen12")
    exact = shapley_values(record, evaluation)
    monkeypatch.setattr(shapley, "MAX_EXACT", 5)
    drawn = shapley_values(record, evaluation, 1.0)
    assert exact.orders == 0 < drawn.orders and 0 < drawn.error <= 1.0
    for one, other in zip(exact.pieces.values(), drawn.pieces.values(), strict=True):
        assert abs(one.value - other.value) <= 4 * other.error + 1e-9


def test_a_smaller_error_draws_more_orders_and_the_same_ones_each_time() -> None:
    record, evaluation = Position(MIDDLEGAME).record, load_evaluation("gen12")
    rough, fine = shapley_values(record, evaluation, 20.0), shapley_values(record, evaluation, 5.0)
    assert fine.orders > rough.orders and fine.error <= 5.0 < rough.error <= 20.0
    assert shapley_values(record, evaluation, 20.0) == rough


def test_a_piece_that_makes_no_difference_has_no_value() -> None:
    board = chess.Board(MIDDLEGAME)
    found = shapley_of(Position(board.fen()).record, lambda positions: np.zeros(len(positions)) + 7, 1.0)
    assert {piece.value for piece in found.pieces.values()} == {0.0} and found.baseline == found.score == 7


def test_what_two_pieces_earn_together_is_shared_by_halves_without_an_error() -> None:
    def together(positions: np.ndarray) -> np.ndarray:
        queen, rook = (positions["board"][:, square] != EMPTY for square in (chess.D1, chess.A1))
        return 100.0 * (queen & rook)

    found = shapley_of(Position(MIDDLEGAME).record, together, 1.0)
    worth = {chess.parse_square(square): piece.value for square, piece in found.pieces.items()}
    assert worth[chess.D1] == worth[chess.A1] == 50 and found.error == 0 < found.orders


def test_values_of_a_sum_over_pieces_are_their_summands() -> None:
    found = shapley_values(Position(MIDDLEGAME).record, MaterialEvaluation(), 1.0)
    worth = {chess.parse_square(square): piece.value for square, piece in found.pieces.items()}
    assert worth[chess.D1] == pytest.approx(900, abs=5) == -worth[chess.D8]  # but for the draw rules, which need pawns
    assert worth[chess.A1] == pytest.approx(worth[chess.H1], abs=5) == 500


def test_a_king_at_home_adds_nothing_and_a_king_elsewhere_what_his_place_makes() -> None:
    evaluation = load_evaluation("gen12")
    home, moved = (
        shapley_values(Position(fen).record, evaluation).pieces
        for fen in ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "4k3/8/8/4K3/8/8/4P3/8 w - - 0 1")
    )
    assert home["e1"].value == home["e8"].value == 0 < moved["e5"].value


def test_without_a_piece_its_castling_right_goes() -> None:
    record = Position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").record
    game = Coalitions(record, lambda positions: np.zeros(len(positions)))
    (without,) = game.positions(game.sets_of(np.array([[0, 2, 3]])).sum(axis=1, dtype=np.uint64))
    assert int(without["castling"]) == 1 << chess.A1 | 1 << chess.A8 | 1 << chess.H8


def test_a_quiet_move_changes_least_where_it_does_nothing() -> None:
    position = Position(MIDDLEGAME)
    (move,) = report_moves(
        position, [position.parse_uci("e3d2")], load_evaluation("gen12"), None, None, shapley=20.0
    ).moves
    changes = {change.square: change.shapley_change_cp for change in move.pieces}
    assert max(changes, key=lambda square: abs(changes[square])) in ("e3", "d5")
    assert np.median(np.abs(list(changes.values()))) < 8  # less than the errors of the values themselves


def test_json_of_explain_has_the_values_and_the_words_of_a_net(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", MIDDLEGAME, "--evalfile", "gen12", "--shapley", "--error", "20", "--json", "--static"]) == 0
    found = json.loads(capsys.readouterr().out)
    total = found["baseline"] + sum(piece["value"] for piece in found["shapley"].values())
    assert total == pytest.approx(found["score"]) and found["score"] == found["static"]["score_cp"]
    assert all(0 <= piece["error"] <= 20 for piece in found["shapley"].values())
    words = found["words"]
    assert sum(term["cp"] for term in words["terms"]) + words["rest"] == pytest.approx(found["score"])


def test_text_of_explain_shows_a_board_of_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", ENDGAME, "--shapley", "--static"]) == 0
    shown = capsys.readouterr().out
    assert "(exact)" in shown and "without any +0.0: score +" in shown


@pytest.mark.parametrize("text", ["0", "-1", "nan", "x"])
def test_an_impossible_error_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", ENDGAME, "--shapley", f"--error={text}"]) == 2
    assert "centipawns" in capsys.readouterr().err
