"""Budgets: never more than the clock, sensible shares, exact move times; the limits of a search, and late alarms."""

import itertools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from merino.engine.search import search_run
from merino.engine.search.limits import MATE_SCORE, MAX_PLY, Limits, Score
from merino.engine.search.parameters import by_name, parameter_values
from merino.engine.search.search_run import DEFAULT_SHARE, MAX_OF_CLOCK, Budget, SearchRun, budget
from merino.engine.search.searcher import Searcher
from tests.material_family import MaterialEvaluation

NUMBERS = by_name(parameter_values())
CLOCKS = list(itertools.product((0, 1, 10, 100, 1000, 60_000, 3_600_000), (0, 10, 100, 2000), (None, 1, 5, 40)))


def planned(limits: Limits, side: int = 0, overhead: int = 50, numbers: Mapping[str, int] = NUMBERS) -> Budget:
    """The budget of a side with a clock."""
    plan = budget(limits, side, overhead, numbers)
    assert plan is not None
    return plan


@pytest.mark.parametrize(("clock", "increment", "moves"), CLOCKS)
def test_a_budget_never_exceeds_the_clock(clock: int, increment: int, moves: int | None) -> None:
    plan = planned(Limits(time=(clock, None), increment=(increment, 0), moves_to_go=moves))
    assert 0 < plan.soft <= plan.hard <= max(1.0, MAX_OF_CLOCK * (clock - 50))


def test_without_a_clock_there_is_no_budget() -> None:
    assert budget(Limits(depth=5), 0, 50, NUMBERS) is None
    assert budget(Limits(time=(None, 1000)), 0, 50, NUMBERS) is None


def test_each_side_has_its_own_clock() -> None:
    limits = Limits(time=(60_000, 1_000))
    assert planned(limits, 0).soft > 10 * planned(limits, 1).soft


def test_a_move_time_is_used_up_but_for_the_overhead() -> None:
    plan = planned(Limits(movetime=1000))
    assert plan.is_exact and plan.hard == 950 and not plan.should_stop(900, 6, 0, 0.9)


def test_more_time_is_taken_when_the_score_falls_and_less_when_the_move_is_settled() -> None:
    plan = planned(Limits(time=(60_000, None)))
    assert plan.should_stop(plan.soft, 6, 0, 0.5) and not plan.should_stop(plan.soft, 0, 0, 0.5)
    assert not plan.should_stop(plan.soft, 6, 100, 0.5) and plan.should_stop(plan.hard, 0, 100, 0.5)


def test_what_was_pondered_counts_unless_the_time_is_exact() -> None:
    plan = planned(Limits(time=(60_000, None)))
    after = plan.after(plan.soft - 100)
    assert after.should_stop(100, 6, 0, 0.5) and not after.should_stop(50, 3, 0, DEFAULT_SHARE)
    assert after.left == pytest.approx(plan.hard - plan.soft + 100)
    assert plan.after(3 * plan.hard).left == 0
    exact = planned(Limits(movetime=1000))
    assert exact.after(5000) == exact


def test_what_a_move_took_of_the_nodes_shows_how_sure_it_is() -> None:
    plan = planned(Limits(time=(60_000, None)))
    assert plan.should_stop(plan.soft, 3, 0, 0.9) and not plan.should_stop(plan.soft, 3, 0, 0.3)
    numbers = NUMBERS | {"clock_node_share": 0, "clock_falling_score": 0}
    indifferent = planned(Limits(time=(60_000, None)), numbers=numbers)
    assert indifferent.should_stop(indifferent.soft, 3, 100, 0.3)
    assert not indifferent.should_stop(indifferent.soft - 1, 3, 0, 0.9)


def test_a_game_of_hundred_moves_fits_into_the_clock() -> None:
    left = 10_000.0
    for _ in range(100):
        plan = planned(Limits(time=(int(left), None), increment=(100, 0)))
        left += 100 - min(plan.soft * 1.4, plan.hard) - 50
        assert left > 0


def soft_limit(increment: tuple[int, int] = (0, 0), moves: int | None = None) -> float:
    """The soft limit of White with ten minutes."""
    return planned(Limits(time=(600_000, 600_000), increment=increment, moves_to_go=moves), overhead=0).soft


def test_the_own_increment_lengthens_a_move_and_that_of_the_other_side_does_not() -> None:
    assert soft_limit((1000, 0)) - soft_limit() == pytest.approx(10 * NUMBERS["clock_increment"])
    assert soft_limit((0, 1000)) == soft_limit()


