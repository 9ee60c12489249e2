"""The positions that nets are trained on, in blocks, so that memory does not grow with their number.

Packed files are read where they lie; what comes from games or other files is first written to a file without a name,
which is gone when it is closed, or when the program ends in whatever way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import IO, Self

import numpy as np

from merino.core.common import files
from merino.core.common.sealed import RowFile
from merino.formats.packed import PACKED, Filter, PackedError, checked_blocks
from merino.formats.packed_files import AT_ONCE, Report, is_packed, packed_positions
from merino.formats.sources import LeftOut


class PackedBlocks:
    """Positions in files or in memory, PACKED[n], in order. Several threads may read them."""

    def __init__(self, parts: Sequence[_FilePart | np.ndarray]) -> None:
        self.parts = parts
        self._starts = np.cumsum([0, *map(len, parts)]).tolist()

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
        found = [
            part[max(first - start, 0) : min(last - start, len(part))]
            for part, start in zip(self.parts, self._starts, strict=False)
            if start < last and first < start + len(part)
        ]
        return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, dtype=PACKED), *found])

    def blocks(self, size: int = AT_ONCE) -> Iterator[np.ndarray]:
        """All positions, `size` at a time; raises OSError and PackedError."""
        for first in range(0, len(self), size):
            yield self.read(first, min(first + size, len(self)))

    def every(self, step: int) -> np.ndarray:
        """Each `step`-th position from the first on."""
        found, first = [np.zeros(0, dtype=PACKED)], 0
        for block in self.blocks():
            found.append(block[-first % step :: step].copy())
            first += len(block)
        return np.concatenate(found)


class _FilePart:
    """A file of positions, open for reading."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        """Raises PackedError."""
        self.file, self._name, self._lock = file, name, Lock()
        self._count, rest = divmod(file.seek(0, 2), PACKED.itemsize)
        if rest:
            raise PackedError(f"{name} holds no packed positions, or its end is missing: {rest} bytes are too many")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: slice) -> np.ndarray:
        size = PACKED.itemsize * (rows.stop - rows.start)
        with self._lock:
            self.file.seek(PACKED.itemsize * rows.start)
            content = self.file.read(size)
        if len(content) < size:
            raise PackedError(f"{self._name} was cut off while it was read")
        return np.frombuffer(content, dtype=PACKED)


def blocks_of(records: np.ndarray | PackedBlocks) -> PackedBlocks:
    """PACKED[n] in memory, or mapped, as blocks; blocks stay as they are."""
    return records if isinstance(records, PackedBlocks) else PackedBlocks([np.asarray(records)])


def joined(parts: Iterable[PackedBlocks]) -> PackedBlocks:
    """All positions of some, one after another; to close it closes them."""
    return PackedBlocks([part for blocks in parts for part in blocks.parts])


def open_blocks(path: Path) -> PackedBlocks:
    """The positions of a packed file; raises PackedError and OSError.

    Every position is checked, so that other files are refused.
    """
    with ExitStack() as opened:
        file = opened.enter_context(files.open_user_file(path, files.PACKED))
        found = PackedBlocks([_FilePart(file, f"'{path}'")])
        if not len(found):
            raise PackedError(f"'{path}' is empty")
        for _ in checked_blocks(found.blocks(), f"'{path}'"):
            pass
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
    return PackedBlocks([_FilePart(rows.file, f"the file of positions in '{folder}'")])


def training_positions(
    paths: Sequence[Path], folder: Path, report: Callable[[Path], Report] | None = None, left_out: LeftOut | None = None
) -> PackedBlocks:
    """The positions of files, those of games through a filter: packed files where they lie, others by way of `folder`.

    `report` gives what is called while a file is read. Raises PackedError, also if there are none, SourceError and
    OSError.
    """
    with ExitStack() as opened:
        parts = []
        for path in paths:
            show = report(path) if report else None
            if is_packed(path):
                part = open_blocks(path)
            else:
                part = spooled(packed_positions(path, Filter(), show, left_out=left_out), folder)
            parts.append(opened.enter_context(part))
        found = joined(parts)
        if not len(found):
            raise PackedError(
                f"'{paths[0]}' holds no position with a score and a result; for games without scores "
                "'merino positions --rescore 1000' makes them by searches"
            )
        opened.pop_all()  # closed by the caller
    return found
