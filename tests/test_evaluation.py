"""The contract of evaluations, held by every family alike: the terms, and a toy one with sums that follow the moves."""

import json
import math
import random
from collections.abc import Callable

import chess
import numpy as np
import pytest

from merino.core.board.bitboard import EMPTY
from merino.core.board.fen import parse_fen
from merino.core.board.game import Position
from merino.core.board.makemove import NOTHING, Changes, changes_of
from merino.core.compiled.jit import entry
from merino.core.compiled.memory import call_evaluation
from merino.engine.report.static import report_change
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.state import new_search_record
from merino.engine.search.tree import make_move, make_null_move
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import default, from_identity, load_evaluation
from merino.eval.linear import compiled
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.sets import derived
from merino.eval.net import updates
from merino.eval.net.family import NetEvaluation
from merino.eval.net.network import Shape
from merino.lab.nets.quantising import quantised
from tests.boards import playouts, records
from tests.material_family import MaterialEvaluation
from tests.test_net import random_weights
from tests.workers import worker_at


def random_net(*layers: object) -> NetEvaluation:
    shape = Shape(*layers)  # type: ignore[arg-type]
    return NetEvaluation(quantised(shape, random_weights(shape), 200.0, {}))


FAMILIES: dict[str, Callable[[], Evaluation]] = {
    "terms": default,
    "two phases": lambda: default().with_numbers({"VAL_R_mg": 500, "KnightOutpost_eg": -50, "KingCenterEnd_mg": 90}),
    "full": lambda: load_evaluation("full"),
    "material": MaterialEvaluation,
    "net": lambda: random_net("ALL", 64),
    "net of two layers": lambda: random_net("ALL", 20, 8, "crelu"),
    "net of eight outputs": lambda: random_net("ALL", 64, 0, "screlu", False, 8),
    "net of two layers and four outputs": lambda: random_net("H", 20, 8, "crelu", False, 4),
    "net of many features": lambda: random_net("KING*H+PV+MC", 16),
    "net of a product of files and ranks": lambda: random_net("H*V", 16),
    "piece-value net": lambda: random_net("ALL", 20, 0, "screlu", True),
}
STARTS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",  # both sides castle
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",  # en passant
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",  # promotions
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",  # Chess960
)
DRAWS = ("8/8/4k3/8/8/3KN3/8/8 w - - 0 1", "8/8/4k3/8/8/3K4/8/8 b - - 0 1", "k7/P7/8/8/8/4B3/8/1K6 w - - 0 1")


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Evaluation:
    return FAMILIES[request.param]()


@entry
def _score_at(records, ply):
    return call_evaluation(records[0].evaluation, records[0], ply)


@entry
def _play(records, ply, move):
    if move == 0:
        make_null_move(records[0], ply)
    else:
        make_move(records[0], ply, move)


@entry
def _changes(positions, move):
    return changes_of(positions[0], move)


def from_scratch(family: Evaluation, board: chess.Board) -> float:
    return float(family.white_scores(parse_fen(board.fen()))[0])


def random_positions(count: int) -> list[chess.Board]:
    """Positions that are no check; treat them as read-only."""
    return [board for board in playouts(1, 2 * count) if not board.is_check()][:count]


def test_colours_turned_turn_nothing_else(family: Evaluation) -> None:
    boards = random_positions(200)
    scores = family.scores(records(boards))
    assert (scores == family.scores(records([board.mirror() for board in boards]))).all()
    assert scores.any()


