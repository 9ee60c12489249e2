"""Files that a user names, and Merino's own: read through one door, written whole, locked.

Only regular files are read, and of each kind only sizes that its content can have. A folder, a device, a pipe or a
socket is refused before it is opened: some never end, some never begin, and some act when they are opened. What may
change between the look and the opening is checked again on the open file. Whatever is wrong, the fault is an OSError
whose `strerror` is the reason in words and whose `filename` is the file.

After a crash, a full disk or a second writer, a written file is either the old one or the new. A device such as
/dev/stdout is written to, and so is a pipe that somebody reads; any other target is a regular file. Locks keep two runs
out of each other's files. Imports nothing heavy.
"""

import errno
import io
import math
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from merino.core.common.errors import MerinoError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_MIB, _GIB, _TIB = 1 << 20, 1 << 30, 1 << 40
_UNITS = ((_TIB, "TiB"), (_GIB, "GiB"), (_MIB, "MiB"))
HEAD_BYTES = 1 << 10  # that show what kind of file it is
_PIECE_BYTES = 1 << 20  # read at a time
_MAX_NAME = 60  # characters of it in an error
_IMPOSSIBLE = "no file can have such a name"
_WEB_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
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
_MARK, _ENDING = ".merino-", ".new"  # of a file that will replace another
_BINARY = getattr(os, "O_BINARY", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)  # never wait for the other end of a pipe
_OWNER, _ANYBODY = 0o600, 0o666  # permissions of a new file, before the umask takes some of them away
_BETWEEN_TRIES = 0.1  # seconds between two looks at a lock
_MOVED_BY = 60.0  # seconds after its last change, at which a closed draft has been moved unless its writer was killed
_LOCKED_BYTE = (1 << 31) - 2  # of a file on Windows, where a lock keeps others from reading what it covers
LOCK_ENDING = ".lock"  # of the file next to another that shows who holds it


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


def _refusal(reason: str, path: Path | str) -> UserFileError:
    return UserFileError(errno.EINVAL, reason, str(path))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let every OSError name this file, as a full disk names none, and a name that no file can have be one."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise
    except ValueError as error:
        raise _refusal(_IMPOSSIBLE, path) from error


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
        raise _refusal(f"there is no home folder {path.parts[0][:_MAX_NAME]}", path) from error
    except ValueError as error:
        raise _refusal(_IMPOSSIBLE, path) from error


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


def is_folder(path: Path) -> bool:
    """Whether it is a folder; False for a name that the system cannot hold."""
    return os.path.isdir(path)  # noqa: PTH112 (raises nothing)


def is_regular(path: Path) -> bool:
    """Whether it is there and a file as usual, not a pipe, a folder or a device."""
    return os.path.isfile(path)  # noqa: PTH113 (raises nothing)


def check_folder(path: Path) -> Path:
    """The path, if it is a folder; raises OSError."""
    with naming(path):
        mode = path.stat().st_mode
    if not stat.S_ISDIR(mode):
        raise _refusal(f"it is {what_it_is(mode)}, not a folder", path)
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
        status = path.stat()
        if stat.S_ISREG(status.st_mode):
            check_size(status.st_size, path, kind)
        elif not (kind.is_stream and stat.S_ISFIFO(status.st_mode) and _OPENED_BY_THE_SHELL.fullmatch(str(path))):
            raise _refusal(f"it is {what_it_is(status.st_mode)}, not a regular file", path)
        return open(path, "rb")  # noqa: PTH123 (whose `name` is a text)


def check_size(size: int, path: Path, kind: Kind) -> None:
    """Raise UserFileError if a file of this kind cannot have so many bytes."""
    if size > kind.limit:
        limit = next(f"{kind.limit // unit} {name}" for unit, name in _UNITS if kind.limit >= unit)
        raise _refusal(f"it has more than {limit}, too much for {kind.name}", path)


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
    if reason := strange(content):
        raise _refusal(f"it {reason}", path)
    try:
        text = content.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        raise _refusal("it is not UTF-8 text", path) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def strange(head: bytes) -> str:
    """What a file that begins with these bytes is instead of text to be read, and what to do; "" for such text."""
    if is_utf_16(head):
        return "is UTF-16 text: save it as UTF-8"
    return "is a web page: save the games or positions that it offers instead" if _WEB_PAGE.match(head) else ""


