"""Files written whole or not at all: what a crash, a full disk or a second writer finds is the old file or the new."""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

_MARK, _ENDING = ".merino-", ".new"  # of a file that is to take the place of another

log = logging.getLogger(__name__)


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` in place of what the file held; raises OSError and then leaves it as it was."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Put each content in place of what its file held; raises OSError, and none is changed unless all could be written.

    Only putting them in place is left for the end, one file after another in the order given. What is no file, such as
    a pipe, is written into. The error names the file that it is about.
    """
    drafts: list[_Draft] = []
    try:
        for path, content in contents.items():
            target = path.resolve()  # of a link, the file it points to
            with _naming(target):
                if target.exists() and not target.is_file():
                    target.write_bytes(content)
                    continue
                drafts.append(_Draft(target))
                drafts[-1].file.write(content)
                drafts[-1].finish(durable=True)
        for draft in drafts:
            draft.put()
    except BaseException:
        for draft in drafts:
            draft.discard()
        raise


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write into that takes the place of `path` at the end of the block, unless that ends with an error.

    The disk is not waited for: this is for large files that can be made again.
    """
    draft = _Draft(path.resolve())
    try:
        yield draft.file
        draft.finish(durable=False)
        draft.put()
    except BaseException:
        draft.discard()
        raise


def check_writable(path: Path, whole: bool = True) -> None:
    """Raise the OSError that writing this file would; for looking before the work rather than after it.

    `whole`: as `write_whole` does, else by adding to its end. Changes nothing.
    """
    target = path.resolve()
    with _naming(path):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.is_file() and not whole:
            target.open("ab").close()
        elif target.exists() and not target.is_file():  # a pipe, which to open might wait for a reader
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            tempfile.TemporaryFile(dir=target.parent).close()


def lock(file: IO[bytes]) -> None:
    """Wait until nobody else holds the lock of this open file, then hold it until the file is closed.

    Where a system or its disk knows no locks, nothing happens. Only those who ask for it heed a lock.
    """
    if sys.platform != "win32":
        with suppress(OSError):  # a disk without locks, such as some of a network
            fcntl.flock(file, fcntl.LOCK_EX)


def try_lock(file: IO[bytes]) -> bool:
    """Hold the lock of this open file until it is closed, if nobody else holds it; whether that is so.

    Where a system or its disk knows no locks, it always is.
    """
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a disk without locks, such as some of a network
            return True
    return True


class _Draft:
    """A file beside `target` that is to take its place. It is locked, which tells others that its writer lives."""

    def __init__(self, target: Path) -> None:
        """Make it; raises OSError."""
        _remove_leftovers(target)
        self._target = target
        self._mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        self.file, self._path = _locked_file(target)

    def finish(self, durable: bool) -> None:
        """Give it the rights of its target and, if `durable`, wait until it is on the disk; raises OSError."""
        self.file.flush()
        if durable:
            os.fsync(self.file.fileno())
        self._path.chmod(self._mode)

    def put(self) -> None:
        """Put it in place of its target; raises OSError."""
        if sys.platform == "win32":
            self.file.close()  # an open file cannot be moved there; elsewhere it keeps its lock until it is in place
        self._path.replace(self._target)
        self.file.close()

    def discard(self) -> None:
        """Remove it, unless it is in place."""
        with suppress(OSError):  # on a full disk, for what has not been written yet and is not wanted any more
            self.file.close()
        self._path.unlink(missing_ok=True)


def _locked_file(target: Path) -> tuple[IO[bytes], Path]:
    """A new file beside `target`, locked, and its path."""
    while True:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=target.name + _MARK, suffix=_ENDING)
        file = os.fdopen(descriptor, "wb")
        lock(file)
        if Path(name).exists():
            return file, Path(name)
        file.close()  # another writer took it for a leftover before it was locked


def _remove_leftovers(target: Path) -> None:
    """Delete what writers of this very file left beside it when they were killed: what nobody holds locked."""
    if sys.platform == "win32":
        return
    pattern = re.compile(re.escape(target.name + _MARK) + r"[a-z0-9_]+" + re.escape(_ENDING))
    try:
        found = [path for path in target.parent.iterdir() if pattern.fullmatch(path.name) and path.is_file()]
    except PermissionError:
        return  # a folder may be written but not listed
    for path in found:
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        except OSError as error:  # its writer lives, or it is somebody else's
            log.info("%s stays: %s", path, error)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an OSError name this file: a full disk names none, a locked folder one that nobody asked for."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise
