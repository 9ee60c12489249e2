"""Arrays in files: named ones as the content of a file, and rows that are too many for memory.

Named arrays are NumPy's `.npz`, a zip archive, which has a checksum of each. Rows go into files without a name: they
fill no memory, but what of them was used last, as long as there is room. Those files are in the folder for temporary
files or in one that is named, and end with the array or the process.
"""

from __future__ import annotations

import io
import logging
import mmap
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.sealed import DamageError

log = logging.getLogger(__name__)

_ENDING = ".npy"
_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, NotImplementedError, RuntimeError)


def as_npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a file with these arrays, the same for the same arrays."""
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def from_npz(content: bytes) -> dict[str, np.ndarray]:
    """The arrays by name; raises DamageError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name.removesuffix(_ENDING): _array(archive.read(name)) for name in archive.namelist()}
    except _FAULTS as error:
        raise DamageError(f"it is no whole archive of arrays: {error or type(error).__name__}") from error


def check_arrays(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
    """Raise DamageError unless the arrays of the names in `wanted` have the types and sizes of those there."""
    for name, like in wanted.items():
        if name not in found:
            raise DamageError(f"it lacks '{name}'")
        array = found[name]
        if array.dtype != like.dtype or array.shape != like.shape:
            raise DamageError(f"'{name}' is {array.dtype} {array.shape}, not {like.dtype} {like.shape}")


def _array(member: bytes) -> np.ndarray:
    """The array of a member whose checksum is right; raises ValueError and what struct raises."""
    file = io.BytesIO(member)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in read_header:
        raise ValueError(f"version {version} of an array is unknown")
    shape, by_column, kind = read_header[version](file)
    if kind.hasobject or len(member) - file.tell() != prod(shape) * kind.itemsize:
        raise ValueError(f"{shape} of {kind} are not the bytes that follow")
    values = np.frombuffer(member, kind, prod(shape), file.tell())
    return values.reshape(shape, order="F" if by_column else "C").copy()


class RowFile:
    """Rows of one shape, gathered in a file; raises OSError, which names the folder, where that has no room."""

    def __init__(self, rows: np.ndarray, folder: Path | None = None) -> None:
        """Begins with these rows; in the folder for temporary files, if none is given."""
        self._kind, self._shape, self._count = rows.dtype, rows.shape[1:], 0
        self._row_bytes = rows.dtype.itemsize * prod(rows.shape[1:])
        self._folder = folder or Path(tempfile.gettempdir())
        try:
            self.file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  (it lives as long as this object)
        except OSError as error:
            raise self._in_folder(error) from error
        self.add(rows)

    def __len__(self) -> int:
        return self._count

    def add(self, rows: np.ndarray) -> None:
        """Add rows behind those that are there."""
        content = np.ascontiguousarray(rows, dtype=self._kind).reshape(-1).data.cast("B")
        try:
            while len(content):
                content = content[self.file.write(content) :]
        except OSError as error:
            raise self._in_folder(error) from error
        self._count += len(rows)

    def cut(self, count: int) -> None:
        """Forget the rows behind the first `count`: what is added takes their place."""
        self._count = count
        self.file.seek(count * self._row_bytes)

    def array(self) -> np.ndarray:
        """All rows, which may be changed in place; after `add` ask again."""
        if not self._count:
            return np.zeros((0, *self._shape), dtype=self._kind)
        found = np.frombuffer(mmap.mmap(self.file.fileno(), self._count * self._row_bytes), dtype=self._kind)
        return found.reshape((self._count, *self._shape))

    def _in_folder(self, error: OSError) -> OSError:
        return OSError(error.errno, os.strerror(error.errno or 0), str(self._folder))


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
