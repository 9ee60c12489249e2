"""JSON that may come from anywhere, and checksums in files, so that damage is seen before it is used.

A file of JSON has its checksum in the object, a net in its header, a file that grows one with each part. It is CRC-32,
which is for accidents, not for forgers. Files without one, of Merino 1.0 or of other programs, are read with a warning
in the log. Imports nothing heavy.
"""

from __future__ import annotations

import json
import logging
import math
import re
import zlib
from collections.abc import Mapping
from typing import Any

_ESCAPED_HALF = r"\\u[dD][89a-fA-F]"  # half of a character that UTF-16 writes as two
_HALF = re.compile("[\ud800-\udfff]")
_HALF_IN_TEXT = re.compile(f"{_ESCAPED_HALF}|{_HALF.pattern}")
KEY = "checksum"  # in the object of a file

log = logging.getLogger(__name__)
_told: set[str] = set()


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
        tell_unsealed(name)
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


def compare(written: str, found: str) -> None:
    """Raise DamageError unless both checksums are the same."""
    if written != found:
        raise DamageError(f"it was damaged after it was written: its checksum is {written[:8]}, not {found}")


def tell_unsealed(name: str) -> None:
    """Say in the log, once for each file, that damage in it could not be seen."""
    if name not in _told:
        _told.add(name)
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
