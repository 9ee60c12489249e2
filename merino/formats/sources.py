"""Input files, plain or compressed, as streams of bytes: opened, identified, and cut at line ends."""

import bz2
import fnmatch
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np

from merino.core.common import about, errors, files
from merino.core.common.text import counted

STANDARD_INPUT = Path("-")
CHUNK = 1 << 19  # bytes read at a time: some hundred games
_SNIFFED = 1 << 16  # bytes by which a file is identified
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_POSITION = re.compile(rb"(?:[01=] )?(?:[1-8pnbrqkPNBRQK]+/){7}[1-8pnbrqkPNBRQK]+ ")


class SourceError(errors.MerinoError):
    """A file that cannot be read, or holds nothing useful; the message says what and where."""


UNREADABLE, NO_MOVES, NO_RESULT, NO_SCORE = "unreadable", "without moves", "without a result", "without a score"
SHOWN_PLACES = 3


@dataclass(frozen=True)
class Fault:
    """A game, by its line or that at fault, or a line that is left out: `text` says what is wrong, `why` in general."""

    line: int
    text: str = ""
    why: str = UNREADABLE

    def __str__(self) -> str:
        return f"line {self.line}" + (f": {self.text}" if self.text else "")


class LeftOut:
    """What readers left out of files: how many games, lines or positions of each file, why, and the first places.

    `remarks` are sentences about what was assumed of a file.
    """

    def __init__(self) -> None:
        self.remarks: list[str] = []
        self._counts: dict[tuple[str, str, str], int] = {}  # by file, what was left out, and why
        self._first: dict[tuple[str, str, str], list[str]] = {}

    def add(self, path: Path, faults: Iterable[Fault], what: str = "game") -> None:
        """Note games, or other things, of a file."""
        for fault in faults:
            key = self.count(path, 1, fault.why, what)
            if len(self._first[key]) < SHOWN_PLACES:
                self._first[key].append(str(fault))

    def count(self, path: Path, number: int, why: str, what: str = "position") -> tuple[str, str, str]:
        """Note so many, whose places say nothing; what they are kept by."""
        key = name_of(path), what, why
        if number:
            self._counts[key] = self._counts.get(key, 0) + number
            self._first.setdefault(key, [])
        return key

    def lines(self) -> Iterator[str]:
        """Sentences for the user."""
        for key, number in self._counts.items():
            file, what, why = key
            places = self._first[key] + ["..."] * (0 < len(self._first[key]) < number)
            yield f"{file}: {counted(number, what)} left out, {why}" + (f": {'; '.join(places)}" if places else "")
        yield from self.remarks

    def as_json(self) -> dict[str, Any]:
        """The same as data: `left_out`, each with file, what, why, count and the first places, and `remarks`."""
        names, found = ("file", "what", "why"), self._counts.items()
        rows = [dict(zip(names, key, strict=True)) | {"count": n, "first": self._first[key]} for key, n in found]
        return {"left_out": rows, "remarks": self.remarks}


def find_files(patterns: Sequence[str]) -> list[Path]:
    """The files that match names and patterns, each once, by whatever names; raises SourceError if one matches none.

    "-" is STANDARD_INPUT.
    """
    found: dict[Path, Path] = {}  # by where it lies
    for pattern in patterns:
        if pattern == str(STANDARD_INPUT):
            found[STANDARD_INPUT] = STANDARD_INPUT
            continue
        with _plain_errors(Path(pattern)):
            path = files.user_path(pattern)
            matches = [path] if files.is_there(path) else _alike(path)
            for match in matches:
                found.setdefault(files.real_path(match), match)
        if not matches:
            raise SourceError(f"there is no file '{pattern}'")
    return list(found.values())


def _alike(path: Path) -> list[Path]:
    """The files that match a pattern, or else the one whose ending was left out."""
    if not path.name:
        return []
    names = sorted(fnmatch.filter(files.names_in(path.parent), path.name)) or [f"{path.name}.pgn"]
    return [found for found in map(path.with_name, names) if files.is_there(found)]


