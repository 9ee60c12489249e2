"""The games of a PGN file as a stream: some hundred at a time, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from merino.inner.formats.pgn_games import scan_games, whole_games
from merino.inner.formats.sources import CHUNK, Source, count_lines, end_of_lines


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
