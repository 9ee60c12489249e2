"""The games of a PGN file as a stream: some hundred at a time, so that memory is bounded; and the list of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from merino.formats.pgn_games import TAG_NAMES, scan_games, whole_games
from merino.formats.sources import CHUNK, Source, count_lines, decoded, end_of_lines

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


class GamesText(NamedTuple):
    """Some games of a file, with moves not yet resolved (for `play_games`), and the lines and games before them."""

    data: np.ndarray
    table: np.ndarray
    lines_before: int
    games_before: int
    bytes_before: int  # of the text, uncompressed and without its byte-order mark
    size: int  # bytes of these games, which `data` begins with


def games_of(source: Source) -> Iterator[GamesText]:
    """The games of a PGN file, some hundred at a time."""
    rest, lines, games, at = b"", 0, 0, 0
    while text := source.read(max(CHUNK, len(rest))):
        text = rest + text
        data, table, after = whole_games(text[: end_of_lines(text)])
        if after:
            yield GamesText(data, table, lines, games, at, after)
            lines, games, at = lines + count_lines(text[:after]), games + len(table), at + after
        rest = text[after:]
    yield GamesText(*scan_games(rest), lines, games, at, len(rest))


def list_games(text: bytes, at: int = 0, goes_on: bool = False) -> tuple[list[GameHeader], int]:
    """The games of a text, those without moves too, and the offset of the first one that is not listed.

    Offsets are those of a file in which the text begins at `at`. The last game of a text that `goes_on` is not listed:
    its end may be in what follows. The offset is then that of its start, and `at` if the text holds no whole game.
    Moves are not read.
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
