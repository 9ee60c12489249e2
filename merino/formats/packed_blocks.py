"""Packed positions that are read in blocks, so that memory does not grow with their number.

Packed files are read where they lie, one after another. What comes from games or other files is written to a file
without a name first, which is gone when it is closed, or when the program ends in whatever way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import IO, Self

import numpy as np

from merino.core.common import user_files
from merino.core.common.array_files import RowFile
from merino.core.common.user_files import open_user_file
from merino.formats.packed import PACKED, PackedError, check_blocks, count_of

AT_ONCE = 1 << 18  # positions read together


class PackedBlocks:
    """Positions in files or in memory, PACKED[n], in order. Several threads may read them."""

    def __init__(self, parts: Sequence[_FilePart | np.ndarray]) -> None:
        self.parts, self._lock = parts, Lock()
        self._starts = np.cumsum([0, *map(len, parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for part in self.parts:
            if isinstance(part, _FilePart):
                part.file.close()

    def read(self, first: int, last: int) -> np.ndarray:
        """The positions from `first` up to `last`, PACKED[last - first]; raises OSError and PackedError."""
        found = []
        for part, start in zip(self.parts, self._starts.tolist(), strict=False):
            begin, end = max(first - start, 0), min(last - start, len(part))
            if begin < end:
                found.append(self._of_part(part, begin, end))
        return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, dtype=PACKED), *found])

    def blocks(self, size: int = AT_ONCE) -> Iterator[np.ndarray]:
        """All positions, `size` at a time; raises OSError and PackedError."""
        for first in range(0, len(self), size):
            yield self.read(first, min(first + size, len(self)))

    def every(self, step: int) -> np.ndarray:
        """Each `step`-th position from the first on."""
        found, first = [], 0
        for block in self.blocks():
            found.append(block[-first % step :: step].copy())
            first += len(block)
        return np.concatenate([np.zeros(0, dtype=PACKED), *found])

    def _of_part(self, part: _FilePart | np.ndarray, first: int, last: int) -> np.ndarray:
        if not isinstance(part, _FilePart):
            return np.asarray(part[first:last])
        with self._lock:
            return part.read(first, last)


class _FilePart:
    """A file of so many positions, open for reading."""

    def __init__(self, file: IO[bytes], count: int, name: str) -> None:
        self.file, self._count, self._name = file, count, name

    def __len__(self) -> int:
        return self._count

    def read(self, first: int, last: int) -> np.ndarray:
        """See PackedBlocks."""
        self.file.seek(PACKED.itemsize * first)
        content = self.file.read(PACKED.itemsize * (last - first))
        if len(content) < PACKED.itemsize * (last - first):
            raise PackedError(f"{self._name} was cut off while it was read")
        return np.frombuffer(content, dtype=PACKED)


def blocks_of(records: np.ndarray | PackedBlocks) -> PackedBlocks:
    """PACKED[n] in memory, or mapped, as blocks; blocks stay as they are."""
    return records if isinstance(records, PackedBlocks) else PackedBlocks([records])


def joined(parts: Iterable[PackedBlocks]) -> PackedBlocks:
    """All positions of some, one after another; to close it closes them."""
    return PackedBlocks([part for blocks in parts for part in blocks.parts])


def open_blocks(path: Path) -> PackedBlocks:
    """The positions of a packed file; raises PackedError and OSError.

    Every position is checked, so that other files are refused.
    """
    with ExitStack() as opened:
        file = opened.enter_context(open_user_file(path, user_files.PACKED))
        found = PackedBlocks([_FilePart(file, count_of(file.seek(0, 2), path), f"'{path}'")])
        check_blocks(found.blocks(), f"'{path}'")
        opened.pop_all()  # closed by the caller
    return found


def spooled(chunks: Iterable[np.ndarray], folder: Path) -> PackedBlocks:
    """Positions, PACKED[n] at a time, in a file without a name in `folder`; raises OSError, which names it."""
    rows = RowFile(np.zeros(0, dtype=PACKED), folder)
    with ExitStack() as opened:
        opened.enter_context(rows.file)
        for chunk in chunks:
            rows.add(chunk)
        opened.pop_all()  # closed by the caller
    return PackedBlocks([_FilePart(rows.file, len(rows), f"the file of positions in '{folder}'")])
