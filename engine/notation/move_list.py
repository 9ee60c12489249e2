"""Lists of moves as people type and paste them, such as "1. e4 e5 2. Nf3", and the number before a single move."""

from __future__ import annotations

import re
from typing import NamedTuple

# At the beginning of a word. Four digits are enough for any game, and never too long for `int`.
_NUMBER = re.compile(r"(?<!\S)(?P<number>[0-9]{1,4})(?P<dots>[.\u2026]+)\s*")
_BLACKS = {"..", "...", "\u2026"}
_RESULTS = {"1-0", "0-1", "1/2-1/2", "*"}


class MoveList(NamedTuple):
    """The moves of a list as they are written, without numbers, commas, and a result at the end.

    `number` is the one before the first move, None without one; `is_blacks` tells that its dots are Black's: "1...".
    """

    moves: list[str]
    number: int | None
    is_blacks: bool


def move_list(text: str) -> MoveList:
    """The list that is in a text, whether its words are moves or not."""
    first, words = _NUMBER.match(text.lstrip()), _NUMBER.sub("", text).replace(",", " ").split()
    moves = words[:-1] if words and words[-1] in _RESULTS else words
    return MoveList(moves, int(first["number"]) if first else None, first is not None and first["dots"] in _BLACKS)


def without_move_number(text: str) -> str:
    """A text without the move number before it: "1. e4" is "e4"; a number alone stays."""
    first = _NUMBER.match(text)
    return (text[first.end() :] if first else text) or text
