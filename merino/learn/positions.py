"""From games to rows of features: which positions are chosen, random-move positions, and the store of their rows.

Positions are chosen by place, by score and by chance. The quiescence search shows whether a capture changes the score;
it is the engine's own, with the weights that learning starts from.

Random-move positions come after a random legal move in a position of a game: games do not reach them, but searches do.
Players leave no piece to be taken, so their games hardly show what that costs; a search meets it at every second node.
One of them has no result: only a teacher's score says what it is worth.

A row has the terms of the evaluation, White minus Black, times FEATURE_SCALE, as int16 to save memory. Its product
with the weights at its stage is White's score before the draw rules. Rows come into a store that grows without copying.
The features, five sixths of all bytes, go to a file without a name where there are many rows.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np

from merino.core.board import bitboard, makemove, movegen
from merino.core.board.position import POSITION
from merino.core.common import sealed
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.engine.search import iterative_deepening, state, static_eval, transposition, tree, worker
from merino.eval import material
from merino.eval.linear import compiled, family, registry
from merino.formats import labelled, pgn_games, pgn_tokens
from merino.learn.request import EARLY_GAMES, Quiet, Selection

_local = threading.local()  # a search record belongs to one thread
ODD = np.uint64(0x9E3779B97F4A7C15)  # keys times this are in random order
_GROWTH = 8  # the store grows by an eighth at a time: `resize` moves no memory of this size on most systems
_FEW = 1 << 16  # rows that there is room for at first, and that are moved at a time
MAX_IN_MEMORY = 450_000_000  # bytes of features that are kept in memory; more go to a file
_FEATURE_BYTES = np.dtype(np.int16).itemsize
FEATURE_SCALE = 256  # resolution: 0.2 centipawns with a weight of 100; the largest count is near 70


@dataclass(frozen=True)
class PositionBlock:
    """Positions chosen to learn from.

    `positions` POSITION[n]; `game` int32[n], rising; `to_end` int16[n], plies to the end of the game; `results`
    float32[games], White's result 0, 0.5 or 1 by game; `scores` int16[n], the score of a search for White, or NO_SCORE.
    """

    positions: np.ndarray
    game: np.ndarray
    to_end: np.ndarray
    results: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.positions)

    def chosen(self, which: np.ndarray) -> PositionBlock:
        """The positions for which `which`, bool[n], is true."""
        columns = (self.positions[which], self.game[which], self.to_end[which])
        return PositionBlock(*columns, self.results, self.scores[which])


@entry
def _choose(table, starts, moves, comment_scores, positions, game, to_end, scores):
    """Fill in the chosen positions of the games of a table; returns their number.

    `comment_scores`, int16, are the scores in comments after each move; it may be empty.
    """
    stack, found = np.zeros(2, dtype=POSITION), 0
    for number in range(len(table)):
        record = table[number]
        if record.result == pgn_tokens.UNFINISHED:
            continue
        memory.copy_record(stack[0], starts[record.position])
        for ply in range(record.plies):
            before, after = stack[ply & 1], stack[(ply + 1) & 1]
            move = np.int64(moves[record.first + ply])
            makemove.make(after, before, move)
            left = record.plies - ply - 1
            if after.checkers != bitboard.ZERO or movegen.is_noisy(before, move):
                continue
            memory.copy_record(positions[found], after)
            game[found], to_end[found] = number, min(left, labelled.MAX_TO_END)
            scores[found] = comment_scores[record.first + ply] if len(comment_scores) else pgn_tokens.NO_SCORE
            found += 1
    return found


def block_of_games(games: pgn_games.Games) -> PositionBlock:
    """The usable positions of the finished games, which keep their numbers."""
    table = games.table
    results = np.where(table["result"] == pgn_tokens.UNFINISHED, 0.5, table["result"] / 2).astype(np.float32)
    capacity = int(table["plies"].sum())
    positions = np.empty(capacity, dtype=POSITION)
    game, to_end = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int16)
    scores = np.empty(capacity, dtype=np.int16)
    found = _choose(table, games.starts, games.moves, games.scores, positions, game, to_end, scores)
    return PositionBlock(positions[:found], game[:found], to_end[:found], results, scores[:found])


def refined(
    block: PositionBlock,
    selection: Selection,
    weights: np.ndarray,
    terms: registry.TermSet = registry.TERMS,
    games_before: int = 0,
) -> PositionBlock:
    """The positions of a block that a selection takes by their scores and by chance, with random-move positions.

    So many games of the file come before it.
    """
    is_drawn_first = selection.positions is Quiet.RESOLVED  # to resolve only those that are used
    if is_drawn_first:
        block = _sampled(block, selection, games_before)
    if selection.random_moves:
        block = with_random_moves(block)
    if selection.positions is not Quiet.ANY:
        block = block.chosen(select_quiet(block.positions, weights, selection.positions, terms))
    return block if is_drawn_first else _sampled(block, selection, games_before)


def codes_of(names: np.ndarray, results: np.ndarray) -> np.ndarray:
    """By which labelled positions are of one game, uint64[n]: its name, uint64[n], and its result, float32[n]."""
    return np.asarray(names * ODD ^ results.astype(np.float32).view(np.uint32).astype(np.uint64))


def _sampled(block: PositionBlock, selection: Selection, games_before: int) -> PositionBlock:
    """The block with as many positions of each game as are wanted: a random choice, but the same each time."""
    if selection.per_game is None:
        return block
    is_late = games_before + block.game >= EARLY_GAMES
    most = np.where(is_late, min(selection.per_game, selection.later or selection.per_game), selection.per_game)
    return block.chosen(drawn(block.positions["key"], block.game, most))


def drawn(keys: np.ndarray, games: np.ndarray, per_game: int | np.ndarray) -> np.ndarray:
    """A random choice of at most `per_game` positions per game, bool[n]; `keys`, uint64[n], are those of positions.

    `per_game` may be int64[n], the same for all positions of a game.
    """
    order = np.lexsort((keys * ODD, games))
    begins = _beginnings(games[order])
    rank = np.arange(len(games)) - np.repeat(begins, np.diff(np.append(begins, len(games))))
    chosen = np.zeros(len(games), dtype=np.bool_)
    chosen[order[rank < np.broadcast_to(per_game, len(games))[order]]] = True
    return chosen


def select_quiet(
    positions: np.ndarray, weights: np.ndarray, quiet: Quiet, terms: registry.TermSet = registry.TERMS
) -> np.ndarray:
    """Which positions, POSITION[n], to use: bool[n]; Quiet.RESOLVED replaces each by the end of its quiescence line.

    A position is quiet if its static score equals that of quiescence search. None may be in check.
    """
    usable = np.ones(len(positions), dtype=np.bool_)
    if quiet is not Quiet.ANY:
        _select_quiet(_record(weights, terms), positions, quiet is Quiet.RESOLVED, usable)
    return usable


def _record(weights: np.ndarray, terms: registry.TermSet) -> np.ndarray:
    """The search record of this thread, with the evaluation by these weights."""
    evaluation = family.LinearEvaluation(weights, terms=terms)
    if not hasattr(_local, "worker"):
        _local.table, _local.stop = transposition.TranspositionTable(megabytes=0), np.zeros(1, dtype=np.uint64)
        _local.worker = worker.Worker(_local.table, _local.stop, evaluation)
    _local.worker.set_evaluation(evaluation)
    record: np.ndarray = _local.worker.record
    record["node_limit"], record["buckets"] = iterative_deepening.NO_LIMIT, 1
    return record


@entry
def _select_quiet(records, positions, resolve, usable):
    s = records[0]
    for index in range(len(positions)):
        position = positions[index]
        memory.copy_record(s.positions[0], position)
        s.positions[0].halfmove = 0  # the fifty-move rule makes scores smaller, and not those after a capture
        s.keys[0], s.past, s.nodes = position.key, 0, 0
        for word in range(memory.CACHE_LINE // 8):  # an entry of an earlier search would cut the line short
            memory.store_word(s.table_address + np.uint64(8 * word), bitboard.ZERO)
        score = memory.call_at(s.quiescence, s, 0, -state.INFINITE, state.INFINITE, 0)
        last = s.plies[0].pv_length if resolve else 0
        usable[index] = _worth(s, last) == score
        if last > 0:
            memory.copy_record(position, s.positions[last])


@kernel
def _worth(s, last):
    """The static score after `last` moves of the line found, from the view of the first mover; keeps the positions."""
    for ply in range(last):
        tree.make_move(s, ply, s.pv[0, ply])
    score = static_eval.rule50_scaling(s.positions[last], static_eval.static_evaluation(s, last))
    return score if last & 1 == 0 else -score


def with_random_moves(block: PositionBlock) -> PositionBlock:
    """The block with a random-move position after each one, without a score; none is in check. The same each time."""
    order = np.repeat(np.arange(len(block)), 2)
    positions, scores = block.positions[order], block.scores[order]
    kept = np.ones(len(order), dtype=np.bool_)
    scores[1::2] = pgn_tokens.NO_SCORE
    _play_random_moves(positions[1::2], kept[1::2])
    doubled = replace(block, positions=positions, game=block.game[order], to_end=block.to_end[order], scores=scores)
    return doubled.chosen(kept)


@entry
def _play_random_moves(positions, kept):
    """Play a legal move in each position, drawn by its key; `kept` marks where that can be used."""
    moves, after = np.empty(movegen.MAX_MOVES, dtype=np.int32), np.zeros(1, dtype=POSITION)
    for index in range(len(positions)):
        position = positions[index]
        count = movegen.generate(position, moves, movegen.ALL, bitboard.FULL)
        kept[index] = count > 0
        if count:
            move = moves[np.int64((position.key * ODD >> np.uint64(32)) % np.uint64(count))]
            makemove.make(after[0], position, np.int64(move))
            kept[index] = after[0].checkers == bitboard.ZERO
            memory.copy_record(position, after[0])


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


@kernel
def write_row(address, position, counts, row):
    """Fill `row`, int16[terms], with the scaled features of a position; `counts` is scratch, float64[2, terms].

    `address` is that of the set's `side_counts`.
    """
    compiled.side_counts(address, position, counts)
    for index in range(len(row)):
        row[index] = np.int64(np.rint(FEATURE_SCALE * (counts[0, index] - counts[1, index])))


@entry
def _write_rows(address, positions, features, stages):
    counts = np.zeros((2, features.shape[1]))
    for index in range(len(positions)):
        write_row(address, positions[index], counts, features[index])
        stages[index] = material.stage_of(positions[index])


def rows_of_block(block: PositionBlock, terms: registry.TermSet = registry.TERMS) -> Rows:
    """The rows of chosen positions, with the features of this set; raises EvaluationError as `counts_of` does."""
    if terms.version:
        compiled.counts_of(block.positions, terms)
    features = np.empty((len(block), len(terms)), dtype=np.int16)
    stages = np.empty(len(block), dtype=np.uint8)
    _write_rows(compiled.addresses_of(terms).side_counts, block.positions, features, stages)
    return Rows(features, stages, block.game, block.to_end, block.results, block.scores)


class RowStore:
    """The rows of many blocks; each column is one array that grows in place."""

    def __init__(self, most_in_memory: int | None = None, terms: int = len(registry.TERMS)) -> None:
        """`terms` is the number of features of a row; those of `most_in_memory` rows are kept in memory.

        None stands for as many as MAX_IN_MEMORY holds.
        """
        self._most = MAX_IN_MEMORY // (_FEATURE_BYTES * terms) if most_in_memory is None else most_in_memory
        self._features = np.zeros((0, terms), dtype=np.int16)  # also what is mapped of the file, if there is one
        self._file: sealed.RowFile | None = None
        self._stage = np.zeros(0, dtype=np.uint8)
        self._game, self._to_end = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int16)
        self._scores = np.zeros(0, dtype=np.int16)
        self._results: list[np.ndarray] = []
        self._size = self.games = 0

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Rows) -> None:
        """Add rows; their games are numbered after those in the store."""
        first, last = self._size, self._size + len(rows)
        if last > len(self._stage):
            self._resize(max(last, len(self._stage) + len(self._stage) // _GROWTH, _FEW))
        self._put(first, rows.features)
        self._stage[first:last] = rows.stage
        self._game[first:last] = rows.game + np.int32(self.games)
        self._to_end[first:last] = rows.to_end
        self._scores[first:last] = rows.scores
        self._results.append(rows.results)
        self._size = last
        self.games += len(rows.results)

    def keep(self, chosen: np.ndarray) -> None:
        """Keep those of the last rows, which are in no game yet, for which `chosen`, bool[n], is true."""
        features, first = self._all_features(), self._size - len(chosen)
        kept = first
        for start in range(0, len(chosen), _FEW):
            places = first + start + np.flatnonzero(chosen[start : start + _FEW])
            for column in (features, self._stage, self._to_end, self._scores):
                column[kept : kept + len(places)] = column[places]
            kept += len(places)
        self._size = kept
        if self._file is not None:
            self._file.cut(kept)
            self._features = self._features[:0]

    def group(self, codes: np.ndarray, results: np.ndarray) -> int:
        """Make games of the last rows, which were added with none; how many.

        Rows with the same code, uint64[n], are a game, and are put together; `results` are float32[n].
        """
        last, begins = self._size, _beginnings(codes)
        first = last - len(codes)
        if len(np.unique(codes[begins])) < len(begins):
            order, features = np.argsort(codes, kind="stable"), self._all_features()
            for column in (features, self._stage, self._to_end, self._scores):
                column[first:last] = column[first:last][order]
            codes, results = codes[order], results[order]
            begins = _beginnings(codes)
        lengths = np.diff(np.append(begins, len(codes)))
        self._game[first:last] = np.repeat(np.arange(self.games, self.games + len(begins), dtype=np.int32), lengths)
        self._results.append(results[begins].astype(np.float32))
        self.games += len(begins)
        return len(begins)

    def rows(self) -> Rows:
        """All rows; nothing can be added afterwards."""
        self._resize(self._size)
        results = np.concatenate([*self._results, np.zeros(0, dtype=np.float32)])
        return Rows(self._all_features(), self._stage, self._game, self._to_end, results, self._scores)

    def _resize(self, capacity: int) -> None:
        if self._file is None:
            self._features.resize((min(capacity, self._most), self._features.shape[1]), refcheck=False)
        for column in (self._stage, self._game, self._to_end, self._scores):
            column.resize(capacity, refcheck=False)

    def _put(self, first: int, rows: np.ndarray) -> None:
        """Add features behind the `first` that are there: to the file, once they are more than fit in memory."""
        last = first + len(rows)
        if self._file is None and last > self._most:
            self._file = sealed.RowFile(self._features[:first])
        if self._file is None:
            self._features[first:last] = rows
        else:
            self._features = self._features[:0]
            self._file.add(rows)

    def _all_features(self) -> np.ndarray:
        """The features of all rows, to be changed in place."""
        if self._file is not None and not len(self._features):
            self._features = self._file.array()
        return self._features[: self._size]


def _beginnings(codes: np.ndarray) -> np.ndarray:
    """The indices at which runs of equal codes begin."""
    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)])
