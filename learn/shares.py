"""Divides the rows of a sample into shares.

A share has consecutive games. Sums are computed for each share and added up in the order of the shares, and the cuts
depend only on the number of rows of each game. So sums are the same to the last digit, whether threads compute them or
workers that each keep some shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

BLOCK = 1 << 13  # rows whose products are summed at a time, in float32; the sums of blocks are float64
SHARE_ROWS = 2 * BLOCK  # rows of a share, approximately, up to MAX_SHARES shares
MAX_SHARES = 256  # a limit, so that the traffic of a step does not grow with the games


class Span(NamedTuple):
    """A share: its rows and games, by number in the sample at hand, and what is before it in the whole sample."""

    first: int
    last: int
    first_game: int
    last_game: int
    rows_before: int
    blocks_before: int


def cut(rows_of_games: np.ndarray) -> np.ndarray:
    """The first row and game of each share, and the end: int64[shares + 1, 2]. `rows_of_games` is int64[games]."""
    ends = np.cumsum(rows_of_games, dtype=np.int64)
    rows = int(ends[-1]) if len(ends) else 0
    shares = min(MAX_SHARES, max(1, -(-rows // SHARE_ROWS)))
    wanted = rows * np.arange(1, shares, dtype=np.int64) // shares
    games = np.unique(np.append(np.searchsorted(ends, wanted) + 1, len(rows_of_games)))
    return np.vstack([np.zeros((1, 2), dtype=np.int64), np.column_stack([np.append(0, ends)[games], games])])


def blocks_of(cuts: np.ndarray) -> np.ndarray:
    """The number of blocks before each cut, int64[shares + 1]."""
    return np.append(0, np.cumsum(-(-np.diff(cuts[:, 0]) // BLOCK)))


def spans(cuts: np.ndarray, before: np.ndarray) -> Iterator[Span]:
    """The shares of a sample; `before`, int64[2], are the rows and blocks that precede it in a larger one."""
    blocks = blocks_of(cuts)
    for number in range(len(cuts) - 1):
        (first, first_game), (last, last_game) = (tuple(map(int, row)) for row in cuts[number : number + 2])
        rows_before, blocks_before = int(before[0]) + first, int(before[1] + blocks[number])
        yield Span(first, last, first_game, last_game, rows_before, blocks_before)
