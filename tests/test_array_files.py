"""Arrays in files without a name: their contents, their memory, and a disk without room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from merino.core.common.sealed import RowFile, let_go, map_of

ROWS = np.arange(30_000, dtype=np.int16).reshape(10_000, 3)


def memory_of_files() -> int:
    """Kilobytes of this process that belong to files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssFile")).split()[1])


def test_rows_of_a_file_are_those_that_were_added() -> None:
    file = RowFile(ROWS[:10])
    assert np.array_equal(file.array(), ROWS[:10])
    file.add(ROWS[10:])
    file.add(ROWS[:0])
    found = file.array()
    assert np.array_equal(found, ROWS)
    assert found.dtype == ROWS.dtype and found.flags.c_contiguous and found.flags.writeable


def test_a_file_may_be_empty() -> None:
    assert RowFile(ROWS[:0]).array().shape == (0, 3)


def test_what_is_changed_in_place_stays_changed_when_its_memory_is_given_back() -> None:
    file = RowFile(ROWS)
    file.array()[5] = -1
    let_go(file.array())
    file.add(ROWS[:1])
    assert (file.array()[5] == -1).all() and np.array_equal(file.array()[6:-1], ROWS[6:])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux shows its memory so")
def test_memory_is_given_back() -> None:
    rows = RowFile(np.ones((1_000_000, 3), dtype=np.int16)).array()
    assert int(rows.sum()) == 3_000_000
    before = memory_of_files()
    let_go(rows[1000:])
    assert before - memory_of_files() > 5000
    assert int(rows.sum()) == 3_000_000


def test_an_array_in_memory_is_left_alone() -> None:
    rows = ROWS.copy()
    let_go(rows)
    let_go(rows[:0])
    assert np.array_equal(rows, ROWS)
    assert map_of(rows) is None and map_of(rows[2:5]) is None
