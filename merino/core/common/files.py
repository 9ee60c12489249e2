"""Atomic writing of files: after a crash, a full disk or a second writer a file is either the old one or the new."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from merino.core.common.errors import MerinoError
from merino.core.common.user_files import (
    NamedFile,
    is_stream,
    is_there,
    open_stream,
    open_to_append,
    real_path,
)
from merino.core.common.user_files import is_regular as is_regular_file

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_MARK, _ENDING = ".merino-", ".new"  # of a file that will replace another
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_OWNER, _ANYBODY = 0o600, 0o666  # permissions of a new file, before the umask takes some of them away
_BETWEEN_TRIES = 0.1  # seconds between two looks at a lock
_LOCKED_BYTE = (1 << 31) - 2  # of a file on Windows, where a lock keeps others from reading what it covers
LOCK_ENDING = ".lock"  # of the file beside another that says who holds it
_CHECKED_PIPES: dict[tuple[int, int], io.FileIO] = {}  # by their place on the disk: open until they are written to

log = logging.getLogger(__name__)


class FileInUseError(MerinoError):
    """Another process works on a file that only one may; the message names it."""


def write_fault(error: OSError, path: Path | str | None = None) -> str:
    """Why a file could not be written, in words, for `path` or else the file that the error names."""
    named = path or error.filename
    reason: object = error.strerror or error
    if isinstance(error, FileNotFoundError):
        reason = "there is no such folder"
    elif isinstance(error, IsADirectoryError):
        reason = "it is a folder"
    return f"cannot write '{named}': {reason}" if named else f"cannot write: {reason}"


@contextmanager
def writing(kind: type[MerinoError], path: Path | None = None, before: str = "", after: str = "") -> Iterator[None]:
    """Make it an error of this kind that a file cannot be written; its message has words before and after why."""
    try:
        yield
    except OSError as error:
        raise kind(f"{before}{write_fault(error, path)}{after}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Replace the content of a file; raises OSError and then leaves it unchanged."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Replace the contents of files; raises OSError, and changes none unless all could be written.

    The replacements are the last step, one file after another in the order given. A device is written to, and so is a
    pipe that somebody reads. The error names its file.
    """
    drafts: list[_Draft] = []
    try:
        for path, content in contents.items():
            with _naming(path):
                if is_stream(path):
                    with _opened_stream(path) as stream:
                        stream.write(content)
                    continue
                drafts.append(_Draft(path))
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
    """A file to write to that replaces `path` at the end of the block, unless the block ends with an error.

    It does not wait for the disk: it is for large files that can be made again. A device is written to, and so is a
    pipe that somebody reads. Raises OSError, which names `path` unless it comes from elsewhere in the block.
    """
    with _naming(path):
        if is_stream(path):
            stream, draft = _opened_stream(path), None
        else:
            draft = _Draft(path)
            stream = draft.file
    if draft is None:
        with stream:
            yield stream
        return
    try:
        yield stream
        with _naming(path):
            draft.finish(durable=False)
            draft.put()
    except BaseException:
        draft.discard()
        raise


def append_whole(file: IO[bytes], content: bytes) -> None:
    """Append to an unbuffered file all or nothing, and wait until it is on the disk; raises OSError.

    Hold the `lock` of the file: only then is what follows the old end ours to take back.
    """
    before, done = os.fstat(file.fileno()).st_size, 0
    try:
        while done < len(content):
            done += file.write(content[done:])
        if is_regular(file):
            os.fsync(file.fileno())
    except OSError:
        if is_regular(file) and os.fstat(file.fileno()).st_size == before + done:  # so that the bytes after it are ours
            file.truncate(before)
        raise


def is_regular(file: IO[bytes]) -> bool:
    """Whether an open file is one on a disk, and not a pipe or a device."""
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def is_draft(path: Path, of: str = "") -> bool:
    """Whether a file has the name of one that was to replace `of`, or any other, and that a killed writer has left.

    The next writer of the same file removes it.
    """
    of = re.escape(of) if of else ".+"
    return bool(re.fullmatch(of + re.escape(_MARK) + "[a-z0-9_]+" + re.escape(_ENDING), path.name))


