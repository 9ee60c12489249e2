"""A disk without room, for tests."""

import errno
import os
from tempfile import TemporaryFile
from typing import Any


def no_room(*_: object) -> Any:
    """What a call comes to that finds no room."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullDisk:
    """A file, a temporary one unless it is given, that takes so many more bytes."""

    def __init__(self, room: int, file: Any = None) -> None:
        self._file, self._room = file or TemporaryFile(buffering=0), room  # noqa: SIM115  (as long as this object)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: Any) -> int:
        if not self._room:
            no_room()
        written: int = self._file.write(content[: self._room])
        self._room -= written
        return written