def is_utf_16(head: bytes) -> bool:
    """Whether a file that begins with these bytes is text in UTF-16, which is not read."""
    return _UTF_16.match(head) is not None


@contextmanager
def reading(kind: type[Exception], what: str) -> Iterator[None]:
    """Make it an error of this kind that a file cannot be read; its message calls the file `what`."""
    try:
        yield
    except OSError as error:
        raise kind(f"cannot read {what}: {error.strerror or error}") from error


@contextmanager
def faults_named(path: Path, what: str, kind: type[MerinoError]) -> Iterator[None]:
    """Make it an error of this kind that a file cannot be read, or that its content is not `what` it should be."""
    try:
        with reading(kind, f"'{path}'"):
            yield
    except KeyError as error:
        raise kind(f"'{path}' is not {what}: it lacks {error}") from error
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise kind(f"'{path}' is not {what}: {error}") from error


def user_folder(kind: str) -> Path:
    """The user's folder for Merino's files of this `kind` ("cache" or "data") on this system.

    MERINO_HOME, if set, holds both: `$MERINO_HOME/cache` and `$MERINO_HOME/data`. Raises MerinoError without a home.
    """
    chosen, is_cache = os.environ.get("MERINO_HOME"), kind == "cache"
    if sys.platform == "win32":
        variable, default, name = "LOCALAPPDATA", "AppData/Local", f"Merino/{kind}"
    elif sys.platform == "darwin":
        variable, default, name = "", f"Library/{'Caches' if is_cache else 'Application Support'}", "Merino"
    else:
        variable, default = ("XDG_CACHE_HOME", ".cache") if is_cache else ("XDG_DATA_HOME", ".local/share")
        name = "merino"
    base = Path(os.environ.get(variable, ""))  # a relative one counts as none
    try:
        return user_path(chosen) / kind if chosen else (base if base.is_absolute() else Path.home() / default) / name
    except OSError as error:
        raise MerinoError(f"MERINO_HOME is '{chosen}': {error.strerror}") from error
    except RuntimeError as error:
        raise MerinoError("this user has no home folder: set MERINO_HOME to a folder for Merino's files") from error


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
def writing(kind: type[MerinoError], path: Path | None = None, after: str = "") -> Iterator[None]:
    """Make it an error of this kind that a file cannot be written; its message has these words after the reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{write_fault(error, path)}{after}") from error


class _NamedFile(io.FileIO):
    """An open file whose faults of writing name the path that the user knows it by."""

    def __init__(self, descriptor: int, mode: str, path: Path) -> None:
        super().__init__(descriptor, mode)
        self._path, self.name = path, str(path)  # else the number of the descriptor

    def write(self, content: Any, /) -> int:
        """See FileIO."""
        with naming(self._path):
            return super().write(content)


def open_to_append(path: Path) -> BinaryIO:
    """Open a regular file to append to, made if it does not exist; raises OSError."""
    return io.BufferedWriter(_opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab"))


def open_to_extend(path: Path) -> io.FileIO:
    """Open a regular file to read and to append to, unbuffered, made if it does not exist; raises OSError."""
    return _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, "a+b")


def open_stream(path: Path) -> io.FileIO:
    """Open a device, or a pipe that somebody reads, to write to it, unbuffered; raises OSError."""
    return _opened(path, os.O_WRONLY, "wb", is_stream=True)


def _opened(path: Path, flags: int, mode: str, is_stream: bool = False) -> io.FileIO:
    """A file open for writing, without waiting for anything but the disk; raises OSError."""
    with naming(path):
        if is_there(path):
            _check_target(path.stat().st_mode, path, is_stream)
        try:
            file = _NamedFile(os.open(path, flags | _AT_ONCE | _BINARY, _ANYBODY), mode, path)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise _refusal("it is a pipe that nobody reads", path) from error
            raise
    if _AT_ONCE:
        os.set_blocking(file.fileno(), True)
    return file


def _check_target(mode: int, path: Path, may_be_stream: bool = True) -> None:
    """Raise UserFileError if this is nothing to write to."""
    if not stat.S_ISREG(mode) and not (may_be_stream and (stat.S_ISCHR(mode) or stat.S_ISFIFO(mode))):
        raise _refusal(f"it is {what_it_is(mode)}, not a regular file", path)


def check_named(path: Path) -> None:
    """Raise OSError for "-", the sign of standard output, where nobody means a file or folder of that name."""
    if path == Path("-"):
        raise _refusal("standard output has results alone here; name a file", path)


def is_stream(path: Path) -> bool:
    """Whether it is a device or a pipe; raises OSError, also for what can be nobody's output, such as a folder."""
    check_named(path)
    with naming(path):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return False
        _check_target(mode, path)
    return not stat.S_ISREG(mode)


