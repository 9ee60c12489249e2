"""The ordered map: order, bounds, stopping, errors; on threads and on processes."""

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from merino.core.common import work as runs
from merino.core.common.work import RunName, at_work, begun, in_order, ordered, threads


def square(number: int) -> int:
    return number * number


class Gate:
    """Work that waits until it is let through, and counts what has begun."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.begun: list[int] = []

    def __call__(self, number: int) -> int:
        self.begun.append(number)
        if number == 0:
            assert self.open.wait(10)
        return number


@pytest.mark.parametrize(
    "pool", [lambda: threads(1), lambda: threads(5), lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn"))]
)
def test_results_come_in_the_order_of_the_items(pool):
    with pool() as executor:
        assert list(ordered(executor, square, iter(range(50)), ahead=8)) == [square(number) for number in range(50)]


def test_a_late_first_item_holds_the_others_back_and_bounds_how_many_are_begun():
    gate = Gate()
    with threads(3) as executor:
        results = ordered(executor, gate, iter(range(100)), ahead=5)
        threading.Timer(0.3, gate.open.set).start()
        assert next(results) == 0
        assert len(gate.begun) <= 5
        assert list(results) == list(range(1, 100))


def test_no_more_than_so_many_unfinished_items_are_handed_out_at_once():
    gate, handed_out = Gate(), list[int]()

    def numbers() -> Iterator[int]:
        for number in range(20):
            handed_out.append(number)
            yield number

    with threads(3) as executor:
        results = ordered(executor, gate, numbers(), ahead=10, at_once=lambda: 3)
        threading.Timer(0.3, gate.open.set).start()
        assert next(results) == 0
        assert len(handed_out) == 10, "finished ones make room although the first is late"
        assert list(results) == list(range(1, 20))


def test_what_is_not_finished_makes_no_room():
    gates = [Gate(), Gate()]
    with threads(4) as executor:
        results = ordered(executor, lambda number: gates[number % 2](0), iter(range(9)), ahead=9, at_once=lambda: 2)
        threading.Timer(0.3, gates[0].open.set).start()
        assert next(results) == 0
        assert len(gates[0].begun) + len(gates[1].begun) <= 2
        gates[1].open.set()
        assert list(results) == [0] * 8


def test_a_closed_map_hands_nothing_more_out():
    begun: list[int] = []
    with threads(1) as executor:
        results = ordered(executor, begun.append, iter(range(1000)), ahead=4)
        next(results)
        results.close()
    assert len(begun) <= 5


def test_an_error_of_the_work_is_raised_in_its_turn():
    def fail(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    taken: list[int] = []
    with threads(2) as executor, pytest.raises(ValueError, match="three"):
        taken.extend(ordered(executor, fail, iter(range(10)), ahead=4))
    assert taken == [0, 1, 2]


def test_items_may_follow_from_results():
    class Asked:
        """No more than two numbers beyond what has been taken."""

        def __init__(self) -> None:
            self.number, self.taken = 0, 0

        def __iter__(self) -> "Asked":
            return self

        def __next__(self) -> int:
            if self.number >= min(10, self.taken + 2):
                raise StopIteration
            self.number += 1
            return self.number

    asked = Asked()
    with threads(2) as executor:
        for result in ordered(executor, square, asked, ahead=8):
            asked.taken += 1
            assert result == asked.taken**2
    assert asked.taken == 10


def test_long_work_is_asked_to_stop_before_it_is_waited_for():
    gate = Gate()

    def numbers() -> Iterator[int]:
        yield 0
        while not gate.begun:
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(in_order(gate, numbers(), gate.open.set))
    assert gate.open.is_set()
    assert list(in_order(square, range(5), pytest.fail)) == [0, 1, 4, 9, 16]


# Runs of work: what threads keep for them, how they end, and what is left in other processes.


class Tool:
    """What notes how it ends."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self.let_go = threading.Event()

    def stop(self) -> None:
        self.notes.append("stop")
        self.let_go.set()

    def close(self) -> None:
        self.notes.append("close")


@pytest.fixture
def notes() -> list[str]:
    return []


