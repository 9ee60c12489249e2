"""Changes of valid files, drawn by Hypothesis: of bytes, of words, and of the structure behind a right checksum."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from merino.core.common.errors import MerinoError
from tests.file_kinds import FileKind

Draw = Callable[[st.SearchStrategy[Any]], Any]

MAX_CHANGES = 4  # changes of a file
MAX_SPAN = 300  # bytes that are added or left out at once
_WORD = re.compile(rb"\w+|\s+|.", re.DOTALL)
_BYTES = (b"\0", b"\xff" * 8, b"\x80", b"\xef\xbb\xbf", *(bytes([sign]) for sign in b'\n\r[{()}";%|'))
_WORDS = (
    b"0", b"-1", b"1e999", b"nan", b"-inf", b"9" * 30, b"0x10", "\u0663".encode(), b"1_0", b"--", b"e8=Q", b"O-O-O",
    b"1/2-1/2", b"[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]", b"bm", b"c9", b"ce", b"| 1.0", b"#", b"$255", b"true", b"{}",
)  # fmt: skip
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from((0, -1, 1, 255, 256, 1 << 15, 1 << 31, 1 << 63, 1 << 64, 10**30, -(10**30)))
    | st.sampled_from((0.5, -1e300, float("inf"), float("nan"), 1e-320))
    | st.sampled_from(("", "0", "nan", "ALL*ALL", "../x", "\0", "\ud800", "x" * 5000)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@st.composite
def damaged(draw: Draw, kind: FileKind) -> bytes:
    """A file of this kind with up to MAX_CHANGES changes."""
    content = draw(st.sampled_from(kind.contents()))
    if kind.take_apart is not None and draw(st.booleans()):
        content = _restructured(draw, kind, content)
        if draw(st.integers(0, 3)):
            return content
    changes = [_inverted, _overwritten, _cut, _doubled, _spliced, *([_reworded] * 6 if kind.is_text else [])]
    for _ in range(draw(st.integers(1, MAX_CHANGES))):
        content = draw(st.sampled_from(changes))(draw, kind, content)
    return content


def _span(draw: Draw, content: Sequence[Any]) -> slice:
    first = draw(st.integers(0, len(content)))
    return slice(first, first + draw(st.integers(0, MAX_SPAN)))


def _inverted(draw: Draw, _: FileKind, content: bytes) -> bytes:
    """Some bytes, each with all its bits turned round, as by a failing disk."""
    span = _span(draw, content)
    return content[: span.start] + bytes(255 - byte for byte in content[span]) + content[span.stop :]


def _overwritten(draw: Draw, _: FileKind, content: bytes) -> bytes:
    new = draw(st.sampled_from(_BYTES) | st.binary(max_size=9))
    first, length = draw(st.integers(0, len(content))), draw(st.sampled_from((0, len(new))))
    return content[:first] + new + content[first + length :]


def _cut(draw: Draw, _: FileKind, content: bytes) -> bytes:
    span = _span(draw, content)
    return content[: span.start] + (b"" if draw(st.booleans()) else content[span.stop :])


def _doubled(draw: Draw, _: FileKind, content: bytes) -> bytes:
    span, times = _span(draw, content), draw(st.sampled_from((2, 2, 30)))
    return content[: span.start] + content[span] * times + content[span.stop :]


def _spliced(draw: Draw, kind: FileKind, content: bytes) -> bytes:
    """The beginning of one file and the end of another."""
    other = draw(st.sampled_from(kind.contents()))
    return content[: draw(st.integers(0, len(content)))] + other[draw(st.integers(0, len(other))) :]


def _reworded(draw: Draw, kind: FileKind, content: bytes) -> bytes:
    """Another word in the place of one."""
    words = _WORD.findall(content) or [b""]
    others = _WORD.findall(draw(st.sampled_from(kind.contents())))
    place = draw(st.integers(0, len(words) - 1))
    words[place] = draw(st.sampled_from((*_WORDS, b"", words[place] * 2)) | st.sampled_from(others))
    return b"".join(words)


def _restructured(draw: Draw, kind: FileKind, content: bytes) -> bytes:
    """Other values in the structure of the file, with a right checksum."""
    assert kind.take_apart is not None and kind.put_together is not None
    parts = kind.take_apart(content)
    for _ in range(draw(st.integers(1, MAX_CHANGES))):
        parts = _changed(draw, parts)
    try:
        return kind.put_together(parts)
    except (MerinoError, ValueError, TypeError, KeyError, AttributeError, OverflowError):  # no such file can be written
        return json.dumps(parts, default=str).encode("utf-8", "surrogatepass")


def _changed(draw: Draw, value: Any) -> Any:
    """A value of JSON with one value within it changed, left out or doubled."""
    if not value or not isinstance(value, dict | list) or not draw(st.integers(0, 7)):
        return draw(_near(value))
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        inside = [[], [value[place]] * 2, None][draw(st.sampled_from((0, 1, 2, 2, 2, 2)))]
        return value[:place] + ([_changed(draw, value[place])] if inside is None else inside) + value[place + 1 :]
    name = draw(st.sampled_from(sorted(value)))
    rest = {other: each for other, each in value.items() if other != name}
    return rest if not draw(st.integers(0, 5)) else {**rest, name: _changed(draw, value[name])}


def _near(value: Any) -> st.SearchStrategy[Any]:
    """A value like this one or of any type."""
    if type(value) is int:
        return st.sampled_from((value + 1, value - 1, -value, 2 * value, value * 1000)) | _VALUES
    if isinstance(value, float):
        return st.sampled_from((-value, value * 1000, 0.0)) | _VALUES
    return _VALUES
