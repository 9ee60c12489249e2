"""The one door for files that a user names: in an option, in a command, on the page, in a variable of the environment.

Only regular files pass, and of each kind only sizes that its content can have. A folder, a device, a pipe or a socket
is refused before it is opened: some never end, some never begin, and some act when they are opened. What may change
between the look and the opening is checked again on the open file. Whatever is wrong, the fault is an OSError whose
`strerror` is the reason in words and whose `filename` is the file.

Also where on the user's disk Merino's own files lie. Imports nothing heavy.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from merino.core.common.errors import MerinoError

_MIB, _GIB, _TIB = 1 << 20, 1 << 30, 1 << 40
_UNITS = ((_TIB, "TiB"), (_GIB, "GiB"), (_MIB, "MiB"))
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)  # never wait for the other end of a pipe
HEAD_BYTES = 1 << 10  # that show what kind of file it is
_PIECE_BYTES = 1 << 20  # read at a time
_MAX_NAME = 60  # characters of it in an error
_IMPOSSIBLE = "no file can have such a name"
IN_UTF_16 = "is UTF-16 text: save it as UTF-8"
# eight plain characters, as text begins; no packed position does
_UTF_16 = re.compile(rb"(?:\xff\xfe)?(?:[\t\r\n -~]\0){8}|(?:\xfe\xff)?(?:\0[\t\r\n -~]){8}")
_OPENED_BY_THE_SHELL = re.compile(r"/(dev|proc/self)/fd/\d+")
_NAMES = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


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


class UserFileError(OSError):
    """A file that is not let in; `strerror` says why."""

    def __init__(self, reason: str, path: Path | str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))

    def __reduce__(self) -> tuple[type[UserFileError], tuple[str, str]]:
        return type(self), (str(self.strerror), str(self.filename))  # what it is made of, for pickle and copy


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let every OSError name this file, as a full disk names none, and a name that no file can have be one."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise
    except ValueError as error:
        raise UserFileError(_IMPOSSIBLE, path) from error


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
    with naming(path):
        with suppress(FileNotFoundError):
            path.stat()  # raises where links go in a circle, which `resolve` reports in another way in each Python
        return path.resolve()


def is_there(path: Path) -> bool:
    """Whether there is anything of this name, readable or not. A name that the system cannot hold is not there."""
    try:
        return bool(path.stat())
    except (OSError, ValueError) as error:
        return isinstance(error, PermissionError)


def _is(path: Path, kind: int) -> bool:
    try:
        return stat.S_IFMT(path.stat().st_mode) == kind
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether it is a folder."""
    return _is(path, stat.S_IFDIR)


def is_regular(path: Path) -> bool:
    """Whether it is there and a file as usual, not a pipe, a folder or a device."""
    return _is(path, stat.S_IFREG)


def check_folder(path: Path) -> Path:
    """The path, if it is a folder; raises OSError."""
    with naming(path):
        mode = path.stat().st_mode
    if not stat.S_ISDIR(mode):
        raise UserFileError(f"it is {what_it_is(mode)}, not a folder", path)
    return path


def first_there(places: Iterable[Path]) -> Path | None:
    """The first of these that is a regular file; None if none is."""
    return next(filter(is_regular, places), None)


def names_in(folder: Path) -> list[str]:
    """The names in a folder; none where it cannot be listed."""
    try:
        return [entry.name for entry in folder.iterdir()]
    except (OSError, ValueError):
        return []


def open_user_file(path: Path, kind: Kind) -> io.BufferedReader:
    """Open a file for reading; raises OSError."""
    with naming(path):
        _check(path.stat(), path, kind)
        file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 (a path has no opener)
        try:
            _check(os.fstat(file.fileno()), path, kind)
            if hasattr(os, "set_blocking"):
                os.set_blocking(file.fileno(), True)
        except BaseException:
            file.close()
            raise
    return file


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _AT_ONCE, 0o666)


def _check(status: os.stat_result, path: Path, kind: Kind) -> None:
    if stat.S_ISREG(status.st_mode):
        check_size(status.st_size, path, kind)
    elif not (kind.is_stream and stat.S_ISFIFO(status.st_mode) and _OPENED_BY_THE_SHELL.fullmatch(str(path))):
        raise UserFileError(f"it is {what_it_is(status.st_mode)}, not a regular file", path)


def check_size(size: int, path: Path, kind: Kind) -> None:
    """Raise UserFileError if a file of this kind cannot have so many bytes."""
    if size > kind.limit:
        limit = next(f"{kind.limit // unit} {name}" for unit, name in _UNITS if kind.limit >= unit)
        raise UserFileError(f"it has more than {limit}, too much for {kind.name}", path)


def what_it_is(mode: int) -> str:
    """What lies on the disk, in words, by its mode."""
    return _NAMES.get(stat.S_IFMT(mode), "something else")


def read_user_file(path: Path, kind: Kind | Callable[[bytes], Kind]) -> bytes:
    """The whole content of a file; raises OSError. A function says what kind it is from how the file begins."""
    with open_user_file(path, kind if isinstance(kind, Kind) else PACKED) as file, naming(path):  # no stream, any size
        head = file.read(HEAD_BYTES)
        if not isinstance(kind, Kind):
            kind = kind(head)
            check_size(os.fstat(file.fileno()).st_size, path, kind)
        parts, left = [head], kind.limit + 1 - len(head)  # in pieces, as `read` makes room for all that is asked
        while left > 0 and (part := file.read(min(left, _PIECE_BYTES))):  # it may grow, or say nothing of its size
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
