"""Point values: the vectors are those of the rule, the fit finds what made the results, the intervals are honest."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from merino.formats.pgn_games import read_games
from merino.lab.points import report, values
from merino.lab.points.games import DRAW, PIECES, Draws, Vectors, joined, vectors_of_games
from tests.boards import games_in

OWN_GAMES = Path(__file__).parents[1] / "games" / "selfplay.pgn"
TRUE_WEIGHTS = np.array([0.6, 1.5, 1.7, 2.6, 5.0])
LEVEL = (0, 0, 0, 0, 0)

# Moves, the starting position where it is not the usual one, and the vectors, worked out by hand.
BY_HAND = {
    "a recapture leaves the balance as it was": ("1. e4 d5 2. exd5 Qxd5 3. Nc3 Qa5 4. d4 c6 1-0", None, [LEVEL]),
    "two plies are quiet after a bishop is given for a pawn": (
        "1. e4 e5 2. Bc4 Nc6 3. Bxf7+ Kxf7 4. Nf3 d6 0-1",
        None,
        [LEVEL, (1, 0, -1, 0, 0)],
    ),
    "one quiet ply is not enough": ("1. e4 d5 2. exd5 Nf6 1-0", None, [LEVEL]),
    "a check is not quiet": ("1. e4 d5 2. exd5 Nf6 3. Bb5+ c6 1-0", None, [LEVEL]),
    "a balance that comes back is written again": (
        "1. e4 d5 2. exd5 Nf6 3. c4 c6 4. d4 cxd5 5. Nc3 e6 1-0",
        None,
        [LEVEL, (1, 0, 0, 0, 0), LEVEL],
    ),
    "taking en passant is a capture": ("1. e4 h6 2. e5 d5 3. exd6 h5 4. a3 a6 1-0", None, [LEVEL, (1, 0, 0, 0, 0)]),
    "a promotion is not quiet and changes the balance": (
        "1. Kb1 Kb6 2. e8=N Kc5 3. Kc1 1-0",
        "8/4P3/k7/8/8/8/8/K7 w - - 0 1",
        [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0)],
    ),
    "a game of one ply has none": ("1. e4 1-0", None, []),
}


def extracted(pgn: str) -> Vectors:
    return vectors_of_games(read_games(pgn.encode()))[0]


def rows(vectors: Vectors) -> list[tuple[int, ...]]:
    return [tuple(row) for row in vectors.differences.tolist()]


@pytest.mark.parametrize("name", BY_HAND)
def test_vectors_are_those_worked_out_by_hand(name: str) -> None:
    moves, fen, expected = BY_HAND[name]
    tags = f'[SetUp "1"]\n[FEN "{fen}"]\n\n' if fen else ""
    assert rows(extracted(tags + moves)) == expected


def features_by_python_chess(board: chess.Board) -> list[int]:
    """The features once more, White's less Black's."""
    sides = []
    for colour in chess.COLORS:
        pawn, knight, bishop, rook, queen = (len(board.pieces(kind, colour)) for kind in range(1, 6))
        sides.append([int(bishop > 1), knight * (pawn - 5), rook * (pawn - 5), int(queen * knight > 0), int(pawn > 0)])
    return [white - black for white, black in zip(*sides, strict=True)]


def phase_by_python_chess(board: chess.Board) -> int:
    """The phase once more."""
    units = {"n": 3, "b": 3, "r": 5, "q": 10}
    left = sum(units.get(piece.symbol().lower(), 0) for piece in board.piece_map().values())
    return 0 if left >= 52 else 2 if left <= 26 else 1


def by_the_rule(game: chess.pgn.Game, see: Callable[[chess.Board], tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The rule once more, from its words: what is seen after two quiet plies, where it has changed."""
    board, quiet, found = game.board(), 0, list[tuple[int, ...]]()
    for move in game.mainline_moves():
        is_noisy = board.is_capture(move) or move.promotion is not None
        board.push(move)
        quiet = 0 if is_noisy or board.is_check() else quiet + 1
        if quiet >= 2 and (not found or see(board) != found[-1]):
            found.append(see(board))
    return found


def all_of(board: chess.Board) -> tuple[int, ...]:
    return (*material(board), *features_by_python_chess(board), phase_by_python_chess(board))


def test_vectors_of_our_own_games_are_those_of_python_chess() -> None:
    text = "[Event ".join(OWN_GAMES.read_text().split("[Event ")[:31])  # python-chess is slow
    plain = extracted(text)
    rich, _ = vectors_of_games(read_games(text.encode()), features=True, phase=True)
    columns = np.column_stack([rich.columns, rich.phase])
    for number, game in enumerate(games_in(text)):
        assert [tuple(row) for row in plain.differences[plain.game == number].tolist()] == by_the_rule(game, material)
        assert [tuple(row) for row in columns[rich.game == number].tolist()] == by_the_rule(game, all_of)
        assert plain.results[number] == {"0-1": 0, "1/2-1/2": 1, "1-0": 2}[game.headers["Result"]]
    assert plain.games == 30 and len(set(rich.phase.tolist())) == 3


