"""The histories of the search: which way they learn, and that they stay within their bounds."""

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.board.move import NO_MOVE
from merino.core.compiled.jit import entry
from merino.engine.search import history, parameters, state, tree
from merino.engine.search.worker import Worker
from merino.eval.families import default
from tests.workers import worker_at

FEN = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4"
QUIET, OTHER_QUIET, CAPTURE, OTHER_CAPTURE = "d2d3", "b1c3", "f3e5", "c4f7"
LIMIT = 1 << history.HISTORY_BITS


@entry
def _reward(records, ply, best, tried, quiet, depth, times):
    for _ in range(times):
        records[0].plies[ply].quiets = records[0].plies[ply].noisies = 0
        for index in range(len(tried)):
            history.note_searched(records[0], ply, tried[index], quiet[index])
        history.update_histories(records[0], ply, best, depth)


@entry
def _histories(records, ply, quiet_move, noisy_move):
    return history.quiet_history(records[0], ply, quiet_move), history.noisy_history(records[0], ply, noisy_move)


@entry
def _follow(records, move):
    tree.make_move(records[0], 0, move)


@entry
def _change_eval(records, before, after):
    records[0].plies[0].static_eval, records[0].plies[1].static_eval = before, after
    history.note_eval_change(records[0], 1)


@pytest.fixture
def worker() -> Worker:
    return worker_at(Position(FEN), default())


def update(
    worker: Worker, best: str | None, tried: tuple[str, ...], depth: int = 8, times: int = 1, ply: int = 0
) -> None:
    """Reward `best` (None: all failed low) at a node where the moves `tried` were searched."""
    position = Position(FEN)
    moves = np.array([position.parse_uci(move) for move in tried], dtype=np.int64)
    quiet = np.array([move in (QUIET, OTHER_QUIET) for move in tried])
    _reward(worker.record, ply, position.parse_uci(best) if best else NO_MOVE, moves, quiet, depth, times)


def quiet_value(worker: Worker, move: str) -> int:
    position = Position(FEN)
    return int(_histories(worker.record, 0, position.parse_uci(move), position.parse_uci(CAPTURE))[0])


def noisy_value(worker: Worker, move: str) -> int:
    position = Position(FEN)
    return int(_histories(worker.record, 0, position.parse_uci(QUIET), position.parse_uci(move))[1])


def test_a_quiet_move_that_cuts_off_is_credited_and_those_tried_before_it_blamed(worker: Worker) -> None:
    update(worker, QUIET, (OTHER_QUIET, CAPTURE, QUIET))
    assert quiet_value(worker, QUIET) > 0
    assert quiet_value(worker, OTHER_QUIET) < 0
    assert noisy_value(worker, CAPTURE) < 0


def test_a_capture_that_cuts_off_is_credited_and_quiet_moves_are_left_alone(worker: Worker) -> None:
    update(worker, CAPTURE, (OTHER_CAPTURE, QUIET, CAPTURE))
    assert noisy_value(worker, CAPTURE) > 0
    assert noisy_value(worker, OTHER_CAPTURE) < 0
    assert quiet_value(worker, QUIET) == 0


@pytest.mark.parametrize(("move", "value"), [(QUIET, quiet_value), (CAPTURE, noisy_value)])
def test_where_all_fail_low_the_move_that_led_there_is_credited(worker: Worker, move, value) -> None:
    _follow(worker.record, Position(FEN).parse_uci(move))
    update(worker, None, (), ply=1)
    assert value(worker, move) > 0


def test_moves_tried_in_vain_are_blamed_for_part_of_the_bonus_of_the_best(worker: Worker) -> None:
    state.set_parameters(worker.record, parameters.parameter_values({"history_malus": 25}))
    update(worker, QUIET, (OTHER_QUIET, QUIET))
    assert quiet_value(worker, OTHER_QUIET) == pytest.approx(-quiet_value(worker, QUIET) / 4, abs=2)


@pytest.mark.parametrize(("best", "value"), [(QUIET, quiet_value), (CAPTURE, noisy_value)])
def test_what_is_credited_for_ever_grows_less_each_time_and_stays_within_bounds(worker, best, value) -> None:
    values = [value(worker, best)]
    for times in (1, 1, 10, 100, 1000, 1000):
        update(worker, best, (), depth=20, times=times)
        values.append(value(worker, best))
    assert values == sorted(values)
    assert values[2] - values[1] <= values[1] - values[0]
    assert values[-1] == values[-2] <= LIMIT
    assert values[-1] > 0.9 * LIMIT


@pytest.mark.parametrize(
    ("best", "blamed", "value"), [(QUIET, OTHER_QUIET, quiet_value), (CAPTURE, OTHER_CAPTURE, noisy_value)]
)
def test_what_is_blamed_for_ever_stays_within_bounds_and_recovers(worker, best, blamed, value) -> None:
    update(worker, best, (blamed,), depth=20, times=5000)
    lowest = value(worker, blamed)
    assert -LIMIT <= lowest < -0.9 * LIMIT
    update(worker, blamed, (), depth=20)
    assert value(worker, blamed) > lowest


@pytest.mark.parametrize(
    ("before", "after", "sign"),
    [(10, -60, 1), (10, 30, -1), (25, -25, 0), (state.NO_SCORE, -60, 0), (10, state.NO_SCORE, 0)],
)
def test_a_quiet_move_is_credited_with_what_it_gains_in_evaluation_unless_in_check(worker, before, after, sign) -> None:
    _follow(worker.record, Position(FEN).parse_uci(QUIET))
    _change_eval(worker.record, before, after)  # each for the side to move there
    assert np.sign(quiet_value(worker, QUIET)) == sign


def test_a_leap_of_the_evaluation_counts_for_no_more_than_the_largest_bonus(worker) -> None:
    _follow(worker.record, Position(FEN).parse_uci(QUIET))
    _change_eval(worker.record, 0, -20_000)
    assert (
        0 < quiet_value(worker, QUIET) <= parameters.by_name(parameters.parameters_for(default()))["history_eval_max"]
    )


def test_a_capture_is_not_judged_by_the_evaluation_after_it(worker) -> None:
    _follow(worker.record, Position(FEN).parse_uci(CAPTURE))
    _change_eval(worker.record, 0, -500)
    assert quiet_value(worker, CAPTURE) == 0


def test_moves_that_flee_from_an_attack_are_remembered_apart() -> None:
    calm, attacked = Position("4k3/8/8/8/4N3/8/8/4K3 w - - 0 1"), Position("4k3/8/8/3p4/4N3/8/8/4K3 w - - 0 1")
    worker = worker_at(attacked, default())
    move = attacked.parse_uci("e4g3")
    _reward(worker.record, 0, move, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_), 8, 1)
    assert _histories(worker.record, 0, move, move)[0] > 0
    worker.set_root(calm, full_width=False)
    assert _histories(worker.record, 0, move, move)[0] == 0
