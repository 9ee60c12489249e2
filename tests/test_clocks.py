"""Lag: what a move costs beside its search is learnt from the clocks, and planned for."""

from merino.engine.search.limits import Limits
from merino.engine.search.parameters import by_name, parameter_values
from merino.engine.search.search_run import budget
from merino.engine.uci.clocks import Lag

NUMBERS = by_name(parameter_values())


def play(lag: Lag, clocks: list[int], planned: float = 100.0, increment: int = 50, **more: bool) -> float:
    """The estimate after a game in which White's clock showed these milliseconds at its moves."""
    for number, clock in enumerate(clocks):
        keys = list(range(2 * number + 1))
        lag.go_came(keys, 0, Limits(time=(clock, 1), increment=(increment, 0), **more))
        lag.move_made(planned)
    return lag.milliseconds


def test_what_is_missing_from_the_clock_is_lag() -> None:
    assert play(Lag(), [10_000]) == 0
    assert play(Lag(), [10_000, 9_930]) == 20
    assert play(Lag(), [10_000, 9_650]) == 300


def test_lag_is_believed_at_once_and_forgotten_slowly() -> None:
    assert play(Lag(), [10_000, 9_650, 9_600]) == 225


def test_a_long_pause_is_no_lag_of_the_moves_to_come() -> None:
    """A connection that breaks for half a minute must not let us move at once for the next ten moves."""
    lag = play(Lag(), [180_000, 150_000], planned=5000.0, increment=2000)
    limits = Limits(time=(150_000, None), increment=(2000, 0))
    usual, after = budget(limits, 0, 50, NUMBERS), budget(limits, 0, 50, NUMBERS, lag)
    assert usual is not None and after is not None
    assert after.soft > usual.soft / 2


def test_time_that_is_added_is_no_lag() -> None:
    assert play(Lag(), [10_000, 70_000]) == 0
    assert play(Lag(), [10_000, 9_650, 70_000]) == 300


def test_pondering_and_analysis_tell_nothing_of_lag() -> None:
    assert play(Lag(), [10_000, 5_000], ponder=True) == 0
    assert play(Lag(), [10_000, 5_000], infinite=True) == 0


def test_another_game_tells_nothing_of_lag() -> None:
    lag = Lag()
    play(lag, [10_000, 9_650])
    lag.go_came([7, 8, 9], 0, Limits(time=(1_000, 1_000)))
    assert lag.milliseconds == 300
    lag.forget()
    assert lag.milliseconds == 0


def test_a_move_that_was_not_searched_tells_nothing_of_lag() -> None:
    lag = Lag()
    lag.go_came([0], 0, Limits(time=(10_000, 1)))
    lag.go_came([0, 1, 2], 0, Limits(time=(5_000, 1)))
    assert lag.milliseconds == 0


def moves_until_time_is_up(lag: int, known: int) -> int:
    """How many moves White makes, at most 200, on 10+0.2 if each costs `lag` and `known` of it is planned for."""
    clock = 10_000.0
    for number in range(200):
        plan = budget(Limits(time=(int(clock), None), increment=(200, 0)), 0, 50, NUMBERS, known)
        assert plan is not None and plan.soft <= plan.hard
        clock -= plan.soft + lag
        if clock < 0:
            return number
        clock += 200
    return 200


def test_a_clock_lasts_as_long_as_lag_allows() -> None:
    assert moves_until_time_is_up(190, known=190) == 200 > moves_until_time_is_up(190, known=0)
    assert moves_until_time_is_up(250, known=250) > 70 > moves_until_time_is_up(250, known=0)


def test_lag_below_the_increment_costs_no_more_than_itself() -> None:
    limits = Limits(time=(10_000, None), increment=(200, 0))
    quick, slow = budget(limits, 0, 50, NUMBERS), budget(limits, 0, 50, NUMBERS, 40.0)
    assert quick is not None and slow is not None
    assert quick.soft - 40 <= slow.soft < quick.soft
