"""The evaluation as a whole: linear in its weights, the same for both colours, near GreKo's own figures."""

import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.fen import parse_fen
from merino.eval.linear.compiled import counts_of, features_of, scores_of
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import SHIPPED, load
from merino.eval.material import after_rules
from tests import naive
from tests.boards import placed, playouts, records, sparse
from tests.shipped import one_phase

NAMES = [term.name for term in TERMS]
BEFORE = SHIPPED / "greko2015-before-training.txt"
AFTER = SHIPPED / "greko2015-after-training.txt"


@cache
def many() -> list[chess.Board]:
    return [*playouts(501, 1000), *playouts(502, 200, chess960=True), *sparse(503, 600)]


@cache
def few() -> list[chess.Board]:
    return [*playouts(501, 1000)[::20], *sparse(503, 600)[::6]]


@pytest.fixture(scope="module")
def positions() -> np.ndarray:
    return records(many())


def random_weights(seed: int) -> np.ndarray:
    """Weights anywhere within their bounds."""
    draw = random.Random(seed)
    return np.array([draw.uniform(*term.bounds) for term in TERMS])


def from_the_features(positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The scores as they follow from the features, not yet rounded: the sum, the rules, for the side to move."""
    sums = features_of(positions) @ weights
    whites = [after_rules(positions[index : index + 1], score) for index, score in enumerate(sums.tolist())]
    return np.array(whites) * np.where(positions["side"] == WHITE, 1, -1)


def assert_rounded(scores: np.ndarray, exact: Iterable[float]) -> None:
    """Each score is the whole number next to the exact one; either, where that ends in a half."""
    assert scores.dtype == np.int64
    np.testing.assert_allclose(scores, list(exact), rtol=0, atol=0.5 + 1e-6)


@pytest.mark.parametrize("seed", [None, 1, 2, 3], ids=["default", "random 1", "random 2", "random 3"])
def test_the_score_is_the_sum_of_weights_times_features(positions, seed):
    weights = one_phase() if seed is None else random_weights(seed)
    assert_rounded(scores_of(positions, weights), from_the_features(positions, weights))


@pytest.mark.parametrize("index", range(len(TERMS)), ids=NAMES)
def test_a_weight_multiplies_the_feature_of_its_own_name(index):
    positions, weights = records(few()), np.zeros(len(TERMS))
    weights[index] = 1000.0
    by_name = dict.fromkeys(NAMES, 0.0) | {NAMES[index]: 1000.0}
    assert_rounded(scores_of(positions, weights), from_the_features(positions, weights))
    assert_rounded(scores_of(positions, weights), (naive.evaluate(board, by_name) for board in few()))


@pytest.mark.parametrize("seed", [None, 4], ids=["default", "random"])
def test_the_score_is_that_of_the_python_chess_spelling(seed):
    weights = one_phase() if seed is None else random_weights(seed)
    by_name = dict(zip(NAMES, weights.tolist(), strict=True))
    assert_rounded(scores_of(records(few()), weights), (naive.evaluate(board, by_name) for board in few()))


def test_turning_the_board_round_swaps_the_sides_and_keeps_the_score(positions):
    turned = records(board.mirror() for board in many())
    counts, turned_counts = counts_of(positions), counts_of(turned)
    np.testing.assert_allclose(turned_counts[:, WHITE], counts[:, BLACK], rtol=0, atol=1e-12)
    np.testing.assert_allclose(turned_counts[:, BLACK], counts[:, WHITE], rtol=0, atol=1e-12)
    np.testing.assert_allclose(features_of(turned), -features_of(positions), rtol=0, atol=1e-12)
    for weights in (one_phase(), random_weights(5)):
        assert np.array_equal(scores_of(turned, weights), scores_of(positions, weights))


# greko.md has a twelfth position, but with a pawn on its first rank.
@pytest.mark.parametrize(
    ("fen", "before", "after"),
    [
        (chess.STARTING_FEN, 0, 0),
        ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 37, 63),
        ("rnbqkb1r/pp3ppp/4pn2/2pp4/2PP4/2N2N2/PP2PPPP/R1BQKB1R w KQkq - 0 5", 53, 77),
        ("r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 10", -79, -78),
        ("8/5pk1/6p1/1P6/8/5KP1/5P2/8 w - - 0 1", 209, 319),
        ("8/5pk1/6p1/1P6/8/5KP1/5P2/8 b - - 0 1", -199, -280),
        ("4r1k1/1P3ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1", 214, 230),
        ("3r2k1/5ppp/2N5/1P6/4n3/8/5PPP/2R3K1 b - - 0 1", -157, -164),
        ("6k1/5ppp/8/8/3Q4/8/5PPP/6K1 w - - 0 1", 1204, 1227),
        ("2r2rk1/1b3ppp/p3pn2/1p1q4/3N4/P3BP2/1P2Q1PP/2R2RK1 w - - 0 1", -62, -63),
        ("4kb2/pp6/8/8/8/8/PPP5/4KB2 w - - 0 1", 50, 50),
    ],
)
def test_a_reference_position_is_worth_what_greko_says(fen, before, after):
    position = parse_fen(fen)
    assert abs(int(scores_of(position, load(BEFORE))[0]) - before) <= 10
    assert abs(int(scores_of(position, load(AFTER))[0]) - after) <= 10


@pytest.mark.parametrize(("column", "path"), [(1, BEFORE), (2, AFTER)], ids=["before training", "after training"])
def test_the_scores_of_1500_positions_are_grekos_but_for_its_truncation(column, path):
    lines = (Path(__file__).parent / "data" / "greko_eval_dev.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len(rows) == 1500
    positions = np.concatenate([parse_fen(row[0]) for row in rows])
    differences = scores_of(positions, load(path)) - np.array([int(row[column]) for row in rows])
    assert np.abs(differences).max() <= 10
    assert np.mean(np.abs(differences) <= 5) >= 0.93
    assert abs(differences.mean()) < 0.5
    whites = differences * np.where(positions["side"] == WHITE, 1, -1)
    assert abs(whites.mean()) < 0.5


@pytest.mark.parametrize(
    ("fen", "score", "after"),
    [
        # Too little to mate.
        ("4k3/8/8/8/8/8/8/4K3 w - -", 100, 0),
        ("4k3/8/8/8/8/8/8/4KB2 w - -", 400, 0),
        ("4k3/8/8/8/8/8/8/4KN2 b - -", 400, 0),
        ("4kn2/8/8/8/8/8/8/4KB2 w - -", 50, 0),
        ("4kn2/8/8/8/8/8/8/4KN2 w - -", -50, 0),
        # A rook or more is no draw by this rule.
        ("4k3/8/8/8/8/8/8/4K2R w - -", 600, 600),
        ("4kb2/8/8/8/8/8/8/4K2R w - -", 200, 200),
        # Rook pawn and wrong bishop, the king in the corner.
        ("k7/8/8/8/P7/8/8/2B1K3 w - -", 500, 0),
        ("8/1k6/8/8/P7/8/8/2B1K3 w - -", 500, 0),
        ("1k6/8/8/8/P7/8/8/2B1K3 b - -", 500, 0),
        ("7k/8/8/8/7P/8/8/4KB2 w - -", 500, 0),
        ("2k5/8/8/8/P7/8/8/2B1K3 w - -", 500, 500),  # not in the corner
        ("8/8/k7/8/P7/8/8/2B1K3 w - -", 500, 500),
        ("7k/8/8/8/P7/8/8/2B1K3 w - -", 500, 500),  # in the other corner
        ("8/8/8/8/P7/8/k7/2B1K3 w - -", 500, 500),
        ("k7/8/8/8/P7/8/8/4KB2 w - -", 500, 500),  # the bishop guards a8
        ("7k/8/8/8/7P/8/8/2B1K3 w - -", 500, 500),  # and h8
        ("1k6/8/8/8/1P6/8/8/2B1K3 w - -", 500, 500),  # no rook pawn
        ("k7/8/8/8/P7/P7/8/2B1K3 w - -", 600, 600),  # two pawns
        ("k7/8/8/8/P7/8/8/2N1K3 w - -", 500, 500),  # a knight is no bishop
        ("k7/7p/8/8/P7/8/8/2B1K3 w - -", 400, 400),  # Black has a pawn
        ("kn6/8/8/8/P7/8/8/2B1K3 w - -", 100, 100),  # Black has a piece
        # A side without pawns and with less than a rook cannot be ahead.
        ("4k3/p7/8/8/8/8/8/4KB2 w - -", 300, 0),
        ("4k3/p7/8/8/8/8/8/4KB2 w - -", -300, -300),
        ("4kn2/8/8/8/8/8/P7/4K3 w - -", -300, 0),
        ("4kn2/8/8/8/8/8/P7/4K3 w - -", 300, 300),
        ("4k3/p7/8/8/8/8/8/3NKB2 w - -", 700, 700),
        ("r3k2r/pp6/8/8/8/8/8/4KN2 w - -", 300, 0),
        # Nor do two knights win, unless there is a pawn.
        ("4k3/8/8/8/8/8/8/3NKN2 w - -", 790, 0),
        ("3nkn2/8/8/8/8/8/8/3NKN2 w - -", 10, 0),
        ("4k2r/8/8/8/8/8/8/3NKN2 w - -", 100, 0),
        ("4k2r/8/8/8/8/8/8/3NKN2 w - -", -100, -100),
        ("4k3/7p/8/8/8/8/8/3NKN2 w - -", 690, 690),
        ("4k3/8/8/8/8/8/8/3NKB2 w - -", 790, 790),
        ("4k3/8/8/8/8/8/8/2NNKN2 w - -", 990, 990),
        # Bishops of opposite colours halve the score.
        ("4kb2/pp6/8/8/8/8/PPP5/4KB2 w - -", 100, 50),
        ("2b1k3/pp6/8/8/8/8/PPP5/4KB2 w - -", 100, 100),
        ("4kb2/pp6/8/8/8/8/PPP5/3NKB2 w - -", 500, 500),
        ("4kn2/pp6/8/8/8/8/PPP5/4KB2 w - -", 100, 100),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", 30, 30),
    ],
)
def test_the_draw_rules_change_a_score_as_stated(fen, score, after):
    assert after_rules(parse_fen(fen), score) == after
    assert after_rules(parse_fen(chess.Board(fen).mirror().fen()), -score) == -after
    assert naive.after_rules(chess.Board(fen), score) == after


@pytest.mark.parametrize(
    ("white", "black"),
    [
        *(("KBP", "K"), ("KB", "KB"), ("KBP", "KB"), ("KBPP", "KBP"), ("KN", "KP"), ("KN", "KPP")),
        *(("KNN", "K"), ("KNN", "KR"), ("KNN", "KP"), ("KNN", "KN"), ("KBN", "KP")),
        *(("KR", "KB"), ("KBB", "K"), ("KNPP", "KB"), ("KRRPP", "KN"), ("KRNBPP", "K")),
    ],
)
def test_the_draw_rules_are_those_of_the_python_chess_spelling(white, black):
    draw = random.Random(42)
    for _ in range(150):
        board = placed(draw, white, black)
        for score in (-75.0, 75.0):
            turned = board.mirror() if draw.random() < 0.5 else board
            assert after_rules(parse_fen(turned.fen()), score) == naive.after_rules(turned, score), turned.fen()


def test_a_row_of_features_changes_its_sign_with_the_colours():
    fens = ("r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R2Q1RK1 w - - 0 9", "8/P5k1/8/8/3p4/8/5PPP/2R3K1 b - - 0 1")
    boards = [chess.Board(fen) for fen in fens]
    own, turned = (features_of(records(each)) for each in (boards, [board.mirror() for board in boards]))
    assert own == pytest.approx(-turned)
    assert np.count_nonzero(own) > 15