def material(board: chess.Board) -> tuple[int, ...]:
    """White's pieces less Black's, by kind."""
    return tuple(len(board.pieces(kind, chess.WHITE)) - len(board.pieces(kind, chess.BLACK)) for kind in range(1, 6))


def test_the_vectors_of_the_balance_are_found_among_those_with_features() -> None:
    games = read_games(OWN_GAMES.read_bytes())
    plain, (rich, _) = vectors_of_games(games)[0], vectors_of_games(games, features=True)
    assert len(rich) > len(plain)
    assert rows(rich.of_balance()) == rows(plain)
    assert rich.of_balance().game.tolist() == plain.game.tolist()


def test_the_vectors_of_a_phase_are_in_the_games_that_reach_it() -> None:
    vectors, _ = vectors_of_games(read_games(OWN_GAMES.read_bytes()), phase=True)
    opening, middlegame, endgame = (vectors.of_phase(number) for number in range(3))
    assert len(opening) + len(middlegame) + len(endgame) == len(vectors)
    assert opening.games == vectors.games > endgame.games
    for part in (opening, middlegame, endgame):
        assert np.unique(part.game).tolist() == list(range(part.games))


def test_a_feature_that_made_the_results_is_found_with_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "SAMPLES", 100)
    vectors = made_up(20_000, seed=9)
    features = np.random.default_rng(100).integers(-1, 2, (len(vectors), 5)).astype(np.int8)
    truth = np.array([*TRUE_WEIGHTS, 0.3, 0, 0, 0, -0.9])
    chance = np.random.default_rng(10).random(len(vectors))
    won = chance < 1 / (1 + np.exp(-(np.hstack([vectors.differences, features]) @ truth)))
    rich = replace(vectors, features=features, results=np.where(won, 2, 0).astype(np.int8))
    fit = values.point_values("made up", rich, Draws.SKIP).with_features
    assert fit is not None
    assert fit.weights == pytest.approx(truth, abs=0.12)
    verdicts = [claim.verdict(fit.interval(claim.counts)) for claim in values.STUDIED]
    assert verdicts[0] == values.PointsVerdict.HOLDS and verdicts[4] == values.PointsVerdict.FAILS
    low, high = fit.interval_of_piece(len(PIECES))
    assert low < 100 * truth[5] / truth[0] < high


def test_an_unfinished_game_counts_as_drawn() -> None:
    assert extracted("1. e4 e5 *\n\n1. d4 d5 1-0").results.tolist() == [1, 2]


def test_games_are_numbered_again_when_chosen_or_joined() -> None:
    vectors = extracted("1. e4 e5 1-0\n\n1. d4 d5 1/2-1/2\n\n" + BY_HAND["a check is not quiet"][0])
    decided = vectors.of_games(vectors.results != DRAW)
    assert (decided.results.tolist(), decided.game.tolist()) == ([2, 2], [0, 1])
    both = joined([decided, extracted("1. d4 d5 0-1\n\n1. d4 d5 1/2-1/2")])
    assert (both.results.tolist(), both.game.tolist()) == ([2, 2, 0, 1], [0, 1, 2, 3])


def made_up(games: int, seed: int, weights: np.ndarray = TRUE_WEIGHTS, vectors_each: int = 1) -> Vectors:
    """Games with random balances, whose results are drawn from what `weights` predict of the last of them."""
    rng = np.random.default_rng(seed)
    differences = rng.integers(-1, 2, (games, vectors_each, len(PIECES))).astype(np.int8)
    differences[:, :, 0] = rng.integers(-3, 4, (games, vectors_each))
    won = rng.random(games) < 1 / (1 + np.exp(-(differences[:, -1] @ weights)))
    game = np.repeat(np.arange(games, dtype=np.int32), vectors_each)
    return Vectors(differences.reshape(-1, len(PIECES)), game, np.where(won, 2, 0).astype(np.int8))


@cache
def of_own_games(draws: Draws) -> values.PointValues:
    return values.point_values("own", extracted(OWN_GAMES.read_text()), draws)


def test_the_fit_finds_the_weights_that_made_the_results() -> None:
    vectors = made_up(40_000, seed=1)
    found = values.fit_all(values.cells_of(vectors.differences, vectors.outcomes))
    assert np.abs(found / TRUE_WEIGHTS - 1).max() < 0.06


