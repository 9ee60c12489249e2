"""The one door for files that a user names: in an option, in a command, on the page, in a variable of the environment.

To be read, only regular files pass, and of each kind only sizes that its content can have. A folder, a device, a pipe
or a socket is refused before it is opened: some never end, some never begin, and some act when they are opened. What
may change between the look and the reading is judged again on the open file. What replaces a file may also go to a
stream: a device such as /dev/stdout, or a pipe that somebody reads. Whatever is wrong, the fault is an OSError whose
`strerror` is the reason in words.

Also where on the user's disk Merino's own files lie. Imports nothing heavy.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from merino.core.common.errors import MerinoError

_MIB, _GIB, _TIB = 1 << 20, 1 << 30, 1 << 40
_UNITS = ((_TIB, "TiB"), (_GIB, "GiB"), (_MIB, "MiB"))
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_CHUNK_BYTES = 1 << 20
HEAD_BYTES = 1 << 10  # by which the kind of a file is told
_LEASE_SECONDS = 0.05  # between two looks whether a file server has let go of a file
_MAX_NAME = 60  # characters of it in an error
_IMPOSSIBLE = "no file can have such a name"
IN_UTF_16 = "is UTF-16 text: save it as UTF-8"
# eight plain characters, as text begins; no packed position does
_UTF_16 = re.compile(rb"(?:\xff\xfe)?(?:[\t\r\n -~]\0){8}|(?:\xfe\xff)?(?:\0[\t\r\n -~]){8}")
_OPENED_BY_THE_SHELL = re.compile(r"/(dev|proc/self)/fd/\d+")
_NAMES: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Kind(NamedTuple):
    """A kind of file and the most bytes that one may have, far beyond any useful one.

    `is_stream`: its text is read once, piece by piece, so that a pipe opened by the shell serves too: `<(zcat FILE)`.
    """

    name: str
    limit: int
    is_stream: bool = False


WEIGHTS = Kind("a weights file", 16 * _MIB)
NET = Kind("a net", _GIB)
BOOK = Kind("an opening book", 2 * _GIB)
OPENINGS = Kind("a file of openings", 2 * _GIB)
GAMES = Kind("a file of games or positions", 16 * _TIB, is_stream=True)
WHOLE_GAMES = Kind("games that are read as a whole", 4 * _GIB, is_stream=True)
PACKED = Kind("a file of packed positions", 16 * _TIB)
TABLES = Kind("an endgame table", 16 * _TIB)
UNFINISHED_GAME = Kind("an unfinished game", _MIB)
SETTINGS = Kind("a file of settings", 16 * _MIB)
STATE = Kind("a file that a run has kept", 4 * _GIB)
KINDS = (WEIGHTS, NET, BOOK, OPENINGS, GAMES, WHOLE_GAMES, PACKED, TABLES, UNFINISHED_GAME, SETTINGS, STATE)


class UserFileError(OSError):
    """A file that is not let in; `strerror` says why."""

    def __init__(self, reason: str, path: Path | str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))

    def __reduce__(self) -> tuple[type[UserFileError], tuple[str, str]]:
        return type(self), (str(self.strerror), str(self.filename))  # what it is made of, for pickle and copy


def user_path(name: str | Path) -> Path:
    """The path that a user means: `~` is the home folder, `~name` that of another user.

    Raises OSError without such a home, and for a name that no file can have.
    """
    path = Path(name)
    try:
        if b"\0" in os.fsencode(path):
            raise ValueError("embedded null byte")
        return path.expanduser()
    except RuntimeError as error:
        raise UserFileError(f"there is no home folder {path.parts[0][:_MAX_NAME]}", path) from error
    except ValueError as error:
        raise UserFileError(_IMPOSSIBLE, path) from error


def real_path(path: Path) -> Path:
    """The path of the file itself where this is a link to it; raises OSError."""
    with _named(path):
        with suppress(FileNotFoundError):
            path.stat()  # raises where links go in a circle, which `resolve` reports in another way in each Python
        return path.resolve()


def is_there(path: Path) -> bool:
    """Whether there is anything of this name, readable or not. A name that the system cannot hold is not there."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        return isinstance(error, PermissionError)
    return True


def is_folder(path: Path) -> bool:
    """Whether it is a folder."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def is_regular(path: Path) -> bool:
    """Whether it is there and a file as usual, not a pipe, a folder or a device."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def is_stream(path: Path) -> bool:
    """Whether it is a device or a pipe; raises OSError, also for what can be nobody's output, such as a folder."""
    with _named(path):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return False
    _check_target(mode, path, may_be_stream=True)
    return not stat.S_ISREG(mode)


