"""The ordered map: order, bounds, stopping, errors; on threads and on processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from merino.core.common.work import in_order, ordered, threads


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


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    with threads(count) as executor:
        assert list(ordered(executor, square, iter(range(50)), ahead=8)) == [square(number) for number in range(50)]


def test_a_late_first_item_holds_the_others_back_and_bounds_how_many_are_begun() -> None:
    gate = Gate()
    with threads(3) as executor:
        results = ordered(executor, gate, iter(range(100)), ahead=5)
        timer = threading.Timer(0.3, gate.open.set)
        timer.start()
        assert next(results) == 0
        assert len(gate.begun) <= 5
        assert list(results) == list(range(1, 100))


def test_no_more_than_so_many_unfinished_items_are_handed_out_at_once() -> None:
    gate, handed_out = Gate(), list[int]()

    def numbers() -> Iterator[int]:
        for number in range(20):
            handed_out.append(number)
            yield number

    with threads(3) as executor:
        results = ordered(executor, gate, numbers(), ahead=10, at_once=lambda: 3)
        timer = threading.Timer(0.3, gate.open.set)
        timer.start()
        assert next(results) == 0
        assert len(handed_out) == 10, "finished ones make room although the first is late"
        assert list(results) == list(range(1, 20))


def test_what_is_not_finished_makes_no_room() -> None:
    gates = [Gate(), Gate()]
    with threads(4) as executor:
        results = ordered(executor, lambda number: gates[number % 2](0), iter(range(9)), ahead=9, at_once=lambda: 2)
        threading.Timer(0.3, gates[0].open.set).start()
        assert next(results) == 0
        assert len(gates[0].begun) + len(gates[1].begun) <= 2
        gates[1].open.set()
        assert list(results) == [0] * 8


def test_a_closed_map_hands_nothing_more_out() -> None:
    begun: list[int] = []
    with threads(1) as executor:
        results = ordered(executor, begun.append, iter(range(1000)), ahead=4)
        next(results)
        results.close()
    assert len(begun) <= 5


def test_an_error_of_the_work_is_raised_in_its_turn() -> None:
    def fail(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    taken: list[int] = []
    with threads(2) as executor, pytest.raises(ValueError, match="three"):
        taken.extend(ordered(executor, fail, iter(range(10)), ahead=4))
    assert taken == [0, 1, 2]


def test_items_may_follow_from_results() -> None:
    class Asked:
        """No more than two numbers beyond what has been told."""

        def __init__(self) -> None:
            self.number, self.told = 0, 0

        def __iter__(self) -> Asked:
            return self

        def __next__(self) -> int:
            if self.number >= min(10, self.told + 2):
                raise StopIteration
            self.number += 1
            return self.number

    asked = Asked()
    with threads(2) as executor:
        for result in ordered(executor, square, asked, ahead=8):
            asked.told += 1
            assert result == asked.told**2
    assert asked.told == 10


def test_processes_do_the_same_work() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        assert list(ordered(executor, square, iter(range(10)), ahead=4)) == [square(number) for number in range(10)]


def test_work_that_takes_long_is_told_to_stop_before_it_is_waited_for() -> None:
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
