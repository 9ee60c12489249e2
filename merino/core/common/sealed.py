"""JSON that may come from anywhere, records and arrays in files, and checksums: damage is seen before it is used.

A file of JSON has its checksum in the object, a net in its header, a file that grows one with each part. It is CRC-32,
which is for accidents, not for forgers. Files without one, of Merino 1.0 or of other programs, are read with a warning
in the log.

Rows that are too many for memory go into files without a name: they fill no memory, but what of them was used last, as
long as there is room. Those files are in the folder for temporary files or in one that is named, and end with the array
or the process.
"""

import json
import logging
import math
import mmap
import os
import re
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from math import prod
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from merino.core.common.errors import choice, instance

_ESCAPED_HALF = r"\\u[dD][89a-fA-F]"  # half of a character that UTF-16 writes as two
_HALF = re.compile("[\ud800-\udfff]")
_HALF_IN_TEXT = re.compile(f"{_ESCAPED_HALF}|{_HALF.pattern}")
KEY = "checksum"  # in the object of a file
# What a plain value of a type may be, and the words for it.
_PLAIN: dict[Any, tuple[Any, str]] = {
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    bool: (bool, "true or false"),
    str: (str, "a text"),
}
Record = TypeVar("Record")

log = logging.getLogger(__name__)
_warned: set[str] = set()


class DamageError(ValueError):
    """Content that is not what was written; the message says what does not fit."""


def checksum(*parts: bytes | memoryview) -> str:
    """The checksum of these parts as one, 8 hex digits."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return f"{crc:08x}"


def sealed(values: Mapping[str, Any], rest: bytes = b"") -> dict[str, Any]:
    """A JSON object with a checksum of it and of `rest`, what follows it in its file."""
    plain = writable(values)  # as it will be read
    return {**plain, KEY: _checksum_of(plain, rest)}


def check(values: Mapping[str, Any], name: str, rest: bytes | memoryview = b"") -> dict[str, Any]:
    """What `sealed` was given. One without a checksum is accepted with a word about the file called `name`.

    Raises DamageError.
    """
    plain = {key: value for key, value in values.items() if key != KEY}
    if KEY not in values:
        warn_unsealed(name)
        return plain
    try:
        found = _checksum_of(plain, rest)
    except RecursionError as error:  # it could just be read, from a place less deep
        raise DamageError("it is nested too deep") from error
    compare(str(values[KEY]), found)
    return plain


def as_json(values: Mapping[str, Any], indent: int | None = None) -> bytes:
    """The content of a file of JSON, with a checksum."""
    return json.dumps(sealed(values), indent=indent).encode()


def from_json(content: bytes, name: str) -> dict[str, Any]:
    """What `as_json` was given, read from the file called `name`; raises DamageError, also for what is no object."""
    try:
        values = parsed(content)
    except ValueError as error:
        raise DamageError(f"it is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise DamageError("it is not a JSON object")
    return check(values, name)


def record(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """The dataclass that `asdict` made plain data of; fields that these lack have their defaults.

    A part with a `from_json` of its own is read by that. Raises KeyError, TypeError or ValueError for anything else.
    """
    hints, has_fields, given = get_type_hints(kind), cast(Any, kind), dict[str, Any]()
    for field in fields(has_fields):
        if field.name in data or field.default is MISSING is field.default_factory:
            given[field.name] = _part(field.name, hints[field.name], data[field.name])
    return kind(**given)


def _part(name: str, kind: Any, value: Any) -> Any:
    """The value of this type that a field of this name has in plain data."""
    if isinstance(kind, UnionType):
        if value is None:
            return None
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        return tuple(_part(name, get_args(kind)[0], each) for each in value)
    if is_dataclass(kind):
        return kind.from_json(value) if hasattr(kind, "from_json") else record(cast(type, kind), value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choice(name, value, kind)
    if kind in _PLAIN:
        instance(name, value, *_PLAIN[kind])
    return value


def compare(written: str, found: str) -> None:
    """Raise DamageError unless both checksums are the same."""
    if written != found:
        raise DamageError(f"it was damaged after it was written: its checksum is {written[:8]}, not {found}")


def warn_unsealed(name: str) -> None:
    """Say in the log, once for each file, that damage in it could not be seen."""
    if name not in _warned:
        _warned.add(name)
        log.warning(
            "'%s' has no checksum, since Merino 1.0 or another program wrote it: damage in it would not be seen", name
        )


def _checksum_of(values: Mapping[str, Any], rest: bytes | memoryview) -> str:
    """That of an object of plain data, however it is spaced and ordered, and of the bytes behind it."""
    return checksum(json.dumps(values, sort_keys=True).encode(), rest)


def parsed(text: str | bytes) -> Any:
    """What JSON says; raises ValueError if it is none, is nested too deep to be read, or has half of a character."""
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")  # as `loads` reads bytes
        found = json.loads(text)
        if _HALF_IN_TEXT.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except UnicodeEncodeError as error:  # no file or answer can hold it
        raise ValueError("it has half of a character (a lone surrogate)") from error
    return found


def writable(values: Any) -> Any:
    """Plain data as JSON will give it back; of a byte of a file's name that is no character it keeps the escape."""
    text = json.dumps(values)
    if _HALF_IN_TEXT.search(text):
        text = _HALF.sub(lambda half: f"\\{ascii(half[0])[1:-1]}", json.dumps(values, ensure_ascii=False))
    return json.loads(text)


def finite(value: float | None) -> float | None:
    """The number, None for infinity and no number, which JSON has not."""
    return float(value) if value is not None and math.isfinite(value) else None


class RowFile:
    """Rows of one shape, gathered in a file; raises OSError, which names the folder, where that has no room."""

    def __init__(self, rows: np.ndarray, folder: Path | None = None) -> None:
        """Begins with these rows; in the folder for temporary files, if none is given."""
        self._kind, self._shape, self._count = rows.dtype, rows.shape[1:], 0
        self._row_bytes = rows.dtype.itemsize * prod(rows.shape[1:])
        self._folder = folder or Path(tempfile.gettempdir())
        try:
            self.file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  (it lives as long as this object)
        except OSError as error:
            raise self._in_folder(error) from error
        self.add(rows)

    def __len__(self) -> int:
        return self._count

    def add(self, rows: np.ndarray) -> None:
        """Add rows behind those that are there."""
        content = np.ascontiguousarray(rows, dtype=self._kind).reshape(-1).data.cast("B")
        try:
            while len(content):
                content = content[self.file.write(content) :]
        except OSError as error:
            raise self._in_folder(error) from error
        self._count += len(rows)

    def cut(self, count: int) -> None:
        """Forget the rows behind the first `count`: what is added takes their place."""
        self._count = count
        self.file.seek(count * self._row_bytes)

    def array(self) -> np.ndarray:
        """All rows, which may be changed in place; after `add` ask again."""
        if not self._count:
            return np.zeros((0, *self._shape), dtype=self._kind)
        found = np.frombuffer(mmap.mmap(self.file.fileno(), self._count * self._row_bytes), dtype=self._kind)
        return found.reshape((self._count, *self._shape))

    def _in_folder(self, error: OSError) -> OSError:
        return OSError(error.errno, os.strerror(error.errno or 0), str(self._folder))