def test_every_family_explains_its_score_and_values_the_pieces(family: Evaluation) -> None:
    for board in [chess.Board(DRAWS[0]), *random_positions(12)]:
        record = parse_fen(board.fen())
        values = family.value_pieces(record)
        heard, sign = values.explanation, 1 if board.turn else -1
        assert heard.score_white == sign * int(family.scores(record)[0])
        assert heard.sum == pytest.approx(float(family.white_scores(record)[0]))
        assert heard.sum + heard.rule_cp + heard.rounding == pytest.approx(heard.score_white)
        assert bool(heard.lines) == family.has_terms != bool(heard.without_terms)
        assert {piece.square: piece.letter for piece in values.pieces} == {
            square: piece.symbol() for square, piece in board.piece_map().items()
        }
        removals = family.removals(record)[0]
        assert all(piece.removal == removals[piece.square] for piece in values.pieces if piece.letter not in "Kk")
        assert values.is_attributed == family.has_attributed
        if values.shared_cp is not None:
            total = values.attributed(0) - values.attributed(1) + values.shared_cp
            assert total == pytest.approx(heard.sum, abs=1e-6)


def test_a_change_between_two_families_has_no_terms_and_adds_up() -> None:
    record = parse_fen(STARTS[1])
    change = report_change(default().explain(record), MaterialEvaluation().explain(record))
    parts = change.non_term_cp + change.rule_cp + change.rounding_cp
    assert change.terms == () and change.change_cp == pytest.approx(parts)


def test_known_draws_are_worth_nothing(family: Evaluation) -> None:
    positions = np.concatenate([parse_fen(fen) for fen in DRAWS])
    assert not family.scores(positions).any() and family.white_scores(positions).any()


@pytest.mark.parametrize("fen", STARTS)
def test_scores_along_a_game_equal_those_from_scratch(family: Evaluation, fen: str) -> None:
    rng = random.Random(3)
    position = Position(fen)
    worker = worker_at(position, family)
    for _ in range(4):
        worker.set_root(position, full_width=False)
        for ply in range(100):
            moves = position.legal_moves
            if not moves:
                break
            if ply % 3 == 0:  # in between it falls behind, and catches up
                assert _score_at(worker.record, ply) == pytest.approx(family.white_scores(position.record)[0], abs=1e-6)
            if ply % 10 == 9 and not position.is_check():
                _play(worker.record, ply, 0)
                passed = chess.Board(position.fen())
                passed.push(chess.Move.null())
                assert _score_at(worker.record, ply + 1) == pytest.approx(from_scratch(family, passed), abs=1e-6)
            move = rng.choice(moves)
            _play(worker.record, ply, move)
            position.push(move)
        if not position.legal_moves:
            position = Position(fen)


def test_pawns_with_real_weights_are_worth_what_they_are_at_their_stage() -> None:
    family = LinearEvaluation(load_evaluation("full").weights, terms=derived("mine", "full"))
    worker = worker_at(Position(), family)
    for fen in ("4k3/pp6/8/8/8/8/PPP5/3QK3 w - -", "4k3/pp6/8/8/8/8/PPP5/4K3 w - -"):
        worker.set_root(Position(fen), full_width=False)
        assert _score_at(worker.record, 0) == pytest.approx(from_scratch(family, chess.Board(fen)), abs=1e-6)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "terms"])
def test_sums_that_went_another_way_are_not_believed(name: str) -> None:
    family = FAMILIES[name]()
    position = Position(STARTS[1])
    worker = worker_at(position, family)
    for move in position.legal_moves[::3]:
        _play(worker.record, 0, move)
        after = position.copy()
        after.push(move)
        for answer in after.legal_moves:
            _play(worker.record, 1, answer)
            last = after.copy()
            last.push(answer)
            assert _score_at(worker.record, 2) == pytest.approx(family.white_scores(last.record)[0], abs=1e-6)


@pytest.mark.parametrize("fen", STARTS)
def test_what_a_move_changes_is_the_difference_of_the_boards(fen: str) -> None:
    rng, position = random.Random(5), Position(fen)
    for _ in range(100):
        moves = position.legal_moves
        if not moves or position.outcome():
            position = Position(fen)
            continue
        for move in moves:
            after = position.copy()
            after.push(move)
            before_board, after_board = position.record[0]["board"].copy(), after.record[0]["board"]
            changed = Changes(*_changes(position.record, move))
            for gone in {changed.removed, changed.removed_too} - {NOTHING}:
                assert before_board[gone & 63] == gone >> 6
                before_board[gone & 63] = EMPTY
            for come in {changed.added, changed.added_too} - {NOTHING}:
                before_board[come & 63] = come >> 6
            assert (before_board == after_board).all(), (position.fen(), move)
        position.push(rng.choice(moves))


