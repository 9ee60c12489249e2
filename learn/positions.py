"""The rows the fit works on: which positions of which games, and the 27 numbers of each.

A row is made by the very terms the search evaluates with, in fixed point to save memory: feature * FEATURE_SCALE,
White minus Black, int16. Row times weights is White's score before the draw rules.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.bitboard import ZERO
from engine.jit import entry, kernel
from engine.makemove import make
from engine.memory import copy_record
from engine.movegen import is_noisy
from engine.position import POSITION
from eval.evaluate import NUMBER_OF_TERMS, side_counts
from learn.games import Games
from learn.tokens import UNFINISHED

FEATURE_SCALE = 256  # resolution: a weight of 100 is felt to 0.2 centipawns; the largest count is near 70


@dataclass(frozen=True)
class Selection:
    """Which positions of a game are used: never in check, never right after a capture or promotion."""

    skip_first: int = 0  # half-moves of the opening that are left out
    skip_last: int = 0  # half-moves before the end that are left out


@dataclass(frozen=True)
class Rows:
    """Positions to learn from, game by game.

    `features` int16[n, 27]; `game` int32[n], rising; `to_end` int16[n], half-moves to the end of the game; `results`
    float32[games], White's score 0, 0.5 or 1 by game.
    """

    features: np.ndarray
    game: np.ndarray
    to_end: np.ndarray
    results: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    def labels(self) -> np.ndarray:
        """The result of each row's game, float32[n]."""
        return self.results[self.game]

    def of_games(self, chosen: np.ndarray) -> Rows:
        """The rows of the games for which `chosen`, bool[games], is true."""
        mask = chosen[self.game]
        return Rows(self.features[mask], self.game[mask], self.to_end[mask], self.results)


@kernel
def write_row(position, counts, row):
    """Fill `row`, int16[27], with the scaled features of a position; `counts` is scratch, float64[2, 27]."""
    side_counts(position, counts)
    for index in range(len(row)):
        row[index] = np.int64(np.rint(FEATURE_SCALE * (counts[0, index] - counts[1, index])))


@entry
def _extract(table, span, starts, moves, skips, features, game, to_end):
    """Fill the rows of the games table[first:last], `span` being int64 (first, last); how many there are.

    `skips` is int64: how many half-moves of each game to leave out at its beginning and at its end.
    """
    stack, counts, found = np.zeros(2, dtype=POSITION), np.zeros((2, NUMBER_OF_TERMS)), 0
    for number in range(span[0], span[1]):
        record = table[number]
        if record.result == UNFINISHED:
            continue
        copy_record(stack[0], starts[record.position])
        for ply in range(record.plies):
            before, after = stack[ply & 1], stack[(ply + 1) & 1]
            move = np.int64(moves[record.first + ply])
            make(after, before, move)
            left = record.plies - ply - 1
            if ply < skips[0] or left < skips[1] or after.checkers != ZERO:
                continue
            if is_noisy(before, move):
                continue
            write_row(after, counts, features[found])
            game[found], to_end[found] = number, left
            found += 1
    return found


def rows_of_games(games: Games, selection: Selection, threads: int = 2) -> Rows:
    """The rows of every finished game."""
    table = games.table
    cuts = np.searchsorted(np.cumsum(table["plies"]), np.linspace(0, len(games.moves), max(1, threads) + 1)[1:-1])
    spans = list(pairwise([0, *cuts.tolist(), len(table)]))
    with ThreadPoolExecutor(len(spans)) as pool:
        parts = list(pool.map(lambda span: _rows_of_span(games, selection, *span), spans))
    results = np.where(table["result"] == UNFINISHED, 0.5, table["result"] / 2).astype(np.float32)
    features, game, to_end = (np.concatenate([part[index] for part in parts]) for index in range(3))
    return Rows(features, game, to_end, results)


def _rows_of_span(games: Games, selection: Selection, first: int, last: int) -> tuple[np.ndarray, ...]:
    room = int(games.table["plies"][first:last].sum())
    features = np.empty((room, NUMBER_OF_TERMS), dtype=np.int16)
    game, to_end = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int16)
    span, skips = np.array([first, last]), np.array([selection.skip_first, selection.skip_last])
    found = _extract(games.table, span, games.starts, games.moves, skips, features, game, to_end)
    return features[:found], game[:found], to_end[:found]
