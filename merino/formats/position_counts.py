"""Counts of files of positions: scores, results, phases, king squares, duplicates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from merino.core.board.bitboard import lsb
from merino.core.compiled.jit import entry
from merino.formats.packed import GAMES

BOUNDS = (-2000, -1000, -500, -200, -100, -50, 0, 50, 100, 200, 500, 1000, 2000)  # of scores, in centipawns
MIN_RISE = 4  # games over which numbers rise, on average, where they are in order
MAX_UNITS = 24  # of phase: knight and bishop 1, rook 2, queen 4
_UNITS = np.array([0, 1, 1, 2, 4, 0])
_MIX = np.uint64(0x9E3779B97F4A7C15)


class _GameNumbers:
    """The numbers of the games of a file, as its positions have them."""

    def __init__(self) -> None:
        self._runs, self._falls, self._last = 0, 0, 0
        self._seen = np.zeros(GAMES + 1, dtype=np.bool_)

    def add(self, numbers: np.ndarray) -> None:
        """The numbers of some more positions, 0 for unknown."""
        known = numbers[numbers != 0].astype(np.int64)
        if len(known):
            steps = np.diff(known, prepend=self._last)
            self._runs += int(np.count_nonzero(steps))
            self._falls += int(np.count_nonzero(steps < 0))
            self._last = int(known[-1])
            self._seen[known] = True

    @property
    def in_order(self) -> bool:
        """Whether the positions of each game lie together.

        Then a number comes once, or numbers rise over many games, and fall behind GAMES or where a file was appended.
        Those of shuffled positions fall at every second change.
        """
        return self._runs == np.count_nonzero(self._seen) or self._runs >= MIN_RISE * (self._falls + 1)

    @property
    def games(self) -> int:
        """How many there are, or else how many numbers."""
        return self._runs if self.in_order else int(np.count_nonzero(self._seen))


@dataclass
class PositionCounts:
    """Sums over positions, added in batches. Scores and results are those of the side to move."""

    positions: int = 0
    sum_of_scores: float = 0.0
    sum_of_squares: float = 0.0
    scores: np.ndarray = field(default_factory=lambda: np.zeros(len(BOUNDS) + 1, dtype=np.int64))
    results: np.ndarray = field(default_factory=lambda: np.zeros(3, dtype=np.int64))  # lost, drawn, won
    phases: np.ndarray = field(default_factory=lambda: np.zeros(MAX_UNITS + 1, dtype=np.int64))
    kings: np.ndarray = field(default_factory=lambda: np.zeros(64, dtype=np.int64))
    _keys: list[np.ndarray] = field(default_factory=list)
    _files: list[_GameNumbers] = field(default_factory=list)

    def begin_file(self) -> None:
        """What is added from now on is of another file."""
        self._files.append(_GameNumbers())

    def add(self, records: np.ndarray) -> None:
        """Count PACKED[n] of that file."""
        if not len(records):
            return
        scores = records["score"].astype(np.float64)
        self.positions += len(records)
        self.sum_of_scores += float(scores.sum())
        self.sum_of_squares += float((scores**2).sum())
        self.scores += np.bincount(np.searchsorted(BOUNDS, scores, side="right"), minlength=len(BOUNDS) + 1)
        self.results += np.bincount(records["result"], minlength=3)
        self.kings += np.bincount(records["king"], minlength=64)
        keys, phases = np.zeros(len(records), dtype=np.uint64), np.zeros(len(records), dtype=np.int64)
        _look_at_all(np.asarray(records), keys, phases)
        self.phases += np.bincount(np.minimum(phases, MAX_UNITS), minlength=MAX_UNITS + 1)
        self._keys.append(keys)
        self._files[-1].add(records["game"])

    @property
    def games(self) -> int:
        """The number of games, or, unless all are `in_order`, of different numbers of games; 0 if none has a number."""
        return sum(file.games for file in self._files)

    @property
    def in_order(self) -> bool:
        """Whether the positions of each game lie together, in all files."""
        return all(file.in_order for file in self._files)

    @property
    def mean(self) -> float:
        """Of the scores."""
        return self.sum_of_scores / max(1, self.positions)

    @property
    def deviation(self) -> float:
        """Of the scores: standard deviation."""
        return float(np.sqrt(max(0.0, self.sum_of_squares / max(1, self.positions) - self.mean**2)))

    def duplicates(self) -> int:
        """The number of positions that occurred before."""
        return self.positions - len(np.unique(np.concatenate(self._keys))) if self._keys else 0


def count_positions(files: Iterable[Iterable[np.ndarray]]) -> PositionCounts:
    """The counts of files, each PACKED[n] at a time."""
    counts = PositionCounts()
    for chunks in files:
        counts.begin_file()
        for chunk in chunks:
            counts.add(chunk)
    return counts


@entry
def _look_at_all(records, keys, phases):
    """A hash of each board, and its phase."""
    for index in range(len(records)):
        record = records[index]
        key, left, number = np.uint64(record.occupied) * _MIX, np.uint64(record.occupied), 0
        while left:
            nibble = np.int64(record.pieces[number >> 1]) >> 4 * (number & 1) & 15
            phases[index] += _UNITS[nibble & 7]
            key = (key ^ np.uint64(lsb(left) * 16 + nibble)) * _MIX
            key ^= key >> np.uint64(29)
            number += 1
            left &= left - np.uint64(1)
        keys[index] = key