def check_writable(path: Path, whole: bool = True) -> None:
    """Raise the OSError that writing this file would raise; for checks before the work.

    `whole`: writing as `write_whole` does; else appending. Changes nothing.
    """
    with _naming(path):
        if is_stream(path):
            _check_stream(path)
        elif (target := real_path(path)).is_file() and not whole:
            open_to_append(target).close()
        else:
            tempfile.TemporaryFile(dir=target.parent).close()


def overwritten(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> str | None:
    """What these outputs would replace by mistake, in words: an input, or another of them; None if nothing.

    Links lead to their file. Devices and pipes lose nothing. Raises OSError.
    """
    known: dict[tuple[int, int] | Path, bool] = {_place(path): False for path in inputs if is_regular_file(path)}
    for path in outputs:
        if is_there(path) and not is_regular_file(path):
            continue
        place = _place(path) if is_there(path) else real_path(path)
        if place in known:
            how = "an output twice; name two files" if known[place] else "also an input; name another output file"
            return f"'{path}' is {how}"
        known[place] = True
    return None


def _check_stream(path: Path) -> None:
    """Raise the OSError that writing to this device or pipe would raise.

    A pipe stays open until it is written to, as its reader takes its closing for the end. Some devices act when they
    are opened.
    """
    if path.is_fifo():
        stream, place = open_stream(path), _place(path)
        if place in _CHECKED_PIPES:
            _CHECKED_PIPES.pop(place).close()
        _CHECKED_PIPES[place] = stream
    elif not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _opened_stream(path: Path) -> IO[bytes]:
    """A device or pipe to write to, as it was checked or else opened now; raises OSError."""
    place = _place(path)
    return io.BufferedWriter(_CHECKED_PIPES.pop(place) if place in _CHECKED_PIPES else open_stream(path))


def _place(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def lock(file: IO[bytes]) -> None:
    """Lock this open file until it is closed; waits for other holders.

    Without support for locks in the system or disk, it does nothing. Locks are advisory.
    """
    if sys.platform == "win32":
        while not try_lock(file):
            time.sleep(_BETWEEN_TRIES)
    else:
        with suppress(OSError):  # a disk without locks, such as some of a network
            fcntl.flock(file, fcntl.LOCK_EX)


def lock_within(file: IO[bytes], seconds: float) -> bool:
    """Lock this open file until it is closed, if its other holder gives it up within so long; returns whether it did.

    As in `try_lock`, always True without support for locks.
    """
    deadline = time.monotonic() + seconds
    while not try_lock(file):
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, _BETWEEN_TRIES))
    return True


def try_lock(file: IO[bytes]) -> bool:
    """Lock this open file until it is closed, if nobody else holds the lock; returns whether it did.

    Without support for locks in the system or disk, it always returns True.
    """
    try:
        _take_lock(file)
    except BlockingIOError:
        return False
    except OSError:  # a disk without locks, such as some of a network
        return True
    return True