@pytest.mark.parametrize("draws", [Draws.SKIP, Draws.HALF])
def test_at_the_fitted_weights_the_cost_has_no_slope(draws: Draws) -> None:
    vectors = extracted(OWN_GAMES.read_text())
    used = vectors.of_games(vectors.results != DRAW) if draws is Draws.SKIP else vectors
    weights, rows_, scores = of_own_games(draws).fit.weights, used.differences.astype(float), used.outcomes / 2
    expected = 1 / (1 + np.exp(-(rows_ @ weights)))
    assert np.abs((expected - scores) @ rows_ / len(used) + 2 * values.PENALTY * weights).max() < 1e-9


def test_games_with_colours_exchanged_give_the_same_weights() -> None:
    vectors = made_up(500, seed=2)
    exchanged = Vectors(-vectors.differences, vectors.game, 2 - vectors.results)
    mine, theirs = (values.fit_all(values.cells_of(v.differences, v.outcomes)) for v in (vectors, exchanged))
    assert mine == pytest.approx(theirs, abs=1e-9)


def test_where_material_always_wins_the_fit_still_ends() -> None:
    differences = np.array([[1, 0, 0, 0, 0], [-1, 0, 0, 0, 0]], dtype=np.int8)
    vectors = Vectors(differences, np.array([0, 1], dtype=np.int32), np.array([2, 0], dtype=np.int8))
    weights = values.fit_all(values.cells_of(vectors.differences, vectors.outcomes))
    slope = 1 / (1 + np.exp(weights[0])) - 2 * values.PENALTY * weights[0]  # of the cost, worked out by hand
    assert weights[0] > 5
    assert slope == pytest.approx(0, abs=1e-9)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    covered = []
    for seed in range(40):
        vectors = made_up(500, seed)
        cells = values.cells_of(vectors.differences, vectors.outcomes)
        found = values.bootstrap(cells, vectors, 250, seed)
        for truth, estimate, resampled in zip(TRUE_WEIGHTS, values.fit_all(cells), found.T, strict=True):
            low, high = values.bootstrap_interval(estimate, resampled)
            covered.append(low < truth < high)
    assert 0.92 < np.mean(covered) < 0.98


def test_repeating_the_vectors_of_a_game_makes_nothing_more_certain() -> None:
    vectors = made_up(300, seed=3)
    tripled = Vectors(np.repeat(vectors.differences, 3, axis=0), np.repeat(vectors.game, 3), vectors.results)
    once, thrice = (
        values.bootstrap(values.cells_of(v.differences, v.outcomes), v, 40, seed=5) for v in (vectors, tripled)
    )
    assert once.std(axis=0) == pytest.approx(thrice.std(axis=0), rel=1e-6)


def test_the_other_values_are_those_with_draws_treated_the_other_way() -> None:
    skip, half = of_own_games(Draws.SKIP), of_own_games(Draws.HALF)
    assert skip.fit.values[0] == half.fit.values[0] == 100
    assert skip.other.values == pytest.approx(half.fit.values)
    assert half.other.values == pytest.approx(skip.fit.values)
    assert skip.fitted_games < half.fitted_games == half.games == skip.games
    assert skip.fit.alpha > half.fit.alpha > 0


def test_a_piece_never_in_the_balance_has_no_value() -> None:
    vectors = made_up(400, seed=6)
    vectors.differences[:, PIECES.index("Q")] = 0
    fit = values.point_values("no queens", vectors).fit
    assert np.isnan(fit.values).tolist() == [False, False, False, False, True]
    assert np.isnan(fit.interval_of_piece(4)).all()
    assert not np.isnan(fit.worth(values.CONDITIONS[0].counts))
    assert values.CONDITIONS[-1].verdict(fit.interval(values.CONDITIONS[-1].counts)) == values.PointsVerdict.OPEN


def test_there_are_no_values_where_an_extra_pawn_loses() -> None:
    fit = values.point_values("giveaway", made_up(400, seed=7, weights=-TRUE_WEIGHTS)).fit
    assert fit.alpha < 0
    assert np.isnan(fit.values).all()
    assert np.isnan(fit.interval_of_piece(1)).all()


def test_capablancas_conditions_are_the_sums_he_wrote() -> None:
    assert {claim.name: claim.counts.tolist() for claim in values.CONDITIONS} == {
        "B > N": [0, -1, 1, 0, 0],
        "B > 3P": [-3, 0, 1, 0, 0],
        "N > 3P": [-3, 1, 0, 0, 0],
        "B + N = R + 1.5P": [-1.5, 1, 1, -1, 0],
        "Q + P = 2R": [1, 0, 0, -2, 1],
    }


@pytest.mark.parametrize(
    ("condition", "low", "high", "verdict"),
    [
        (values.CONDITIONS[0], 3, 40, values.PointsVerdict.HOLDS),
        (values.CONDITIONS[0], -3, 40, values.PointsVerdict.OPEN),
        (values.CONDITIONS[0], -40, -3, values.PointsVerdict.FAILS),
        (values.CONDITIONS[0], float("nan"), float("nan"), values.PointsVerdict.OPEN),
        (values.CONDITIONS[4], -20, 30, values.PointsVerdict.EQUAL),
        (values.CONDITIONS[4], -20, values.MARGIN + 1, values.PointsVerdict.OPEN),
        (values.CONDITIONS[4], 5, 30, values.PointsVerdict.FAILS),
        (values.CONDITIONS[4], -300, -200, values.PointsVerdict.FAILS),
        (values.CONDITIONS[4], float("nan"), float("nan"), values.PointsVerdict.OPEN),
    ],
)
def test_the_interval_gives_the_verdict(condition, low, high, verdict) -> None:
    assert condition.verdict((low, high)) == verdict


def test_the_score_graph_has_the_mean_score_of_each_balance() -> None:
    differences = np.array([[2, 0, 0, 0, 0], [-1, 1, 0, 0, 0], [0, 0, 0, -1, 0], [0, 0, 0, 0, 3]], dtype=np.int8)
    vectors = Vectors(differences, np.array([0, 1, 2, 3], dtype=np.int32), np.array([2, 1, 0, 2], dtype=np.int8))
    graph = values.score_graph(vectors)
    assert graph.counts[values.MAX_BALANCE + 2] == 2
    assert graph.scores[values.MAX_BALANCE + 2] == 0.75  # won, and drawn
    assert graph.scores[values.MAX_BALANCE - 5] == 0
    assert np.isnan(graph.scores[values.MAX_BALANCE])
    assert graph.beyond == 1
    assert graph.counts.sum() + graph.beyond == len(vectors)


def test_the_curve_finds_the_steepness_that_made_the_scores() -> None:
    graph = values.score_graph(made_up(40_000, seed=8, weights=0.4 * values.SCALE))
    assert graph.alpha == pytest.approx(0.4, rel=0.03)
    assert graph.expected(np.array([0, 2])).tolist() == pytest.approx([0.5, 1 / (1 + np.exp(-2 * graph.alpha))])


def test_the_graph_as_text_has_a_row_for_each_balance_that_occurs() -> None:
    graph = of_own_games(Draws.SKIP).graph
    shown = [line.split()[:3] for line in report.render_graph(graph).splitlines() if line[6:7].isdigit()]
    seen = graph.counts > 0
    expected = [
        [f"{balance:+d}", f"{count:,}", f"{score:.3f}"]
        for balance, count, score in zip(graph.balances[seen], graph.counts[seen], graph.scores[seen], strict=True)
    ]
    assert shown == expected[::-1]


def test_what_rounds_to_nothing_has_no_minus() -> None:
    points = of_own_games(Draws.SKIP)
    weights = points.fit.weights
    equal = replace(points.fit, weights=weights - np.array([0, 0, weights[2] - weights[1] + 1e-6, 0, 0]))
    other = replace(points.other, weights=np.array([1, -1e-5, 3, 5, 9]))
    text = report.render([replace(points, fit=equal, other=other)])
    assert re.search(r"^B > N +\+0 ", text, re.MULTILINE) and re.search(r"^Knight +0$", text, re.MULTILINE)
    assert not re.search(r"-0(\.0*)?(?![\d.])", text)


def test_an_interval_is_shifted_by_what_resampling_adds_to_the_estimate() -> None:
    resampled = np.linspace(0, 1, 1001)
    assert values.bootstrap_interval(0.5, resampled) == pytest.approx((0.025, 0.975), abs=0.002)
    low, high = values.bootstrap_interval(0.3, resampled)  # most samples are above the estimate
    assert low < 0.01
    assert high < 0.9


def test_a_table_has_no_values_where_the_value_of_a_pawn_may_be_zero() -> None:
    sets = [of_own_games(Draws.SKIP), values.point_values("noise", made_up(40, 3, weights=np.zeros(5)))]
    text = report.render(sets)
    _, ours, others = (row.split() for row in text.splitlines() if row.startswith("noise "))
    assert sets[1].fit.alpha and not sets[1].fit.is_proved
    assert ours[-5:] == others[-5:] == ["-"] * 5
    assert "noise: A pawn more has not helped in these games" in text
    verdicts = [row.split() for row in text.splitlines() if " noise " in row]
    assert len(verdicts) == 5 and all(row[-6:] == ["-", "not", "decided", "by", "these", "games"] for row in verdicts)