def test_a_thread_keeps_one_thing_for_a_run():
    made: list[int] = []

    def work(task: tuple[RunName, int]) -> int:
        with at_work(task[0]) as run:
            assert run is not None
            return run.kept(lambda: made.append(task[1]) or threading.get_ident())

    with begun() as name, threads(2) as executor:
        found = list(ordered(executor, work, ((name, number) for number in range(20)), 4))
        assert len(made) == len(set(found)) <= 2
    with begun() as name:
        work((name, 20))
    assert made[-1] == 20  # another run, another thing


def test_the_end_of_a_run_stops_what_is_under_way_waits_for_it_and_closes_it(notes):
    begins = threading.Event()

    def work(name: RunName) -> None:
        with at_work(name) as run:
            assert run is not None
            tool = Tool(notes)
            run.watch(tool)
            begins.set()
            assert tool.let_go.wait(10)
            notes.append(f"stopped: {run.is_stopped}")

    with threads(1) as executor:
        with begun() as name:
            executor.submit(work, name)
            assert begins.wait(10)
        assert notes == ["stop", "stopped: True", "close"]


def test_what_is_idle_at_the_end_is_closed_and_not_stopped(notes):
    with begun() as name, at_work(name) as run:
        assert run is not None
        run.watch(Tool(notes))
        with run.watching(Tool(notes)):
            pass
        assert notes == ["close"]
    assert notes == ["close", "close"]


def test_what_comes_after_the_end_of_its_run_is_stopped_and_closed(notes):
    run = runs.Run()
    run.end()
    with run.watching(Tool(notes)):
        assert notes == ["stop", "close"]


def test_a_second_ctrl_c_closes_what_the_first_one_stopped(notes, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    run = runs.Run()
    run.count(1)
    run.watch(Tool(notes))
    monkeypatch.setattr(run._changed, "wait_for", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.end()
    assert notes == ["stop", "close"]


def test_a_unit_that_comes_after_the_end_of_its_run_finds_none():
    with begun() as name:
        pass
    with at_work(name) as run:
        assert run is None
    assert name not in runs._here.runs


def test_the_run_of_another_process_gives_way_to_the_next(notes):
    for number in (1, 2):
        with at_work(RunName("elsewhere", number)) as run:
            assert run is not None and not run.is_stopped
            run.watch(Tool(notes))
            with at_work(RunName("elsewhere", number)) as again:
                assert again is run
    assert notes == ["close"]
    with at_work(RunName("elsewhere", 3)):
        assert notes == ["close", "close"]
    last = RunName("elsewhere", 4)
    with at_work(last):
        assert list(runs._here.runs) == [last]
    runs.stop_here(last)
    with at_work(last) as run:
        assert run is None


class Note:
    """A file that says what was closed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def stop(self) -> None:
        self._path.write_text("stopped")

    def close(self) -> None:
        self._path.write_text("closed")


def keep_a_note(task: tuple[RunName, Path]) -> bool:
    with at_work(task[0]) as run:
        assert run is not None
        run.watch(Note(task[1]))
        return run.kept(lambda: task[1]) == task[1]


def test_what_a_process_of_a_pool_keeps_is_closed_when_it_ends(tmp_path):
    with begun() as name, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        assert executor.submit(keep_a_note, (name, tmp_path / "note")).result()
        assert not (tmp_path / "note").exists()
    assert (tmp_path / "note").read_text() == "closed"


def test_the_main_thread_never_waits_without_a_limit(monkeypatch):
    wait, main, start = threading.Condition.wait, threading.current_thread(), threading.Thread.start.__code__

    def limited(condition, timeout=None):
        if threading.current_thread() is main and sys._getframe(2).f_code is not start:  # which waits for a moment
            assert timeout is not None
        return wait(condition, timeout)

    monkeypatch.setattr(threading.Condition, "wait", limited)
    with begun() as name:
        threading.Thread(target=lambda: _work_for(name, 0.3)).start()
        with threads(2) as pool:
            assert list(ordered(pool, time.sleep, iter([0.3]), 1)) == [None]
            assert list(ordered(pool, time.sleep, iter([0.3, 0.0]), 2, lambda: 1)) == [None, None]
            threading.Thread(target=lambda: _work_for(name, 0.3)).start()


def _work_for(name, seconds):
    with at_work(name):
        time.sleep(seconds)