def test_a_move_before_the_control_leaves_as_much_for_each_to_come_and_for_one_more() -> None:
    for moves in (2, 5, 20):
        assert soft_limit(moves=moves) == pytest.approx(600_000 / (moves + 1))
    last = planned(Limits(time=(600_000, None), moves_to_go=1), overhead=0)
    assert last.soft <= last.hard <= 300_000, "even then half of the clock is left"


def test_a_control_in_many_moves_is_played_as_a_game_without_one() -> None:
    assert soft_limit(moves=200) == pytest.approx(600_000 / (NUMBERS["clock_moves"] + 1))


def test_of_a_short_move_time_at_most_a_tenth_is_kept_back() -> None:
    assert planned(Limits(movetime=100)).hard == 90


@pytest.mark.parametrize(("increment", "gain"), [(0, -100.0), (60, -40.0), (1000, 9.0 * NUMBERS["clock_increment"])])
def test_lag_is_lost_with_each_move_and_thrice_kept_for_the_worst(increment: int, gain: float) -> None:
    plan = budget(Limits(time=(600_000, None), increment=(increment, 0)), 0, 50, NUMBERS, lag=100.0)
    assert plan is not None
    assert plan.soft == pytest.approx((600_000 - 300) / NUMBERS["clock_moves"] + gain)


@pytest.mark.parametrize("plies", [0, 1, 2, 3, 4, 127, MAX_PLY])
def test_a_mate_in_plies_is_a_mate_in_moves(plies: int) -> None:
    assert Score(MATE_SCORE - plies).mate == (plies + 1) // 2
    assert Score(plies - MATE_SCORE).mate == -(plies // 2 + plies % 2)
    assert Score(MATE_SCORE - MAX_PLY - 1).mate is Score(MAX_PLY + 1 - MATE_SCORE).mate is None


@pytest.mark.parametrize(
    ("limits", "depth"),
    [
        ({}, 127),
        ({"depth": 1}, 1),
        ({"depth": 500}, 127),
        ({"mate": 3}, 6),
        ({"mate": 3, "depth": 4}, 4),
        ({"mate": 99}, 127),
    ],
)
def test_no_iteration_is_deeper_than_asked_for_or_than_there_are_plies(limits: dict[str, int], depth: int) -> None:
    run: Any = SimpleNamespace(limits=Limits(**limits))
    assert SearchRun._last_depth(run) == depth


@pytest.mark.parametrize("shown", [None, True, False])
@pytest.mark.parametrize("nodes", [[], [7], [900], [900, 500], [90_000]])
def test_the_threads_share_the_nodes_that_the_choice_of_a_move_has_left(nodes: list[int], shown: bool | None) -> None:
    """`shown` says whether weakened play has chosen its move, None for full strength."""
    for threads, chosen in itertools.product((1, 4), (0, 300, 1000)):
        given: list[int] = []
        workers = [SimpleNamespace(limit_nodes=given.append)] * threads
        run: Any = SimpleNamespace(workers=workers, choice_nodes=chosen, _node_limits=lambda: nodes, is_chosen=shown)
        run.chooser = None if shown is None else object()
        SearchRun._limit_nodes(run, run.workers)
        of_play = [] if shown is None else [1000 if shown else 20_000]
        limits = [*(limit - chosen for limit in nodes), *of_play]
        assert given == [max(1, min(limits) // threads)] * threads if limits else not given


def test_alarms_are_cancelled_and_one_that_comes_late_ends_no_other_search(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[Mock] = []
    monkeypatch.setattr(search_run, "call_after", lambda *_: alarms.append(Mock()) or alarms[-1])
    searcher, done = Searcher(hash_mb=1, evaluation=MaterialEvaluation()), list[object]()
    searcher.start("startpos", Limits(depth=1, movetime=60_000), lambda _: None, done.append, lambda *_: None)
    searcher.wait()
    assert len(alarms) == 2 and all(alarm.cancel.called for alarm in alarms)
    late, flag = searcher._run, searcher._stop_flag
    assert late is not None and not late.alarms
    flag[0] = 0  # as the next search sets it
    late._time_is_up()
    late._start_watcher()
    late.start_clock()
    assert not flag[0] and late.watcher is None and len(alarms) == 2