def check_folder(path: Path) -> Path:
    """The path, if it is a folder; raises OSError."""
    with _named(path):
        mode = path.stat().st_mode
    if not stat.S_ISDIR(mode):
        raise UserFileError(f"it is {_what_it_is(mode)}, not a folder", path)
    return path


def first_there(places: Iterable[Path]) -> Path | None:
    """The first of these that is a regular file; None if none is."""
    return next((place for place in places if is_regular(place)), None)


def names_in(folder: Path) -> list[str]:
    """The names in a folder; none where it cannot be listed."""
    try:
        return [entry.name for entry in folder.iterdir()]
    except (OSError, ValueError):
        return []


def open_user_file(path: Path, kind: Kind) -> io.BufferedReader:
    """Open a file for reading; raises OSError. Reading more than its kind may have, as it grows, raises OSError too."""
    descriptor = _descriptor(path, kind)
    try:
        status = os.fstat(descriptor)
        _check(status, path, kind)
        if not stat.S_ISREG(status.st_mode):
            _may_wait(descriptor)
        return io.BufferedReader(_LimitedFile(descriptor, path, kind))
    except BaseException:
        os.close(descriptor)
        raise


def read_user_file(path: Path, kind: Kind | Callable[[bytes], Kind]) -> bytes:
    """The whole content of a file; raises OSError. A function tells the kind from how the file begins."""
    with open_user_file(path, kind if isinstance(kind, Kind) else PACKED) as file:  # the widest that is no stream
        head = file.read(HEAD_BYTES)
        if not isinstance(kind, Kind):
            kind = kind(head)
            check_size(os.fstat(file.fileno()).st_size, path, kind)
        parts, left = [head], kind.limit + 1 - len(head)
        while left > 0 and (part := file.read(min(left, _CHUNK_BYTES))):
            parts.append(part)
            left -= len(part)
    content = b"".join(parts)
    check_size(len(content), path, kind)
    return content


def read_user_text(path: Path, kind: Kind | Callable[[bytes], Kind], errors: str = "strict") -> str:
    """The whole text of a file in UTF-8, with any line ends; raises OSError, also where it is no such text."""
    return text_of(read_user_file(path, kind), path, errors)


def text_of(content: bytes, path: Path, errors: str = "strict") -> str:
    """The text of what was read from this file, as of `read_user_text`; raises OSError."""
    if is_utf_16(content):
        raise UserFileError(f"it {IN_UTF_16}", path)
    try:
        text = content.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        raise UserFileError("it is not UTF-8 text", path) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_utf_16(head: bytes) -> bool:
    """Whether a file that begins with these bytes is text in UTF-16, which is not read: IN_UTF_16 says so."""
    return _UTF_16.match(head) is not None


@contextmanager
def faults_named(path: Path, what: str, kind: type[MerinoError]) -> Iterator[None]:
    """Make it an error of this kind that a file cannot be read, or that its content is not `what` it should be."""
    try:
        yield
    except OSError as error:
        raise kind(f"cannot read '{path}': {error.strerror or error}") from error
    except KeyError as error:
        raise kind(f"'{path}' is not {what}: it lacks {error}") from error
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise kind(f"'{path}' is not {what}: {error}") from error


def open_to_append(path: Path) -> BinaryIO:
    """Open a regular file to append to, made if it does not exist; raises OSError."""
    return io.BufferedWriter(_file_to_write(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab"))


def open_to_extend(path: Path) -> io.FileIO:
    """Open a regular file to read and to append to, unbuffered, made if it does not exist; raises OSError."""
    return _file_to_write(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, "a+b")


def open_stream(path: Path) -> io.FileIO:
    """Open a device, or a pipe that somebody reads, to write to it, unbuffered; raises OSError."""
    return _file_to_write(path, os.O_WRONLY, "wb", may_be_stream=True)


def check_size(size: int, path: Path, kind: Kind) -> None:
    """Raise UserFileError if a file of this kind cannot have so many bytes."""
    if size > kind.limit:
        raise UserFileError(f"it has more than {_in_words(kind.limit)}, too much for {kind.name}", path)


class NamedFile(io.FileIO):
    """An open file whose faults of writing name the path that the user knows it by."""

    def __init__(self, descriptor: int, mode: str, path: Path) -> None:
        super().__init__(descriptor, mode)
        self._path = path
        self.name = str(path)  # else the number of the descriptor

    def write(self, content: Any, /) -> int:
        """See FileIO."""
        with _named(self._path):
            return super().write(content)


class _LimitedFile(io.FileIO):
    """A file open for reading that raises UserFileError once more is read than its kind may have."""

    def __init__(self, descriptor: int, path: Path, kind: Kind) -> None:
        super().__init__(descriptor)
        self._path, self._kind, self._left = path, kind, kind.limit
        self._passes = not self.seekable()
        self.name = str(path)  # else the number of the descriptor

    def readinto(self, buffer: Any) -> int:
        """See FileIO; what would have to be waited for raises BlockingIOError."""
        with _named(self._path):
            count = super().readinto(buffer)
        if count is None:
            raise BlockingIOError(errno.EAGAIN, "it has nothing to read now", str(self._path))
        self._left -= count
        check_size(self._kind.limit - self._left if self._passes else self.tell(), self._path, self._kind)
        return count

    def readall(self) -> bytes:
        """See FileIO."""
        return b"".join(iter(lambda: self.read(_CHUNK_BYTES), b""))

    def read(self, size: int | None = -1, /) -> bytes:
        """See FileIO."""
        if size is None or size < 0:
            return self.readall()
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(buffer)])