@cache
def _zstd() -> ModuleType | None:
    """The module for Zstandard, if there is one: Python has it from 3.14 on, the extra `zstd` provides it before."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return None


def _zstd_file(file: Any, mode: str) -> Any:
    module = _zstd()
    if module is None:
        raise SourceError(about.needs("zstd", f"'{file.name}'"))
    return module.ZstdFile(file, mode)


# (file, mode "rb" or "wb"): what is read or written uncompressed; the same content gives the same bytes each time.
_COMPRESSED: dict[str, Callable[[Any, Any], Any]] = {
    ".gz": lambda file, mode: gzip.GzipFile("", mode, fileobj=file, mtime=0),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstd_file,
}


_FIRST_BYTES = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


def plain_name(path: Path) -> Path:
    """The path without the ending of a compression: games.pgn for games.pgn.gz."""
    return path.with_suffix("") if is_compressed(path) else path


def is_compressed(path: Path) -> bool:
    """Whether the name of a file ends as that of a compressed one."""
    return path.suffix.lower() in _COMPRESSED


@contextmanager
def writing_source(path: Path) -> Iterator[IO[bytes]]:
    """A file as `writing_whole` gives it, compressed if `path` ends so; raises SourceError if that needs an extra."""
    with files.writing_whole(path) as file:
        if is_compressed(path):
            with _COMPRESSED[path.suffix.lower()](file, "wb") as compressed:
                yield compressed
        else:
            yield file


def as_named(path: Path, content: bytes) -> bytes:
    """The content as a file of this name has it, compressed if `path` ends so; raises as `writing_source` does."""
    if not is_compressed(path):
        return content
    file = io.BytesIO()
    file.name = str(path)  # for the error of a missing extra
    with _COMPRESSED[path.suffix.lower()](file, "wb") as compressed:
        compressed.write(content)
    return file.getvalue()


def name_of(path: Path, quoted: bool = False) -> str:
    """The name of a file in messages: its name, or the whole path if `quoted`."""
    if path == STANDARD_INPUT:
        return "standard input"
    return f"'{path}'" if quoted else path.name


class Source:
    """A file open for reading: its text as a stream, and how much has been read.

    `is_passing` is true for a pipe or standard input, which can be read only once. `begins` is the offset of the text
    in the file, None where the file does not hold it byte by byte. `head` is its beginning, before the first read.
    """

    def __init__(self, path: Path, file: io.BufferedReader) -> None:
        self.path = path
        self._file = file
        self._state = _state_of(file)
        status = os.fstat(file.fileno())
        self._size = max(1, status.st_size) if stat.S_ISREG(status.st_mode) else None
        self.is_passing = path == STANDARD_INPUT or self._size is None
        kind = _kind_of(file)
        opener = _COMPRESSED.get(kind if self.is_passing else path.suffix.lower())
        self._text: Any = opener(file, "rb") if opener else file
        head = self._text.read(_SNIFFED)
        if not opener and _is_of_kind(head, kind):
            raise SourceError(f"{name_of(path, quoted=True)} is compressed: let its name end in {kind}")
        if reason := files.strange(head):
            raise SourceError(f"{name_of(path, quoted=True)} {reason}")
        self.head = head.removeprefix(_BYTE_ORDER_MARK)
        self.mark = head[: len(head) - len(self.head)]
        self.begins: int | None = None if opener or self.is_passing else len(self.mark)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return name_of(self.path)

    @property
    def done(self) -> float | None:
        """The share of the file that has been read, 0 to 1; None for a pipe."""
        return None if self._size is None else min(1.0, self._file.tell() / self._size)

    def share(self, offset: int) -> float | None:
        """The share of the file before an offset of the text; `done` where the file does not hold it byte by byte."""
        return self.done if self.begins is None or self._size is None else min(1.0, (self.begins + offset) / self._size)

    def read(self, size: int) -> bytes:
        """The next bytes of the text, at most `size`; none at its end."""
        with _plain_errors(self.path):
            head, self.head = self.head[:size], self.head[size:]
            return head or bytes(self._text.read(size))

    def look_ahead(self, size: int) -> bytes:
        """The first `size` bytes of the text, or all, before the first read; they are read again."""
        with _plain_errors(self.path):
            while (left := size - len(self.head)) > 0 and (more := self._text.read(left)):
                self.head += bytes(more)
        return self.head

    def read_at(self, offset: int, size: int) -> bytes:
        """Bytes of the text from an offset on, at most `size`; only where `begins` is known, and instead of `read`.

        Raises SourceError if the file has changed since it was opened.
        """
        assert self.begins is not None
        with _plain_errors(self.path):
            if _state_of(self._file) != self._state:
                raise SourceError(f"'{self.path}' has changed while it was read")
            self._file.seek(self.begins + offset)
            return bytes(self._file.read(size))

    def holds_positions(self) -> bool:
        """Whether it begins like a list of positions, one per line, and not like PGN."""
        lines = (line.strip() for line in re.split(rb"[\r\n]+", self.head))
        return _POSITION.match(next((line for line in lines if line and not line.startswith(b"#")), b"")) is not None

    def lines(self, size: int = CHUNK) -> Iterator[bytes]:
        """The text in pieces of about this size that end where a line ends."""
        rest = b""
        while text := self.read(max(size, len(rest))):
            text = rest + text
            cut = end_of_lines(text)
            rest = text[cut:]
            if cut:
                yield text[:cut]
        if rest:
            yield rest

    def numbered_lines(self) -> Iterator[tuple[bytes, int]]:
        """The pieces of `lines`, and how many lines are before each."""
        before = 0
        for text in self.lines():
            yield text, before
            before += count_lines(text)


def _state_of(file: io.BufferedReader) -> tuple[int, int]:
    """The size of a file and the time of its last change."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def _kind_of(file: io.BufferedReader) -> str:
    """The ending of the compression by the first bytes of a file, "" for none."""
    first = file.peek(8)
    return next((ending for mark, ending in _FIRST_BYTES.items() if first.startswith(mark)), "")


