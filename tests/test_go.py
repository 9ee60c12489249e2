"""Lag: what a move costs in addition to its search is learnt from the clocks, and planned for."""

import threading
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.engine.search import parameters, search_run
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.engine.uci.go import Lag, NodeClock
from merino.engine.uci.output import Output
from merino.engine.uci.session import UciSession
from merino.formats.openings import Opening
from merino.match import config, engines, players
from tests.uci_process import field, infos

NUMBERS = parameters.by_name(parameters.parameter_values())


def play(lag: Lag, clocks: list[int], planned: float = 100.0, increment: int = 50, **more: bool) -> float:
    """The estimate after a game in which White's clock showed these milliseconds at its moves."""
    for number, clock in enumerate(clocks):
        lag.go_came(list(range(2 * number + 1)), 0, Limits(time=(clock, 1), increment=(increment, 0), **more))
        lag.move_made(planned)
    return lag.milliseconds


@pytest.mark.parametrize(
    ("clocks", "more", "lag"),
    [
        ([10_000], {}, 0),
        ([10_000, 9_930], {}, 20),
        ([10_000, 9_650], {}, 300),
        ([10_000, 9_650, 9_600], {}, 225),  # believed at once, and forgotten slowly
        ([10_000, 70_000], {}, 0),  # time was added
        ([10_000, 9_650, 70_000], {}, 300),
        ([10_000, 5_000], {"ponder": True}, 0),
        ([10_000, 5_000], {"infinite": True}, 0),
    ],
)
def test_what_is_missing_from_the_clock_is_lag(clocks, more, lag):
    assert play(Lag(), clocks, **more) == lag


def test_a_long_pause_is_no_lag_of_the_moves_to_come():
    """A connection that breaks for half a minute must not let us move at once for the next ten moves."""
    lag = play(Lag(), [180_000, 150_000], planned=5000.0, increment=2000)
    limits = Limits(time=(150_000, None), increment=(2000, 0))
    usual, after = search_run.budget(limits, 0, 50, NUMBERS), search_run.budget(limits, 0, 50, NUMBERS, lag)
    assert usual is not None and after is not None
    assert after.soft > usual.soft / 2


def test_another_game_shows_nothing_of_lag():
    lag = Lag()
    play(lag, [10_000, 9_650])
    lag.go_came([7, 8, 9], 0, Limits(time=(1_000, 1_000)))
    assert lag.milliseconds == 300
    session = UciSession(Output(BytesIO()))
    session._lag = lag
    session.new_game()
    assert session._lag.milliseconds == 0


def test_a_move_that_was_not_searched_shows_nothing_of_lag():
    lag = Lag()
    lag.go_came([0], 0, Limits(time=(10_000, 1)))
    lag.go_came([0, 1, 2], 0, Limits(time=(5_000, 1)))
    assert lag.milliseconds == 0


def moves_until_time_is_up(lag: int, known: int) -> int:
    """How many moves White makes, at most 200, on 10+0.2 if each costs `lag` and `known` of it is planned for."""
    clock = 10_000.0
    for number in range(200):
        plan = search_run.budget(Limits(time=(int(clock), None), increment=(200, 0)), 0, 50, NUMBERS, known)
        assert plan is not None and plan.soft <= plan.hard
        clock -= plan.soft + lag
        if clock < 0:
            return number
        clock += 200
    return 200


def test_a_clock_lasts_as_long_as_lag_allows():
    assert moves_until_time_is_up(190, known=190) == 200 > moves_until_time_is_up(190, known=0)
    assert moves_until_time_is_up(250, known=250) > 70 > moves_until_time_is_up(250, known=0)


def test_lag_below_the_increment_costs_no_more_than_itself():
    limits = Limits(time=(10_000, None), increment=(200, 0))
    quick, slow = search_run.budget(limits, 0, 50, NUMBERS), search_run.budget(limits, 0, 50, NUMBERS, 40.0)
    assert quick is not None and slow is not None
    assert quick.soft - 40 <= slow.soft < quick.soft


# `nodestime`: clocks counted in nodes, so that a game is the same on any machine, however busy.


def searcher(nodestime: int) -> Searcher:
    made = Searcher(hash_mb=1)
    made.nodestime = nodestime
    return made


def nodes(made: Searcher, limits: Limits) -> int:
    line = made.search(Position(), limits).line
    assert line is not None
    return line.nodes


def test_a_time_for_the_move_is_a_number_of_nodes():
    assert nodes(searcher(20), Limits(movetime=100)) == 2000


