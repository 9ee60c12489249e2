"""The histories of the search: which way they learn, and that they stay within their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from merino.inner.core.board.game import Position
from merino.inner.core.board.move import NO_MOVE
from merino.inner.core.compiled.jit import entry
from merino.inner.engine.search.history import (
    HISTORY_BITS,
    noisy_history,
    note_searched,
    quiet_history,
    update_histories,
)
from merino.inner.engine.search.transposition import TranspositionTable
from merino.inner.engine.search.tree import make_move
from merino.inner.engine.search.worker import Worker
from merino.inner.eval.families import default

FEN = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4"
QUIET, OTHER_QUIET, CAPTURE, OTHER_CAPTURE = "d2d3", "b1c3", "f3e5", "c4f7"
LIMIT = 1 << HISTORY_BITS


@entry
def _reward(records, ply, best, tried, quiet, depth, times):
    for _ in range(times):
        records[0].plies[ply].quiets = records[0].plies[ply].noisies = 0
        for index in range(len(tried)):
            note_searched(records[0], ply, tried[index], quiet[index])
        update_histories(records[0], ply, best, depth)


@entry
def _histories(records, ply, quiet_move, noisy_move):
    return quiet_history(records[0], ply, quiet_move), noisy_history(records[0], ply, noisy_move)


@entry
def _follow(records, move):
    make_move(records[0], 0, move)


@pytest.fixture
def worker() -> Worker:
    worker = Worker(TranspositionTable(1), np.zeros(1, dtype=np.uint64), default())
    worker.set_root(Position(FEN), full_width=False)
    return worker


def tell(
    worker: Worker, best: str | None, tried: tuple[str, ...], depth: int = 8, times: int = 1, ply: int = 0
) -> None:
    """Reward `best` (None: all failed low) at a node where the moves `tried` were searched."""
    position = Position(FEN)
    moves = np.array([position.parse_uci(move) for move in tried], dtype=np.int64)
    quiet = np.array([move in (QUIET, OTHER_QUIET) for move in tried])
    number = position.parse_uci(best) if best else NO_MOVE
    _reward(worker.record, ply, number, moves, quiet, depth, times)


def quiet_value(worker: Worker, move: str) -> int:
    position = Position(FEN)
    return int(_histories(worker.record, 0, position.parse_uci(move), position.parse_uci(CAPTURE))[0])


def noisy_value(worker: Worker, move: str) -> int:
    position = Position(FEN)
    return int(_histories(worker.record, 0, position.parse_uci(QUIET), position.parse_uci(move))[1])


def test_a_quiet_move_that_cuts_off_is_credited_and_those_tried_before_it_blamed(worker: Worker) -> None:
    tell(worker, QUIET, (OTHER_QUIET, CAPTURE, QUIET))
    assert quiet_value(worker, QUIET) > 0
    assert quiet_value(worker, OTHER_QUIET) < 0
    assert noisy_value(worker, CAPTURE) < 0


def test_a_capture_that_cuts_off_is_credited_and_quiet_moves_are_left_alone(worker: Worker) -> None:
    tell(worker, CAPTURE, (OTHER_CAPTURE, QUIET, CAPTURE))
    assert noisy_value(worker, CAPTURE) > 0
    assert noisy_value(worker, OTHER_CAPTURE) < 0
    assert quiet_value(worker, QUIET) == 0


def test_where_all_fail_low_the_quiet_move_that_led_there_is_credited(worker: Worker) -> None:
    _follow(worker.record, Position(FEN).parse_uci(QUIET))
    tell(worker, None, (), ply=1)
    assert quiet_value(worker, QUIET) > 0


@pytest.mark.parametrize(("best", "value"), [(QUIET, quiet_value), (CAPTURE, noisy_value)])
def test_what_is_credited_for_ever_grows_less_each_time_and_stays_within_bounds(worker, best, value) -> None:
    values = [value(worker, best)]
    for times in (1, 1, 10, 100, 1000, 1000):
        tell(worker, best, (), depth=20, times=times)
        values.append(value(worker, best))
    assert values == sorted(values)
    assert values[2] - values[1] <= values[1] - values[0]
    assert values[-1] == values[-2] <= LIMIT
    assert values[-1] > 0.9 * LIMIT


@pytest.mark.parametrize(
    ("best", "blamed", "value"), [(QUIET, OTHER_QUIET, quiet_value), (CAPTURE, OTHER_CAPTURE, noisy_value)]
)
def test_what_is_blamed_for_ever_stays_within_bounds_and_recovers(worker, best, blamed, value) -> None:
    tell(worker, best, (blamed,), depth=20, times=5000)
    lowest = value(worker, blamed)
    assert -LIMIT <= lowest < -0.9 * LIMIT
    tell(worker, blamed, (), depth=20)
    assert value(worker, blamed) > lowest
