"""Kernels borrow their arrays: what makes or returns one has to say so."""

import sys

import numpy as np
import pytest

from merino.core.compiled.cache import INTERPRETED
from merino.core.compiled.jit import CompilationError, entry, kernel

pytestmark = pytest.mark.skipif(INTERPRETED, reason="without the compiler nothing counts users but Python")


@kernel
def _sum_of(pair, index):
    return pair[0][index] + pair[1][index]


@entry
def _sum(pair):
    total = 0.0
    for index in range(len(pair[0])):
        total += _sum_of(pair, index)
    return total


@kernel
def _tail(array):
    return array[1:]


@kernel
def _with_length(array):
    return len(array), (array,)


@kernel
def _zeros():
    return np.zeros(3)[0]


@kernel(makes_arrays=True)
def _declared_tail(array):
    return array[1:]


@entry
def _first_of_undeclared_tail(array):
    return _tail(array)[0]


@entry
def _first_in_undeclared_tuple(array):
    return _with_length(array)[1][0][0]


@entry
def _undeclared_zero():
    return _zeros()


@entry
def _first_of_tail(array):
    return _declared_tail(array)[0]


def test_arrays_in_a_tuple_can_be_read_and_have_as_many_users_afterwards():
    array = np.arange(5.0)
    pair = array, np.ones(5)
    before = sys.getrefcount(array)
    assert [_sum(pair) for _ in range(100)] == [15.0] * 100
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize("function", [_first_of_undeclared_tail, _first_in_undeclared_tuple])
def test_a_kernel_that_returns_an_array_and_does_not_say_so_is_refused(function):
    with pytest.raises(CompilationError, match=r"returns an array|returning of array"):
        function(np.arange(3.0))


def test_a_kernel_that_makes_an_array_and_does_not_say_so_is_refused():
    with pytest.raises(CompilationError):
        _undeclared_zero()


def test_a_kernel_that_says_so_returns_an_array_with_as_many_users_as_before():
    array = np.arange(3.0)
    before = sys.getrefcount(array)
    assert [_first_of_tail(array) for _ in range(100)] == [1.0] * 100
    assert sys.getrefcount(array) == before