def _descriptor(path: Path, kind: Kind) -> int:
    """The file, open for reading, without waiting for anything but the disk; raises OSError."""
    with _named(path):
        _check(path.stat(), path, kind)
        while True:
            try:
                return os.open(path, os.O_RDONLY | _AT_ONCE)
            except BlockingIOError:  # a file server lends it to somebody, and is asked by this to take it back
                time.sleep(_LEASE_SECONDS)


def _check(status: os.stat_result, path: Path, kind: Kind) -> None:
    if stat.S_ISREG(status.st_mode):
        check_size(status.st_size, path, kind)
    elif not (kind.is_stream and stat.S_ISFIFO(status.st_mode) and _OPENED_BY_THE_SHELL.fullmatch(str(path))):
        raise UserFileError(f"it is {_what_it_is(status.st_mode)}, not a regular file", path)


def _file_to_write(path: Path, flags: int, mode: str, may_be_stream: bool = False) -> io.FileIO:
    """The file, open for writing, without waiting for anything but the disk; raises OSError."""
    with _named(path):
        if is_there(path):
            _check_target(path.stat().st_mode, path, may_be_stream)
        try:
            descriptor = os.open(path, flags | _AT_ONCE, 0o666)
        except OSError as error:
            if error.errno == errno.ENXIO and stat.S_ISFIFO(path.stat().st_mode):
                raise UserFileError("it is a pipe that nobody reads", path) from error
            raise
    try:
        _check_target(os.fstat(descriptor).st_mode, path, may_be_stream)
        _may_wait(descriptor)
        return NamedFile(descriptor, mode, path)
    except BaseException:
        os.close(descriptor)
        raise


def _check_target(mode: int, path: Path, may_be_stream: bool) -> None:
    """Raise UserFileError if this is nothing to write to."""
    if not stat.S_ISREG(mode) and not (may_be_stream and (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode))):
        raise UserFileError(f"it is {_what_it_is(mode)}, not a regular file", path)


def _what_it_is(mode: int) -> str:
    return next((name for is_one, name in _NAMES if is_one(mode)), "something else")


def _may_wait(descriptor: int) -> None:
    """From now on, reading and writing wait as usual."""
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)


def _in_words(size: int) -> str:
    return next(f"{size // unit} {name}" for unit, name in _UNITS if size >= unit)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let every fault of a name be an OSError that names the file."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise
    except ValueError as error:
        raise UserFileError(_IMPOSSIBLE, path) from error


class NoHomeError(MerinoError):
    """The system knows no home folder, or MERINO_HOME names none."""


def user_folder(kind: str) -> Path:
    """The user's folder for Merino's files of this `kind` ("cache" or "data") on this system.

    MERINO_HOME, if set, holds both: `$MERINO_HOME/cache` and `$MERINO_HOME/data`. Raises NoHomeError.
    """
    home = os.environ.get("MERINO_HOME")
    try:
        return user_path(home) / kind if home else _usual_folder(kind)
    except OSError as error:
        raise NoHomeError(f"MERINO_HOME is '{home}': {error.strerror}") from error
    except RuntimeError as error:
        raise NoHomeError("this user has no home folder: set MERINO_HOME to a folder for Merino's files") from error


def _usual_folder(kind: str) -> Path:
    """Where this system has such folders; raises RuntimeError without a home folder."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "Merino" / kind
    if sys.platform == "darwin":
        return Path.home() / "Library" / ("Caches" if kind == "cache" else "Application Support") / "Merino"
    variable, default = {"cache": ("XDG_CACHE_HOME", ".cache"), "data": ("XDG_DATA_HOME", ".local/share")}[kind]
    base = Path(os.environ.get(variable) or "")
    return (base if base.is_absolute() else Path.home() / default) / "merino"  # a relative one counts as none