def test_on_a_clock_the_same_nodes_are_searched_each_time():
    limits = Limits(time=(20_000, 20_000), increment=(100, 100))
    first, second, slower = (nodes(searcher(rate), limits) for rate in (10, 10, 2))
    assert first == second
    assert 1000 < first <= 10 * 10_000  # at most half the clock
    assert slower < first


def test_with_two_threads_the_nodes_of_both_count():
    made = searcher(20)
    made.set_threads(2)
    assert nodes(made, Limits(movetime=1000)) <= 20_100  # each thread counts the node at which it ends


def test_the_main_thread_gets_its_share_even_after_all_others(monkeypatch):
    begin = search_run.SearchRun._start_lazy_smp

    def begin_and_wait(run: search_run.SearchRun, allowed: list[Move] | None) -> list[threading.Thread]:
        helpers = begin(run, allowed)
        for helper in helpers:
            helper.join()
        return helpers

    monkeypatch.setattr(search_run.SearchRun, "_start_lazy_smp", begin_and_wait)
    limits = Limits(time=(2000, 2000))
    alone = nodes(searcher(200), limits)
    made = searcher(200)
    made.set_threads(4)
    total = nodes(made, limits)
    assert made._workers[0].nodes > alone / 8
    assert total <= 200 * 1000 and made.planned <= 1000  # half the clock


def test_after_a_hit_a_pondering_search_gets_its_nodes():
    made = searcher(20)
    results: list[int] = []

    def done(result: object) -> None:
        results.append(made._workers[0].nodes)

    made.start(Position(), Limits(movetime=100, ponder=True), lambda line: None, done)
    made.ponder_hit()
    made.wait()
    assert results[0] >= 2000


def test_a_move_costs_its_nodes_and_gains_the_increment_whatever_the_gui_shows():
    clock, limits = NodeClock(), Limits(time=(10_000, 9_000), increment=(100, 100))
    assert clock.limits([0], 0, limits).time == (10_000, 10_000)
    clock.move_made(400.5)
    assert clock.limits([0, 1, 2], 0, limits).time == (9_699, 9_699)
    clock.move_made(99_999)
    assert clock.limits([0, 1, 2, 3, 4], 0, limits).time == (100, 100)


def test_after_pondering_the_clock_of_the_gui_counts():
    clock, limits = NodeClock(), Limits(time=(10_000, 9_000), increment=(100, 100))
    clock.limits([0], 0, limits)
    clock.move_made(400)
    ponder = replace(limits, ponder=True)
    assert clock.limits([0, 1, 2], 0, ponder) == ponder
    clock.move_made(5_000)
    assert clock.limits([0, 1, 3], 0, limits).time == (10_000, 10_000)


def test_another_game_and_another_time_control_begin_with_the_clock_of_the_gui():
    clock, limits = NodeClock(), Limits(time=(10_000, 9_000), moves_to_go=2)
    clock.limits([0], 0, limits)
    clock.move_made(4000)
    assert clock.limits([7, 8, 9], 0, limits).time[0] == 10_000
    clock.move_made(4000)
    assert clock.limits([7, 8, 9, 10, 11], 0, Limits(time=(8_000, 1), moves_to_go=1)).time[0] == 6_000
    clock.move_made(4000)
    assert clock.limits([7, 8, 9, 10, 11, 12, 13], 0, Limits(time=(8_000, 1), moves_to_go=40)).time[0] == 8_000


def game_on_a_clock(nodestime: int) -> tuple[list[int], float]:
    """The moves of a game at a tenth of a second for all of it, and the seconds of nodes that White used."""
    player = players.OwnPlayer("own", options={"nodestime": nodestime})
    control = config.TimeControl(clock=config.Clock(100, 10), hash=1)
    board = engines.PythonBoard(
        (player, player), control, config.Adjudication(longest=40), np.zeros(1, dtype=np.uint64)
    )
    try:
        game = board.play(0, Opening(), first_is_white=True)
    finally:
        board.close()
    assert game is not None
    return [played.move for played in game.moves], sum(played.seconds or 0.0 for played in game.moves[::2])


def test_games_on_clocks_of_nodes_are_the_same_each_time_and_are_never_lost_on_time():
    first, used = game_on_a_clock(100)
    again, _ = game_on_a_clock(100)
    assert first == again
    assert len(first) == 40
    assert 0 < used <= 0.1 + 20 * 0.01


@pytest.mark.parametrize("nodestime", [10, 50])
def test_over_uci_a_time_for_the_move_is_a_number_of_nodes(engine, nodestime):
    engine.send(f"setoption name nodestime value {nodestime}", "ucinewgame", "position startpos")
    assert field(infos(engine.ask("go movetime 100", until="bestmove"))[-1], "nodes") == str(100 * nodestime)
