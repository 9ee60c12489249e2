"""A disk without room, for tests."""

import errno
from tempfile import TemporaryFile
from typing import Any


class FullDisk:
    """A temporary file that has room for so many more bytes."""

    def __init__(self, room: int) -> None:
        self._file, self._room = TemporaryFile(buffering=0), room  # noqa: SIM115  (as long as this object)

    def write(self, content: Any) -> int:
        if not self._room:
            raise OSError(errno.ENOSPC, "no")
        written = self._file.write(content[: self._room])
        self._room -= written
        return written

    def fileno(self) -> int:
        return self._file.fileno()
