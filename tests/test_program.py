"""How compiled code is put together: whole programs, and indices that do not count from the end."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core.caching import NullCache

from merino.core.compiled.jit import CHECKS_BOUNDS, ProgramLibrary, entry, kernel


@kernel
def _twice(number):
    return 2 * number


@kernel
def _four_times(number):
    return _twice(_twice(number))


@entry
def _eight_times(number):
    return _twice(_four_times(number))


_eight_times._cache = NullCache()  # what comes from the disk has no library to look at


@entry
def _at(values, index):
    return values[index]


@entry
def _last(values):
    return values[-1]


def _library(function):
    return next(iter(function.overloads.values())).library


def test_an_entry_is_one_program_with_all_the_kernels_it_reaches():
    assert _eight_times(5) == 40
    library = _library(_eight_times)
    assert isinstance(library, ProgramLibrary)
    assert library._finalized and not _library(_twice)._finalized and not _library(_four_times)._finalized


def test_only_the_functions_of_the_entry_itself_can_be_seen_from_outside_its_program():
    assert _eight_times(1) == 8
    functions = [each for each in _library(_eight_times)._final_module.functions if not each.is_declaration]
    seen = [each.name for each in functions if each.linkage.name != "internal"]
    assert seen and all("_eight_times" in name for name in seen)


@pytest.mark.skipif(CHECKS_BOUNDS, reason="with bounds checks it is an error, see below")
def test_a_negative_index_is_no_index_from_the_end_unless_it_is_a_constant():
    values = np.arange(10)
    tail = values[5:]
    assert _at(tail, -1) == 4, "the number before the first of the tail, which the whole array has"
    assert _last(tail) == 9


def test_with_bounds_checks_a_negative_index_is_an_error(tmp_path):
    code = "import numpy; from tests.test_program import _at; _at(numpy.arange(3), -1)"
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "MERINO_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1 and "IndexError" in done.stderr
