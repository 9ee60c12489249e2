"""The windows of iterative deepening: around the last score, and wider on the side where the score fell out."""

import numpy as np
import pytest

from merino.core.compiled.jit import entry
from merino.engine.search.iterative_deepening import aspiration_window, fail_high_depth, widened_window
from merino.engine.search.limits import KNOWN_WIN
from merino.engine.search.state import INFINITE, NO_SCORE, new_search_record

WIDTH = 20


@entry
def _window(records, depth, guess):
    return aspiration_window(records[0], depth, guess)


@entry
def _widened(score, alpha, beta, width):
    return widened_window(score, alpha, beta, width)


@entry
def _next_depth(records, score, beta, searched, depth):
    return fail_high_depth(records[0], score, beta, searched, depth)


@pytest.fixture
def record() -> np.ndarray:
    record = new_search_record()
    record[0]["parameters"]["aspiration_window"] = WIDTH
    return record


@pytest.mark.parametrize("guess", [-300, 0, 15, KNOWN_WIN - 1, 1 - KNOWN_WIN])
def test_from_depth_five_on_the_window_lies_around_the_last_score(record: np.ndarray, guess: int) -> None:
    assert _window(record, 4, guess) == (-INFINITE, INFINITE, WIDTH)
    for depth in (5, 6, 40):
        assert _window(record, depth, guess) == (guess - WIDTH, guess + WIDTH, WIDTH)


@pytest.mark.parametrize("guess", [NO_SCORE, KNOWN_WIN, -KNOWN_WIN])
def test_the_window_is_open_without_a_last_score_and_after_a_mate(record: np.ndarray, guess: int) -> None:
    assert _window(record, 9, guess) == (-INFINITE, INFINITE, WIDTH)


WIDENED = [
    (-45, -20, 20, 20, (-75, 0, 30)),  # a fail low moves alpha down, and beta to the middle
    (-20, -20, 20, 20, (-50, 0, 30)),
    (45, -20, 20, 20, (-20, 75, 30)),  # a fail high moves beta up
    (20, -20, 20, 20, (-20, 50, 30)),
    (-500, -400, 0, 666, (-1499, -200, 999)),  # a window wider than a thousand centipawns is opened
    (500, 0, 400, 666, (0, 1499, 999)),
    *((score, -400, 400, 668, (-INFINITE, INFINITE, 1002)) for score in (-500, 500)),
    (300 - INFINITE, 400 - INFINITE, 0, 400, (-INFINITE, (400 - INFINITE) // 2, 600)),  # none is beyond infinity
    (INFINITE - 300, 0, INFINITE - 400, 400, (0, INFINITE, 600)),
]


@pytest.mark.parametrize(("score", "alpha", "beta", "width", "wanted"), WIDENED)
def test_a_window_widens_to_where_the_score_fell_out_of_it(score, alpha, beta, width, wanted):
    assert _widened(score, alpha, beta, width) == wanted


def test_each_fail_high_takes_a_ply_off_the_next_search_up_to_three(record: np.ndarray) -> None:
    depths = [9]
    for _ in range(4):
        depths.append(_next_depth(record, 30, 20, depths[-1], 9))
    assert depths == [9, 8, 7, 6, 6]
    assert _next_depth(record, 20, 20, 9, 9) == 8
    assert _next_depth(record, 30, 20, 1, 1) == 1


def test_a_fail_low_is_searched_to_the_full_depth_and_so_is_everything_at_full_width(record: np.ndarray) -> None:
    assert _next_depth(record, -30, 20, 7, 9) == 9
    record[0]["full_width"] = 1
    assert _next_depth(record, 30, 20, 9, 9) == 9
