"""JSON: what comes from a file or a client, which may be anything, and numbers that it cannot hold."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_ESCAPED_HALF = r"\\u[dD][89a-fA-F]"  # half of a character that UTF-16 writes as two
_HALF = re.compile("[\ud800-\udfff]")
_HALF_IN_TEXT = re.compile(f"{_ESCAPED_HALF}|{_HALF.pattern}")


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
