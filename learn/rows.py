"""Rows as they come in: a store that grows without copying, and what is done to all of them at the end.

The features, five sixths of all bytes, go to a file without a name where there are many rows.
"""

from __future__ import annotations

import sys

import numpy as np

from merino.inner.core.common.mapped import RowFile, let_go, tell_no_room
from merino.inner.core.compiled.jit import entry
from merino.inner.eval.linear.registry import TERMS
from merino.inner.learn.positions import ODD, Equal, Rows

_GROWTH = 8  # the store grows by an eighth at a time: `resize` moves no memory of this size on most systems
_FIRST_ROOM = 1 << 16
MAX_IN_MEMORY = 450_000_000  # bytes of features that are kept in memory; more go to a file
_FEATURE_BYTES = np.dtype(np.int16).itemsize


class _Features:
    """The features of rows: in memory, or in a file as soon as they are more than `most`."""

    def __init__(self, most: int, terms: int) -> None:
        self._most, self._terms = most, terms
        self._kept = np.zeros((0, terms), dtype=np.int16)  # also what of a file is mapped, if there is one
        self._file: RowFile | None = None

    def reserve(self, capacity: int) -> None:
        """Make room in memory."""
        if self._file is None:
            self._kept.resize((min(capacity, max(self._most, len(self._kept))), self._terms), refcheck=False)

    def put(self, first: int, rows: np.ndarray) -> None:
        """Add rows behind the `first` that are there."""
        last = first + len(rows)
        try:
            if self._file is None and last > self._most:
                self._file = RowFile(self._kept[:first])
                self._kept = self._kept[:0]
            if self._file is not None:
                self._file.add(rows)
                self._kept = self._kept[:0]
                return
        except OSError as error:
            tell_no_room(error)
            before = self._kept if self._file is None else self._file.array()
            self._file, self._most = None, sys.maxsize
            self._kept = np.zeros((last, self._terms), dtype=np.int16)
            self._kept[:first] = before[:first]
        if last > len(self._kept):
            self.reserve(last + last // _GROWTH)
        self._kept[first:last] = rows

    def array(self, count: int) -> np.ndarray:
        """The first `count`, to be changed in place."""
        if self._file is not None and not len(self._kept):
            self._kept = self._file.array()
        return self._kept[:count]


class RowStore:
    """The rows of many blocks; each column is one array that grows in place."""

    def __init__(self, unique: Equal | None = None, most_in_memory: int | None = None, terms: int = len(TERMS)) -> None:
        """`unique` says what duplicates are; a key of each position is then kept, too, so that they can be found.

        `terms` is the number of features of a row, `most_in_memory` the number of rows whose features are kept in
        memory, None for as many as MAX_IN_MEMORY holds.
        """
        most = MAX_IN_MEMORY // (_FEATURE_BYTES * terms) if most_in_memory is None else most_in_memory
        self._features = _Features(most, terms)
        self._stage = np.zeros(0, dtype=np.uint8)
        self._game, self._to_end = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int16)
        self._scores, self._keys = np.zeros(0, dtype=np.int16), np.zeros(0, dtype=np.uint64)
        self._unique = unique
        self._results: list[np.ndarray] = []
        self._gaps: list[np.ndarray] = []
        self._size = self.games = 0

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Rows, keys: np.ndarray) -> None:
        """Add rows and the keys of their positions, uint64[n]; their games are numbered after those in the store."""
        first, last = self._size, self._size + len(rows)
        if last > len(self._stage):
            self._resize(max(last, len(self._stage) + len(self._stage) // _GROWTH, _FIRST_ROOM))
        self._features.put(first, rows.features)
        self._stage[first:last] = rows.stage
        self._game[first:last] = rows.game + np.int32(self.games)
        self._to_end[first:last] = rows.to_end
        self._scores[first:last] = rows.scores
        if self._unique is not None:
            self._keys[first:last] = _term_keys(rows) if self._unique is Equal.TERMS else keys
        self._results.append(rows.results)
        self._gaps.append(rows.gaps if len(rows.gaps) else _unknown(len(rows.results)))
        self._size = last
        self.games += len(rows.results)

    def group(self, runs: GameRuns) -> int:
        """Make games of the last rows, which were added with none; how many.

        Rows of runs with the same code are a game, and are put together.
        """
        codes, lengths, results = runs.merged()
        last = self._size
        first = last - int(lengths.sum())
        if len(np.unique(codes)) < len(codes):
            order = np.argsort(np.repeat(codes, lengths), kind="stable")
            kept: tuple[np.ndarray, ...] = (self._features.array(last), self._stage, self._to_end, self._scores)
            for column in kept + (self._keys,) * (self._unique is not None):
                column[first:last] = column[first:last][order]
            let_go(kept[0])
            order = np.argsort(codes, kind="stable")
            codes, lengths, results = codes[order], lengths[order], results[order]
            begins = _beginnings(codes)
            lengths, results = np.add.reduceat(lengths, begins), results[begins]
        game = np.arange(self.games, self.games + len(lengths), dtype=np.int32)
        self._game[first:last] = np.repeat(game, lengths)
        self._results.append(results)
        self._gaps.append(_unknown(len(results)))
        self.games += len(lengths)
        return len(lengths)

    def drop_duplicates(self) -> int:
        """Keep only the first of positions with equal keys; returns the number removed. Needs the keys."""
        chosen, before = np.zeros(self._size, dtype=np.bool_), self._size
        chosen[np.unique(self._keys[:before], return_index=True)[1]] = True
        features = self._features.array(before)
        self._size = int(_keep(features, self._stage, self._game, self._to_end, self._scores, chosen))
        let_go(features)
        self._unique = None  # the keys are no longer those of the rows
        return before - self._size

    def rows(self) -> Rows:
        """All rows; nothing can be added afterwards."""
        self._resize(self._size)
        none = np.zeros(0, dtype=np.float32)
        results, gaps = (np.concatenate([*parts, none]) for parts in (self._results, self._gaps))
        columns = (self._features.array(self._size), self._stage, self._game, self._to_end)
        return Rows(*columns, results, self._scores, gaps)

    def rows_and_keys(self) -> tuple[Rows, np.ndarray]:
        """All rows and the keys that duplicates share, uint64[n]; uint64[0] if none are wanted."""
        rows = self.rows()
        return rows, self._keys

    def _resize(self, capacity: int) -> None:
        self._features.reserve(capacity)
        self._stage.resize(capacity, refcheck=False)
        self._game.resize(capacity, refcheck=False)
        self._to_end.resize(capacity, refcheck=False)
        self._scores.resize(capacity, refcheck=False)
        self._keys.resize(capacity * (self._unique is not None), refcheck=False)


class GameRuns:
    """Which rows are of one game, as they come in: runs of rows with the same name and the same result."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, ...]] = []

    def add(self, names: np.ndarray, results: np.ndarray) -> None:
        """Take note of some more rows: `names` are uint64[n], `results` float32[n]."""
        if len(names):
            codes = names * ODD ^ results.astype(np.float32).view(np.uint32).astype(np.uint64)
            begins = _beginnings(codes)
            lengths = np.diff(np.append(begins, len(codes)))
            self._parts.append((codes[begins], lengths, results[begins].astype(np.float32)))

    def merged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A code of each run, uint64[runs], how many rows it has, int64[runs], and the result, float32[runs]."""
        none = (np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        codes, lengths, results = (np.concatenate(column) for column in zip(none, *self._parts, strict=True))
        begins = _beginnings(codes)
        return codes[begins], np.add.reduceat(lengths, begins) if len(begins) else lengths, results[begins]


def _unknown(games: int) -> np.ndarray:
    """The gaps of ratings, none of them known, of so many games."""
    return np.full(games, np.nan, dtype=np.float32)


def _term_keys(rows: Rows) -> np.ndarray:
    """Keys of rows, uint64[n], that are equal if all features and the stage are, and hardly ever otherwise."""
    columns = [*rows.features.T, rows.stage]
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in columns:
        keys = (keys ^ column.astype(np.uint16)) * ODD
        keys ^= keys >> np.uint64(32)  # what differs in the upper half must reach the lower one
    return keys


def _beginnings(codes: np.ndarray) -> np.ndarray:
    """The indices at which runs of equal codes begin."""
    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)])


@entry
def _keep(features, stage, game, to_end, scores, chosen):
    kept = 0
    for index in range(len(chosen)):
        if chosen[index]:
            features[kept], stage[kept] = features[index], stage[index]
            game[kept], to_end[kept], scores[kept] = game[index], to_end[index], scores[index]
            kept += 1
    return kept
