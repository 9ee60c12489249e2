"""Large arrays in files without a name: they fill no memory, but what of them was used last, as long as there is room.

The files are in the folder for temporary files, and end with the array or the process.
"""

from __future__ import annotations

import logging
import mmap
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

log = logging.getLogger(__name__)


class RowFile:
    """Rows of one shape, gathered in a file; raises OSError, which names the folder, where that has no room."""

    def __init__(self, rows: np.ndarray) -> None:
        """Begins with these rows."""
        self._kind, self._shape, self._count = rows.dtype, rows.shape[1:], 0
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (it lives as long as this object)
        except OSError as error:
            raise _in_folder(error) from error
        self.add(rows)

    def add(self, rows: np.ndarray) -> None:
        """Add rows behind those that are there."""
        content = np.ascontiguousarray(rows, dtype=self._kind).reshape(-1).data.cast("B")
        try:
            while len(content):
                content = content[self._file.write(content) :]
        except OSError as error:
            raise _in_folder(error) from error
        self._count += len(rows)

    def array(self) -> np.ndarray:
        """All rows, which may be changed in place; after `add` ask again."""
        if not self._count:
            return np.zeros((0, *self._shape), dtype=self._kind)
        size = self._count * self._kind.itemsize * int(np.prod(self._shape, dtype=np.int64))
        found = np.frombuffer(mmap.mmap(self._file.fileno(), size), dtype=self._kind)
        return found.reshape((self._count, *self._shape))


def joined(parts: Sequence[np.ndarray], in_file: bool) -> np.ndarray:
    """These rows behind each other: in a file, if so wanted and there is room for it, or in memory."""
    if in_file:
        try:
            file = RowFile(parts[0][:0])
            for part in parts:
                file.add(part)
                let_go(part)
            return file.array()
        except OSError as error:
            tell_no_room(error)
    return np.concatenate(parts)


def tell_no_room(error: OSError) -> None:
    """Say in the log that rows stay in memory."""
    log.warning("no room for rows in '%s' (%s): they are kept in memory", error.filename, error.strerror)


def is_in_file(array: np.ndarray) -> bool:
    """Whether this is an array of a RowFile, or a part of one."""
    return _map_of(array) is not None


def let_go(rows: np.ndarray) -> None:
    """Give the memory back of rows that stay in a file, neighbours within a page too; other arrays are left alone.

    They are read again when they are used again, mostly from what the system still has of the file.
    """
    found = _map_of(rows)
    if found is None or not rows.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    start = np.frombuffer(found, dtype=np.uint8).ctypes.data
    first = (rows.ctypes.data - start) // mmap.PAGESIZE * mmap.PAGESIZE
    last = rows.ctypes.data - start + rows.nbytes
    found.madvise(mmap.MADV_DONTNEED, first, last - first)


def _map_of(array: np.ndarray) -> mmap.mmap | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, mmap.mmap) else None


def _in_folder(error: OSError) -> OSError:
    return OSError(error.errno, os.strerror(error.errno or 0), tempfile.gettempdir())