def _take_lock(file: IO[bytes]) -> None:
    """Lock this open file at once; raises BlockingIOError if somebody else holds it, and OSError without support."""
    if sys.platform == "win32":
        here = os.lseek(file.fileno(), 0, os.SEEK_CUR)
        os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error
        finally:
            os.lseek(file.fileno(), here, os.SEEK_SET)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def held(path: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold a regular file, or one that is yet to be made, for this block, so that two runs do not mix their work in it.

    Raises FileInUseError if it is held elsewhere for more than `patience` seconds, and OSError if nothing can be
    written beside it: the lock is an empty file `NAME.lock` there, which the block removes at its end, or after a kill
    the next one; a file of that name with content is the user's, and stays. Without support for locks, or for what is
    no regular file, nothing is held.
    """
    if is_stream(path):
        yield
        return
    target = real_path(path)
    place = target.with_name(f"{target.name}{LOCK_ENDING}")
    with _naming(path):
        file = _newly_locked(place, path, patience)
    try:
        yield
    finally:
        remove_held(place, file)


@contextmanager
def held_or(kind: type[MerinoError], path: Path) -> Iterator[None]:
    """Hold a file as `held` does; it is an error of this kind that somebody else has it, or that it cannot be held."""
    with ExitStack() as stack:
        try:
            with writing(kind, path):
                stack.enter_context(held(path))
        except FileInUseError as error:
            raise kind(str(error)) from error
        yield


def remove_held(place: Path, file: IO[bytes]) -> None:
    """Remove a lock file that we hold, unless it is the user's, and give up its lock."""
    if os.fstat(file.fileno()).st_size:
        file.close()
    elif sys.platform == "win32":  # an open file cannot be removed there; if another run has just opened it, it stays
        file.close()
        with suppress(PermissionError):
            place.unlink(missing_ok=True)
    else:
        place.unlink(missing_ok=True)  # before it is unlocked: who has waited for the lock sees that it is gone
        file.close()


def _newly_locked(place: Path, path: Path, patience: float) -> IO[bytes]:
    """The lock file at this place, open and locked; raises FileInUseError for `path` if somebody else has it."""
    while True:
        file = open_to_append(place)
        if not lock_within(file, patience):
            file.close()
            raise FileInUseError(f"another run of Merino works on '{path}': wait for its end, or name another file")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), place.stat()):
                return file
        file.close()  # its holder removed it before we had the lock


class _Draft:
    """A file that will replace `path`, of a link the file it points to. Its lock tells others that its writer lives."""

    def __init__(self, path: Path) -> None:
        """Make it beside that file; raises OSError."""
        self._target = target = real_path(path)
        _remove_leftovers(target)
        self._mode = target.stat().st_mode & 0o777 if target.exists() else None
        self.file, self._path = _locked_file(target, path, _ANYBODY if self._mode is None else self._mode | _OWNER)

    def finish(self, durable: bool) -> None:
        """Give it the permissions of its target, if it is there, and if `durable` wait for the disk; raises OSError."""
        self.file.flush()
        if durable:
            os.fsync(self.file.fileno())
        if self._mode is not None:
            self._path.chmod(self._mode)

    def put(self) -> None:
        """Replace its target; raises OSError."""
        if sys.platform == "win32":
            self.file.close()  # an open file cannot be moved there; elsewhere it keeps its lock until it is in place
        self._path.replace(self._target)
        self.file.close()

    def discard(self) -> None:
        """Remove it, unless it has replaced its target."""
        with suppress(OSError):  # on a full disk, for unwritten content that is no longer needed
            self.file.close()
        self._path.unlink(missing_ok=True)


def _locked_file(target: Path, path: Path, mode: int) -> tuple[IO[bytes], Path]:
    """A new file beside `target`, locked, with this mode less the umask, whose faults name `path`; and where it is."""
    while True:
        place = target.with_name(f"{target.name}{_MARK}{os.urandom(4).hex()}{_ENDING}")
        with suppress(FileExistsError):
            file = io.BufferedWriter(NamedFile(os.open(place, _NEW_FILE, mode), "wb", path))
            lock(file)
            if place.exists():
                return file, place
            file.close()  # another writer took it for a leftover before it was locked


def _remove_leftovers(target: Path) -> None:
    """Delete leftovers of killed writers of this file: those that nobody has locked."""
    try:
        found = [path for path in target.parent.iterdir() if is_draft(path, target.name) and path.is_file()]
    except PermissionError:
        return  # a folder may be written but not listed
    for path in found:
        try:
            with path.open("rb") as file:
                _take_lock(file)
                if sys.platform != "win32":
                    path.unlink()
            if sys.platform == "win32":  # where an open file cannot be removed, a living writer's neither
                path.unlink()
        except OSError as error:  # its writer is alive, or it belongs to somebody else
            log.info("%s stays: %s", path, error)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an OSError name this file: a full disk names none, a locked folder an internal one."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise
