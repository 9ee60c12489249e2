"""The list of the games of a PGN text: where each stands, and its headers. Moves are not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from merino.inner.formats.pgn_games import TAG_NAMES, scan_games, whole_games
from merino.inner.formats.sources import decoded, end_of_lines

MAX_VALUE = 100  # characters of a header in the list

_LISTED = ("White", "Black", "WhiteElo", "BlackElo", "Date", "Event", "ECO")
_ROWS = tuple(TAG_NAMES.index(name) for name in _LISTED)
_RESULTS = ("0-1", "1/2-1/2", "1-0", "*")  # by BLACK_WON, DRAWN, WHITE_WON, UNFINISHED
_ESCAPED = re.compile(r'\\(["\\])')


@dataclass(frozen=True)
class GameHeader:
    """A game of a file: its bytes from `start`, `size` of them, and its headers, "" for those that are missing."""

    start: int
    size: int
    result: str
    white: str
    black: str
    white_elo: str
    black_elo: str
    date: str
    event: str
    eco: str


def list_games(text: bytes, at: int = 0, goes_on: bool = False) -> tuple[list[GameHeader], int]:
    """The games of a text, those without moves too, and the offset of the first one that is not listed.

    Offsets are those of a file in which the text begins at `at`. The last game of a text that `goes_on` is not listed:
    its end may be in what follows. The offset is then that of its start, and `at` if the text holds no whole game.
    """
    if goes_on:
        _, table, after = whole_games(text[: end_of_lines(text)], keeps_empty=True)
    else:
        (_, table), after = scan_games(text, keeps_empty=True), len(text)
    return list(_headers(text, table, at)), at + after


def _headers(text: bytes, table: np.ndarray, at: int) -> Iterator[GameHeader]:
    spans = table["tags"][:, _ROWS].tolist()
    games = zip(table["start"].tolist(), table["end"].tolist(), table["result"].tolist(), spans, strict=True)
    for start, end, result, values in games:
        headers = (_value(text[begin:stop]) for begin, stop in values)
        yield GameHeader(at + start, end - start, _RESULTS[result], *headers)


def _value(text: bytes) -> str:
    return _ESCAPED.sub(r"\1", decoded(text))[:MAX_VALUE]
