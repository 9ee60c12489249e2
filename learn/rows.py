"""Rows as they come in: a store that grows without copying, and what is done to all of them at the end."""

from __future__ import annotations

import numpy as np

from engine.compiled.jit import entry
from eval.linear.evaluate import NUMBER_OF_TERMS
from learn.positions import Rows

_GROWTH = 8  # the store grows by an eighth at a time: `resize` moves no memory of this size on most systems
_FIRST_ROOM = 1 << 16
_ODD = np.uint64(0x9E3779B97F4A7C15)


class RowStore:
    """Rows of many blocks, each of their columns gathered in one piece of memory."""

    def __init__(self, with_keys: bool = False) -> None:
        """`with_keys` keeps the key of each position, too, so that duplicates can be found."""
        self._features = np.zeros((0, NUMBER_OF_TERMS), dtype=np.int16)
        self._stage = np.zeros(0, dtype=np.uint8)
        self._game, self._to_end = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int16)
        self._scores, self._keys = np.zeros(0, dtype=np.int16), np.zeros(0, dtype=np.uint64)
        self._with_keys = with_keys
        self._results: list[np.ndarray] = []
        self._size = self.games = 0

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Rows, keys: np.ndarray) -> None:
        """Add rows, and the keys of their positions, uint64[n]; games are numbered on from those that are there."""
        first, last = self._size, self._size + len(rows)
        if last > len(self._features):
            self._resize(max(last, len(self._features) + len(self._features) // _GROWTH, _FIRST_ROOM))
        self._features[first:last] = rows.features
        self._stage[first:last] = rows.stage
        self._game[first:last] = rows.game + np.int32(self.games)
        self._to_end[first:last] = rows.to_end
        self._scores[first:last] = rows.scores
        if self._with_keys:
            self._keys[first:last] = keys
        self._results.append(rows.results)
        self._size = last
        self.games += len(rows.results)

    def group(self, names: np.ndarray, results: np.ndarray) -> int:
        """Make games of the last rows, which were added with none; how many.

        `names` are uint64[n], `results` float32[n]: rows where both are the same are a game, and are put together.
        """
        first, last = self._size - len(names), self._size
        codes = names * _ODD ^ results.astype(np.float32).view(np.uint32).astype(np.uint64)
        begins = _beginnings(codes)
        if len(np.unique(codes[begins])) < len(begins):
            order = np.argsort(codes, kind="stable")
            kept: tuple[np.ndarray, ...] = (self._features, self._stage, self._to_end, self._scores)
            for column in kept + (self._keys,) * self._with_keys:
                column[first:last] = column[first:last][order]
            codes, results = codes[order], results[order]
            begins = _beginnings(codes)
        lengths = np.diff(np.append(begins, len(codes)))
        self._game[first:last] = np.repeat(np.arange(len(begins), dtype=np.int32), lengths) + np.int32(self.games)
        self._results.append(results[begins])
        self.games += len(begins)
        return len(begins)

    def drop_duplicates(self) -> int:
        """Leave of equal positions only the first; how many go. Needs the keys."""
        chosen, before = np.zeros(self._size, dtype=np.bool_), self._size
        chosen[np.unique(self._keys[:before], return_index=True)[1]] = True
        self._size = int(_keep(self._features, self._stage, self._game, self._to_end, self._scores, chosen))
        self._with_keys = False  # they are no longer those of the rows
        return before - self._size

    def rows(self) -> Rows:
        """All rows; nothing can be added afterwards."""
        self._resize(self._size)
        results = np.concatenate([*self._results, np.zeros(0, dtype=np.float32)])
        return Rows(self._features, self._stage, self._game, self._to_end, results, self._scores)

    def rows_and_keys(self) -> tuple[Rows, np.ndarray]:
        """The same, and the keys of the positions, uint64[n], which are none where they were not asked for."""
        rows = self.rows()
        return rows, self._keys

    def _resize(self, capacity: int) -> None:
        self._features.resize((capacity, NUMBER_OF_TERMS), refcheck=False)
        self._stage.resize(capacity, refcheck=False)
        self._game.resize(capacity, refcheck=False)
        self._to_end.resize(capacity, refcheck=False)
        self._scores.resize(capacity, refcheck=False)
        self._keys.resize(capacity * self._with_keys, refcheck=False)


def _beginnings(codes: np.ndarray) -> np.ndarray:
    """Where runs of equal codes begin."""
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
