"""Numbers of 16 bits and floats as one value: what compiled code makes of them, compared with numpy."""

import numpy as np
import pytest

from merino.core.compiled import jit, lanes
from merino.lab.nets import gradient as floats


@jit.entry
def _clip(source, target):
    floats.store_floats(target, floats.clipped_floats(floats.load_floats(source)))


@jit.entry
def _choose(source, target):
    floats.store_floats(target, floats.where_inside(floats.load_floats(source), floats.load_floats(target)))


@jit.entry
def _combine(source, target, factor):
    floats.store_floats(
        target, floats.load_floats(target) + floats.floats_of(np.float32(factor)) * floats.load_floats(source)
    )


@jit.entry
def _greatest(address):
    return lanes.greatest_at(address)


@jit.entry
def _sum(source):
    return floats.sum_of_floats(floats.load_floats(source))


def _address(row):
    return np.uint64(row.ctypes.data)


@pytest.fixture
def rows():
    found = (4 * np.random.default_rng(3).random((2, floats.FLOAT_LANES)) - 2).astype(np.float32)
    found[0, :4] = 0, 1, -0.0, 2
    return found


def test_numbers_are_clipped_to_between_0_and_1(rows):
    _clip(_address(rows[0]), _address(rows[1]))
    np.testing.assert_array_equal(rows[1], np.clip(rows[0], 0, 1))


def test_only_numbers_strictly_between_0_and_1_let_others_through(rows):
    expected = np.where((rows[0] > 0) & (rows[0] < 1), rows[1], 0)
    _choose(_address(rows[0]), _address(rows[1]))
    np.testing.assert_array_equal(rows[1], expected)
    assert expected.any() and not expected.all()


def test_a_row_times_a_factor_is_added(rows):
    expected = rows[1] + np.float32(0.3) * rows[0]
    _combine(_address(rows[0]), _address(rows[1]), 0.3)
    np.testing.assert_array_equal(rows[1], expected)


def test_the_sum_is_that_of_the_halves(rows):
    halves = rows[0]
    while len(halves) > 1:
        halves = halves[: len(halves) // 2] + halves[len(halves) // 2 :]
    assert _sum(_address(rows[0])) == halves[0]
    assert halves[0] == pytest.approx(rows[0].sum(), rel=1e-5)


def test_the_greatest_number_is_found_at_any_place_and_below_zero():
    numbers = np.random.default_rng(5).integers(-(1 << 31), -5, lanes.LANES).astype(np.int32)
    assert _greatest(_address(numbers)) == numbers.max() < 0
    for place in range(lanes.LANES):
        numbers[place] = place - 4
        assert _greatest(_address(numbers)) == place - 4


@jit.entry
def _products(a, b, c, d, target):
    total = lanes.no_sums()
    for _ in range(2):
        total = total + lanes.products_of_lanes(lanes.load_lanes(a), lanes.load_lanes(b))
        total = total + lanes.products_of_lanes(lanes.load_lanes(c), lanes.load_lanes(d))
    target[0] = lanes.total_of(total)


def test_products_are_added_up_beyond_32_bits_in_all():
    draw = np.random.default_rng(4)
    for bound in (300, 15000):  # the second: each of sixteen sums fits 32 bits, and their total does not
        a, b, c, d = draw.integers(bound // 2, bound, (4, lanes.LANES)).astype(np.int16)
        found = np.zeros(1, dtype=np.int64)
        _products(*map(_address, (a, b, c, d)), found)
        expected = 2 * (a.astype(np.int64) @ b + c.astype(np.int64) @ d)
        assert found[0] == expected
    assert expected > np.iinfo(np.int32).max