def test_a_search_with_a_family_is_the_same_each_time(family: Evaluation) -> None:
    found = [Searcher(1, 1, family).search(Position(STARTS[1]), Limits(nodes=20_000)).line for _ in range(2)]
    assert found[0]._replace(nps=0, time_ms=0) == found[1]._replace(nps=0, time_ms=0)


def fail_to_compile(*_: object) -> None:
    raise EvaluationError("it does not compile")


def test_an_evaluation_that_does_not_compile_leaves_the_old_one_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MaterialEvaluation, "install", fail_to_compile)
    searcher, position, limits = Searcher(1), Position(STARTS[1]), Limits(nodes=5_000)
    first = searcher.search(position, limits).line
    searcher.clear()
    with pytest.raises(EvaluationError, match="it does not compile"):
        searcher.set_evaluation(MaterialEvaluation())
    assert searcher.search(position, limits).line.pv == first.pv
    searcher.set_threads(2)  # with the old one, too


@pytest.mark.parametrize(("place", "step"), [(compiled, "install"), (updates, "install_of")])
def test_without_its_code_no_search_is_changed(monkeypatch: pytest.MonkeyPatch, place: object, step: str) -> None:
    record, evaluation = new_search_record(), default() if place is compiled else load_evaluation("gen13")
    monkeypatch.setattr(place, step, fail_to_compile)
    with pytest.raises(EvaluationError, match="it does not compile"):
        evaluation.install(record)
    assert not record[0]["evaluation_data"] and not record[0]["accumulators"]


def test_a_searcher_takes_another_family_between_searches() -> None:
    searcher, position = Searcher(1), Position(STARTS[1])
    limits = Limits(nodes=5_000)
    first = searcher.search(position, limits).line
    searcher.set_evaluation(MaterialEvaluation())
    other = searcher.search(position, limits).line
    searcher.set_evaluation(default())
    assert searcher.search(position, limits).line.pv == first.pv
    assert int(other.score) % 100 == 0 != int(first.score) % 100


def test_an_identity_is_plain_data_and_makes_the_evaluation_again() -> None:
    identity = json.loads(json.dumps(default().identity))
    positions = records(random_positions(20))
    assert (from_identity(identity).scores(positions) == default().scores(positions)).all()
    with pytest.raises(EvaluationError, match="material"):  # which no family that comes with Merino has
        from_identity(MaterialEvaluation().identity)


def test_what_a_family_cannot_do_is_refused_by_name(tmp_path) -> None:
    calls = ("attributed", Position().record), ("describe",), ("save", tmp_path / "w.txt"), ("with_numbers", {"x": 1})
    for name, *arguments in calls:
        with pytest.raises(EvaluationError, match="material"):
            getattr(MaterialEvaluation(), name)(*arguments)


def test_only_a_number_has_an_expected_score() -> None:
    family = default()
    assert [family.expected_score(score) for score in (-math.inf, 0, math.inf)] == [0, 0.5, 1]
    for wrong, error, said in (
        (math.nan, ValueError, "centipawns must be a number from -inf to inf, not nan"),
        (10**400, ValueError, "centipawns must be a number from -inf to inf, not one beyond all floating-point"),
        ("200", TypeError, "centipawns must be a number from -inf to inf, not '200'"),
    ):
        with pytest.raises(error, match=said):
            family.expected_score(wrong)
    with pytest.raises(ValueError, match=r"k must be a number from .*, not one beyond all"):
        family.with_k(10**400)


def test_another_k_changes_what_a_score_promises_and_nothing_else() -> None:
    family = default()
    other = family.with_k(2 * family.k)
    assert other.expected_score(200) < family.expected_score(200) and other.identity == family.identity
