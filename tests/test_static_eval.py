"""Correction history: the error of the static evaluation that the search found, added to the next of its kind."""

import numpy as np
import pytest

from merino.core.board.bitboard import ZERO
from merino.core.board.game import Position
from merino.core.board.move import NO_MOVE
from merino.core.compiled.jit import entry
from merino.engine.search.alpha_beta import store_result
from merino.engine.search.limits import KNOWN_WIN
from merino.engine.search.parameters import PARAMETERS
from merino.engine.search.searcher import Searcher
from merino.engine.search.state import NO_SCORE
from merino.engine.search.static_eval import set_static_eval, update_correction_history
from merino.engine.search.transposition import EXACT, LOWER_BOUND, UPPER_BOUND
from merino.engine.search.worker import Worker
from merino.eval.families import default
from tests.workers import worker_at

ENDGAME = "4k3/pp3p2/8/8/8/8/PPP2PPP/4K3 w - - 0 1"
KING_ELSEWHERE = "6k1/pp3p2/8/8/8/8/PPP2PPP/4K3 w - - 0 1"
OTHER_PAWNS = "6k1/pp2p3/8/8/8/8/PPP2PPP/1K6 w - - 0 1"
BLACK_TO_MOVE = "4k3/pp3p2/8/8/8/8/PPP2PPP/4K3 b - - 0 1"
CHECK = "4k3/pp3p2/8/8/4r3/8/PPP2PPP/4K3 w - - 0 1"
MAX_CORRECTION = sum(
    parameter.default * (2 if parameter.name.endswith("pieces") else 1)
    for parameter in PARAMETERS
    if parameter.name.startswith("correction_")
)


@entry
def _static_eval(records):
    set_static_eval(records[0], 0, ZERO)
    return records[0].plies[0].static_eval


@entry
def _learn(records, error, depth, times):
    for _ in range(times):
        update_correction_history(records[0], 0, error, depth)


@pytest.fixture
def worker() -> Worker:
    return worker_at(Position(), default())


def static_eval(worker: Worker, fen: str) -> int:
    """In centipawns for the side to move, corrected."""
    worker.set_root(Position(fen), full_width=False)
    return int(_static_eval(worker.record))


def learn(worker: Worker, fen: str, error: int, depth: int = 8, times: int = 1) -> None:
    """Record that the search found the score of a position off by `error`."""
    worker.set_root(Position(fen), full_width=False)
    _learn(worker.record, error, depth, times)


@pytest.mark.parametrize(("turn", "wanted"), [("w", KNOWN_WIN - 1), ("b", 1 - KNOWN_WIN)])
def test_an_evaluation_beyond_all_judgement_is_that_of_the_table(turn: str, wanted: int) -> None:
    heavy = default().with_numbers(dict.fromkeys(("VAL_N", "VAL_B", "VAL_R", "VAL_Q"), 3000))
    worker = worker_at(Position(), heavy)
    queens = f"QQQQQQQQ/QRRBBNN1/8/8/8/8/6k1/K7 {turn} - - 0 1"
    assert abs(heavy.scores(Position(queens).record)[0]) > 40_000  # 16 bits do not hold it
    static_eval(worker, queens)
    assert worker.record[0]["plies"][0]["raw_eval"] == wanted


@pytest.mark.parametrize("sign", [1, -1])
def test_an_error_seen_often_moves_the_score_toward_it_but_not_without_limit(worker: Worker, sign: int) -> None:
    shifts, before = [], static_eval(worker, ENDGAME)
    for _ in range(5):
        learn(worker, ENDGAME, sign * 100, times=5)
        shifts.append(sign * (static_eval(worker, ENDGAME) - before))
    assert 0 < shifts[0] < shifts[1] < shifts[2]
    learn(worker, ENDGAME, sign * 10_000, depth=60, times=1000)
    assert shifts[-1] < sign * (static_eval(worker, ENDGAME) - before) <= MAX_CORRECTION


def test_positions_share_what_their_pawns_taught(worker: Worker) -> None:
    fens = (ENDGAME, KING_ELSEWHERE, OTHER_PAWNS, BLACK_TO_MOVE)
    before = [static_eval(worker, fen) for fen in fens]
    learn(worker, ENDGAME, 100, times=10)
    same, shared, none, other_side = (static_eval(worker, fen) - old for fen, old in zip(fens, before, strict=True))
    assert same > shared > 0
    assert none == other_side == 0


def test_in_check_there_is_no_static_eval(worker: Worker) -> None:
    assert static_eval(worker, CHECK) == NO_SCORE


def test_a_cleared_worker_has_forgotten(worker: Worker) -> None:
    before = static_eval(worker, ENDGAME)
    learn(worker, ENDGAME, 100, times=10)
    worker.forget()
    assert static_eval(worker, ENDGAME) == before


@entry
def _keep_result(records, best, bound, depth):
    s = records[0]
    set_static_eval(s, 0, ZERO)
    store_result(s, 0, best, NO_MOVE, bound, depth)


@pytest.mark.parametrize(
    ("bound", "error", "direction"),
    [
        (EXACT, 80, 1),
        (EXACT, -80, -1),
        (LOWER_BOUND, 80, 1),
        (LOWER_BOUND, -80, 0),  # at least something lower: no news
        (UPPER_BOUND, -80, -1),
        (UPPER_BOUND, 80, 0),
    ],
)
def test_the_score_moves_toward_what_a_search_found(worker: Worker, bound: int, error: int, direction: int) -> None:
    before = static_eval(worker, ENDGAME)
    for _ in range(10):
        worker.set_root(Position(ENDGAME), full_width=False)
        _keep_result(worker.record, before + error, bound, 8)
    assert np.sign(static_eval(worker, ENDGAME) - before) == direction


def test_the_threads_of_a_search_share_what_one_has_found_out() -> None:
    searcher = Searcher(1, threads=3)
    main, *helpers = searcher._workers
    before = static_eval(main, ENDGAME)
    learn(helpers[0], ENDGAME, 100, times=5)
    assert static_eval(main, ENDGAME) == static_eval(helpers[1], ENDGAME) > before
    searcher.clear()
    assert {static_eval(worker, ENDGAME) for worker in searcher._workers} == {before}