def write_whole(path: Path, content: bytes) -> None:
    """Replace the content of a file; raises OSError and then leaves it unchanged."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes], like: Path | None = None) -> None:
    """Replace the contents of files; raises OSError, and changes none unless all could be written.

    The replacements are the last step, one file after another in the order given. The error names its file. Who may
    read and write a new file is as for `like`, if that is there.
    """
    with ExitStack() as stack:
        for path in reversed(list(contents)):  # as the stack takes the last one first
            file = stack.enter_context(writing_whole(path, like))
            with naming(path):
                file.write(contents[path])
                file.flush()
                if is_on_disk(file):
                    os.fsync(file.fileno())


@contextmanager
def writing_whole(path: Path, like: Path | None = None) -> Iterator[IO[bytes]]:
    """A file to write to that replaces `path` at the end of the block, unless the block ends with an error.

    It does not wait for the disk: it is for large files that can be made again. Of a link, the file is replaced that it
    leads to. A new file has the mode of `like`, if that is there. Raises OSError, which names `path` unless it comes
    from elsewhere in the block.
    """
    if is_stream(path):
        with io.BufferedWriter(open_stream(path)) as stream:
            yield stream
        return
    with naming(path):
        target = real_path(path)
        _remove_leftovers(target)
        model = like if like and not target.exists() else target
        mode = model.stat().st_mode & 0o777 if model.exists() else None
        file, draft = _draft(target, path, _ANYBODY if mode is None else mode | _OWNER)
    try:
        yield file
        with naming(path):
            file.flush()
            if mode is not None:
                draft.chmod(mode)
            if sys.platform == "win32":
                draft.touch()  # so that it counts as no leftover
                file.close()  # an open file cannot be moved there; elsewhere it keeps its lock until it is in place
            draft.replace(target)
    except BaseException:
        with suppress(OSError):  # on a full disk, for unwritten content that is no longer needed
            file.close()
        draft.unlink(missing_ok=True)
        raise
    file.close()


def _draft(target: Path, path: Path, mode: int) -> tuple[IO[bytes], Path]:
    """A new file next to `target` with this mode less the umask, whose faults name `path`, and its place.

    Its lock shows others that its writer lives.
    """
    while True:
        place = target.with_name(f"{target.name}{_MARK}{os.urandom(4).hex()}{_ENDING}")
        with suppress(FileExistsError):
            opened = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, mode)
            file = io.BufferedWriter(_NamedFile(opened, "wb", path))
            lock(file)
            if place.exists():
                return file, place
            file.close()  # another writer took it for a leftover before it was locked


def is_draft(path: Path, of: str = "") -> bool:
    """Whether a file has the name of one that was to replace `of`, or any other, and that a killed writer has left.

    The next writer of the same file removes it.
    """
    of = re.escape(of) if of else ".+"
    return bool(re.fullmatch(of + re.escape(_MARK) + "[a-z0-9_]+" + re.escape(_ENDING), path.name))


def _remove_leftovers(target: Path) -> None:
    """Delete leftovers of killed writers of this file: those that nobody has locked."""
    try:
        found = [path for path in target.parent.iterdir() if is_draft(path, target.name) and path.is_file()]
    except PermissionError:
        return  # a folder may be written but not listed
    for path in found:
        with suppress(OSError):  # its writer is alive, or it belongs to somebody else
            with path.open("rb") as file:
                _take_lock(file)
                if sys.platform != "win32":
                    path.unlink()
            # On Windows an open file can neither be removed nor be moved: one that is just closed may be moved next.
            if sys.platform == "win32" and path.stat().st_mtime < time.time() - _MOVED_BY:
                path.unlink()


def append_whole(file: IO[bytes], content: bytes) -> None:
    """Append to an unbuffered file all or nothing, and wait until it is on the disk; raises OSError.

    Hold the `lock` of the file: only then is what follows the old end ours to take back.
    """
    before, done = os.fstat(file.fileno()).st_size, 0
    try:
        while done < len(content):
            done += file.write(content[done:])
        if is_on_disk(file):
            os.fsync(file.fileno())
    except OSError:
        if is_on_disk(file) and os.fstat(file.fileno()).st_size == before + done:  # so that the bytes after it are ours
            file.truncate(before)
        raise


def is_on_disk(file: IO[bytes]) -> bool:
    """Whether an open file is one on a disk, and not a pipe or a device."""
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def check_writable(path: Path, whole: bool = True) -> None:
    """Raise the OSError that writing this file would raise; for checks before the work.

    `whole`: writing as `write_whole` does; else appending. Changes nothing, and opens no device and no pipe.
    """
    with naming(path):
        if is_stream(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        elif (target := real_path(path)).is_file() and not whole:
            open_to_append(target).close()
        else:
            file, draft = _draft(target, path, _OWNER)
            file.close()
            draft.unlink()


def overwritten(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> str | None:
    """What these outputs would replace by mistake, in words: an input, or another of them; None if nothing.

    Links lead to their file. Devices and pipes lose nothing. Raises OSError.
    """
    known: dict[tuple[int, int] | Path, bool] = {_place(path): False for path in inputs if is_regular(path)}
    for path in outputs:
        if is_there(path) and not is_regular(path):
            continue
        place = _place(path) if is_there(path) else real_path(path)
        if place in known:
            how = "an output twice; name two files" if known[place] else "also an input; name another output file"
            return f"'{path}' is {how}"
        known[place] = True
    return None


def _place(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def lock(file: IO[bytes], seconds: float = math.inf) -> bool:
    """Lock this open file until it is closed, waiting at most so long for another holder; returns whether it did.

    Without support for locks in the system or disk, it always returns True. Locks are advisory.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            _take_lock(file)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, _BETWEEN_TRIES))
        except OSError:  # a disk without locks, such as some of a network
            return True
        else:
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
    written next to it: the lock is an empty file `NAME.lock` there, which the block removes at its end, or after a kill
    the next one; a file of that name with content is the user's, and stays. Without support for locks, or for what is
    no regular file, nothing is held.
    """
    if is_stream(path):
        yield
        return
    target = real_path(path)
    place = target.with_name(f"{target.name}{LOCK_ENDING}")
    with naming(path):
        file = claimed(place, patience)
    if file is None:
        raise FileInUseError(f"another run of Merino works on '{path}': wait for its end, or name another file")
    try:
        yield
    finally:
        is_ours = not os.fstat(file.fileno()).st_size
        if is_ours and sys.platform != "win32":
            place.unlink(missing_ok=True)  # before it is unlocked: who has waited for the lock sees that it is gone
        file.close()
        if is_ours and sys.platform == "win32":  # where no open file can be removed
            with suppress(PermissionError):  # another run has just opened it
                place.unlink(missing_ok=True)


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


def claimed(place: Path, patience: float = 0.0) -> IO[bytes] | None:
    """The file at this place, made if need be, open and locked; None if somebody holds it for longer than `patience`.

    Raises OSError.
    """
    while True:
        file = open_to_append(place)
        if not lock(file, patience):
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), place.stat()):
                return file
        file.close()  # its holder removed it before we had the lock