def _is_of_kind(head: bytes, kind: str) -> bool:
    """Whether what begins like a compressed file of this kind, "" for none, is one: packed positions may begin so."""
    try:
        if kind in (".gz", ".bz2", ".xz"):
            _COMPRESSED[kind](io.BytesIO(head), "rb").read(1)
    except EOFError:
        return True  # more of it is needed
    except (OSError, lzma.LZMAError, zlib.error):
        return False
    return bool(kind)


def end_of_lines(text: bytes) -> int:
    """The offset behind the last complete line of `text`, 0 if there is none."""
    return max(text.rfind(b"\n"), text.rfind(b"\r", 0, max(0, len(text) - 1))) + 1


def count_lines(text: bytes) -> int:
    """How many lines end in `text`: by LF, CR, or both together."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def decoded(text: bytes | np.ndarray) -> str:
    """The characters of PGN, which is Latin-1 by its standard, and UTF-8 in practice."""
    try:
        return bytes(text).decode()
    except UnicodeDecodeError:
        return bytes(text).decode("latin-1")


def is_passing(path: Path) -> bool:
    """Whether a file that is there can be read only once, as a pipe or standard input."""
    return path == STANDARD_INPUT or not files.is_regular(path)


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Open the file; raises SourceError if it cannot be read."""
    with _plain_errors(path):
        file = _standard_input() if path == STANDARD_INPUT else files.open_user_file(path, files.GAMES)
    with nullcontext() if path == STANDARD_INPUT else file:
        with _plain_errors(path):
            source = Source(path, file)
        yield source


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise SourceError("standard input is closed: name a file")
    if sys.stdin.isatty():
        raise SourceError("'-' is standard input, which is the keyboard here: name a file, or pipe the games in")
    return sys.stdin.buffer  # type: ignore[return-value]  # unless a program has replaced it


def read_text(path: Path, with_mark: bool = False) -> bytes:
    """The whole text of a file, its byte-order mark left out unless `with_mark`; raises SourceError."""
    with open_source(path) as source, _plain_errors(path):
        parts, size = [source.mark if with_mark else b""], 0
        while part := source.read(CHUNK):
            parts.append(part)
            size += len(part)
            files.check_size(size, path, files.WHOLE_GAMES)
        return b"".join(parts)


def read_text_file(path: Path, kind: files.Kind) -> str:
    """The text of a regular file, plain or compressed, with any line ends; what is no UTF-8 is replaced.

    Raises OSError, and SourceError for a damaged file or one of another encoding.
    """
    if path == STANDARD_INPUT or not files.is_regular(
        path
    ):  # which a name of its own may be, and nothing else is let in
        return files.read_user_text(path, kind, "replace")
    files.check_size(path.stat().st_size, path, kind)
    return files.text_of(read_text(path), path, "replace")


def digest(path: Path) -> str:
    """A hash of the content of the file as it lies on the disk, 32 hex digits; raises SourceError."""
    with _plain_errors(path), files.open_user_file(path, files.GAMES) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    """Turn the errors of reading and decompressing into a SourceError that names the file."""
    try:
        yield
    except _damage() as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot read '{path}': {reason}") from error


def _damage() -> tuple[type[Exception], ...]:
    """The errors that reading and decompressing can raise."""
    module = _zstd()
    return (OSError, EOFError, lzma.LZMAError, zlib.error, *([module.ZstdError] if module else []))
