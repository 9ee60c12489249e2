"""A growing store of rows; it forms games of labelled positions and removes duplicates."""

from __future__ import annotations

import numpy as np

from engine.compiled.jit import entry
from eval.linear.evaluate import NUMBER_OF_TERMS
from learn.positions import Rows

_GROWTH = 8  # the store grows by an eighth at a time: `resize` moves no memory of this size on most systems
_FIRST_ROOM = 1 << 16
_ODD = np.uint64(0x9E3779B97F4A7C15)


class RowStore:
    """The rows of many blocks; each column is one array that grows in place."""

    def __init__(self, with_keys: bool = False) -> None:
        """`with_keys` also keeps the keys of positions, so that duplicates can be found."""
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
        """Add rows and the keys of their positions, uint64[n]; their games are numbered after those in the store."""
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
        """Form games of the last n rows, which were added without; returns the number of games.

        Rows with the same name, uint64[n], and the same result, float32[n], are one game and are moved together.
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
        """Keep only the first of equal positions; returns the number removed. Needs the keys."""
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
        """All rows and the keys of their positions, uint64[n]; uint64[0] without `with_keys`."""
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
