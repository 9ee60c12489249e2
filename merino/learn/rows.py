"""Rows of features to learn from, and the store in which they come in, which grows without copying.

A row has the terms of the evaluation, White minus Black, times FEATURE_SCALE, as int16 to save memory. Its product
with the weights at its stage is White's score before the draw rules. The features, five sixths of all bytes, go to a
file without a name where there are many rows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from merino.core.board.fen import to_fen
from merino.core.common.sealed import RowFile, let_go, warn_no_room
from merino.core.compiled.jit import entry, kernel
from merino.eval.linear.compiled import addresses_of, counts_of, scores_of, side_counts
from merino.eval.linear.phases import by_stage
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.material import after_rules, stage_of
from merino.learn.errors import LearnError
from merino.learn.positions import PositionBlock, codes_of

_GROWTH = 8  # the store grows by an eighth at a time: `resize` moves no memory of this size on most systems
_FIRST_ROOM = 1 << 16
MAX_IN_MEMORY = 450_000_000  # bytes of features that are kept in memory; more go to a file
_FEATURE_BYTES = np.dtype(np.int16).itemsize
FEATURE_SCALE = 256  # resolution: 0.2 centipawns with a weight of 100; the largest count is near 70
CHECKED = 100  # about how many positions of a file are checked
_AT_ONCE = 1 << 20  # rows


@dataclass(frozen=True)
class Rows:
    """Positions to learn from, game by game.

    `features` int16[n, terms]; `stage` uint8[n], the pieces left, as in `eval.linear.phases`; `game` int32[n], rising;
    `to_end` int16[n], plies to the end of the game; `results` float32[games], White's result 0, 0.5 or 1 by game;
    `scores` int16[n], the score of a search for White in centipawns, or NO_SCORE.
    """

    features: np.ndarray
    stage: np.ndarray
    game: np.ndarray
    to_end: np.ndarray
    results: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    def rows_of_games(self) -> np.ndarray:
        """How many rows each game has, int64[games]."""
        found = np.zeros(len(self.results), dtype=np.int64)
        for first in range(0, len(self.game), _AT_ONCE):  # `bincount` makes int64 of all it counts
            found += np.bincount(self.game[first : first + _AT_ONCE], minlength=len(found))
        return found


@kernel
def write_row(address, position, counts, row):
    """Fill `row`, int16[terms], with the scaled features of a position; `counts` is scratch, float64[2, terms].

    `address` is that of the set's `side_counts`.
    """
    side_counts(address, position, counts)
    for index in range(len(row)):
        row[index] = np.int64(np.rint(FEATURE_SCALE * (counts[0, index] - counts[1, index])))


@entry
def _write_rows(address, positions, features, stages):
    counts = np.zeros((2, features.shape[1]))
    for index in range(len(positions)):
        write_row(address, positions[index], counts, features[index])
        stages[index] = stage_of(positions[index])


def rows_of_block(block: PositionBlock, terms: TermSet = TERMS) -> Rows:
    """The rows of chosen positions, with the features of this set; raises EvaluationError as `counts_of` does."""
    if terms.version:
        counts_of(block.positions, terms)
    features = np.empty((len(block), len(terms)), dtype=np.int16)
    stages = np.empty(len(block), dtype=np.uint8)
    _write_rows(addresses_of(terms).side_counts, block.positions, features, stages)
    return Rows(features, stages, block.game, block.to_end, block.results, block.scores)


def check_rows(block: PositionBlock, rows: Rows, weights: np.ndarray, terms: TermSet = TERMS) -> None:
    """Compare rows times `weights`, those of a set, with the evaluation.

    Raises LearnError if they differ by more than rounding does.
    """
    step = max(1, len(block) // CHECKED)
    positions = block.positions[::step]
    tolerance = np.abs(weights).sum() * 0.5 / FEATURE_SCALE + 1  # each feature is rounded, then the score
    scores = np.where(positions["side"] == 0, 1, -1) * scores_of(positions, weights, terms)
    in_use = by_stage(weights, len(terms))[rows.stage[::step]]
    for index, (score, row, row_weights) in enumerate(zip(scores, rows.features[::step], in_use, strict=True)):
        expected = after_rules(positions[index : index + 1], float(row @ row_weights) / FEATURE_SCALE)
        if abs(score - expected) > tolerance:
            raise LearnError(
                f"internal error, please report it: {to_fen(positions[index : index + 1])} is worth {score} "
                f"centipawns to the engine and {expected:.1f} to the learner"
            )


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
            warn_no_room(error)
            before = self._kept if self._file is None else self._file.array()
            self._file, self._most = None, sys.maxsize
            self._kept = np.zeros((last, self._terms), dtype=np.int16)
            self._kept[:first] = before[:first]
        if last > len(self._kept):
            self.reserve(last + last // _GROWTH)
        self._kept[first:last] = rows

    def cut(self, count: int) -> None:
        """Let what is put next come behind the first `count`."""
        if self._file is not None:
            self._file.cut(count)
            self._kept = self._kept[:0]

    def array(self, count: int) -> np.ndarray:
        """The first `count`, to be changed in place."""
        if self._file is not None and not len(self._kept):
            self._kept = self._file.array()
        return self._kept[:count]


class RowStore:
    """The rows of many blocks; each column is one array that grows in place."""

    def __init__(self, most_in_memory: int | None = None, terms: int = len(TERMS)) -> None:
        """`terms` is the number of features of a row; those of `most_in_memory` rows are kept in memory.

        None stands for as many as MAX_IN_MEMORY holds.
        """
        most = MAX_IN_MEMORY // (_FEATURE_BYTES * terms) if most_in_memory is None else most_in_memory
        self._features = _Features(most, terms)
        self._stage = np.zeros(0, dtype=np.uint8)
        self._game, self._to_end = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int16)
        self._scores = np.zeros(0, dtype=np.int16)
        self._results: list[np.ndarray] = []
        self._size = self.games = 0

    def __len__(self) -> int:
        return self._size

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        """The other columns, as `_keep` takes them."""
        return self._stage, self._game, self._to_end, self._scores

    def add(self, rows: Rows) -> None:
        """Add rows; their games are numbered after those in the store."""
        first, last = self._size, self._size + len(rows)
        if last > len(self._stage):
            self._resize(max(last, len(self._stage) + len(self._stage) // _GROWTH, _FIRST_ROOM))
        self._features.put(first, rows.features)
        self._stage[first:last] = rows.stage
        self._game[first:last] = rows.game + np.int32(self.games)
        self._to_end[first:last] = rows.to_end
        self._scores[first:last] = rows.scores
        self._results.append(rows.results)
        self._size = last
        self.games += len(rows.results)

    def keep(self, chosen: np.ndarray) -> None:
        """Keep those of the last rows, which are in no game yet, for which `chosen`, bool[n], is true."""
        last = self._size
        first = last - len(chosen)
        features = self._features.array(last)
        columns = (column[first:last] for column in (features, *self._columns))
        self._size = first + int(_keep(*columns, chosen))
        let_go(features)
        self._features.cut(self._size)

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
            for column in kept:
                column[first:last] = column[first:last][order]
            let_go(kept[0])
            order = np.argsort(codes, kind="stable")
            codes, lengths, results = codes[order], lengths[order], results[order]
            begins = _beginnings(codes)
            lengths, results = np.add.reduceat(lengths, begins), results[begins]
        game = np.arange(self.games, self.games + len(lengths), dtype=np.int32)
        self._game[first:last] = np.repeat(game, lengths)
        self._results.append(results)
        self.games += len(lengths)
        return len(lengths)

    def rows(self) -> Rows:
        """All rows; nothing can be added afterwards."""
        self._resize(self._size)
        results = np.concatenate([*self._results, np.zeros(0, dtype=np.float32)])
        return Rows(self._features.array(self._size), self._stage, self._game, self._to_end, results, self._scores)

    def _resize(self, capacity: int) -> None:
        self._features.reserve(capacity)
        for column in self._columns:
            column.resize(capacity, refcheck=False)


class GameRuns:
    """Which rows are of one game, as they come in: runs of rows with the same name and the same result."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, ...]] = []

    def add(self, names: np.ndarray, results: np.ndarray) -> None:
        """Take note of some more rows: `names` are uint64[n], `results` float32[n]."""
        if len(names):
            codes = codes_of(names, results)
            begins = _beginnings(codes)
            lengths = np.diff(np.append(begins, len(codes)))
            self._parts.append((codes[begins], lengths, results[begins].astype(np.float32)))

    def only(self, chosen: np.ndarray) -> GameRuns:
        """The runs of those rows for which `chosen`, bool[n], is true."""
        codes, lengths, results = self.merged()
        counts = np.add.reduceat(chosen.astype(np.int64), np.cumsum(lengths) - lengths)
        found, left = GameRuns(), counts > 0
        found._parts.append((codes[left], counts[left], results[left]))
        return found

    def merged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A code of each run, uint64[runs], how many rows it has, int64[runs], and the result, float32[runs]."""
        none = (np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        codes, lengths, results = (np.concatenate(column) for column in zip(none, *self._parts, strict=True))
        begins = _beginnings(codes)
        return codes[begins], np.add.reduceat(lengths, begins) if len(begins) else lengths, results[begins]


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
