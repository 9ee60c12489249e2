"""The positions of games to learn from, and their rows of features.

A row has the terms of the evaluation, White minus Black, times FEATURE_SCALE, as int16 to save memory. Its product
with the weights at its stage is White's score before the draw rules.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from types import NoneType
from typing import Any

import numpy as np

from merino.inner.core.board.bitboard import ZERO
from merino.inner.core.board.fen import to_fen
from merino.inner.core.board.makemove import make
from merino.inner.core.board.movegen import is_noisy
from merino.inner.core.board.position import POSITION
from merino.inner.core.common.checks import instance, whole_number
from merino.inner.core.common.mapped import is_in_file, joined
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.core.compiled.memory import copy_record
from merino.inner.eval.draws import after_rules
from merino.inner.eval.linear.compiled import addresses_of
from merino.inner.eval.linear.evaluate import counts_of, scores_of, side_counts
from merino.inner.eval.linear.phases import by_stage
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.eval.material import stage_of
from merino.inner.formats.pgn_games import NO_FAULT, TAG_NAMES, Games
from merino.inner.formats.pgn_scores import NO_SCORE
from merino.inner.formats.pgn_tokens import UNFINISHED
from merino.inner.learn.errors import LearnError

FEATURE_SCALE = 256  # resolution: 0.2 centipawns with a weight of 100; the largest count is near 70
ODD = np.uint64(0x9E3779B97F4A7C15)  # keys times this are in random order
_AT_ONCE = 1 << 20  # rows
CHECKED = 100  # about how many positions of a file are checked


class Quiet(StrEnum):
    """The treatment of positions where a capture changes the score, as the values of `--positions` name it."""

    ANY = "all"  # use them
    ONLY = "quiet"  # leave them out
    RESOLVED = "qsearch"  # play the captures first


class Equal(StrEnum):
    """The positions of which only the first is used."""

    POSITION = "position"  # the same position
    TERMS = "terms"  # all terms and the stage are the same: to the evaluation it is one position


@dataclass(frozen=True)
class Selection:
    """Which positions of a game are used: never in check, never right after a capture or promotion."""

    skip_first: int = 0  # plies of the opening to leave out
    skip_last: int = 0  # plies before the end to leave out
    skip_decided: int | None = None  # leave out the end of a game from where its score stays beyond this, centipawns
    quiet: Quiet = Quiet.ANY
    unique: Equal | None = None  # of which positions to use only the first; None to use all
    per_game: int | None = None  # positions to use of each game, drawn at random; None for all
    strays: bool = False  # whether to use after each also a position that a random move makes of it (learn.selecting)

    def __post_init__(self) -> None:
        for name, low in (("skip_first", 0), ("skip_last", 0), ("skip_decided", 0), ("per_game", 1)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), low)
        instance("quiet", self.quiet, Quiet, f"one of {', '.join(map(str, Quiet))}, as a Quiet")
        instance("unique", self.unique, (Equal, NoneType), f"one of {', '.join(map(str, Equal))}, as an Equal, or None")

    def describe(self, weights: np.ndarray) -> str:
        """The settings of the choice within one file, as text; `unique` applies to all files together."""
        text = f"skip-first {self.skip_first}, skip-last {self.skip_last}"
        if self.per_game is not None:
            text += f", per-game {self.per_game}"
        if self.strays:
            text += ", strays"
        if self.needs_weights:
            judge = hashlib.blake2b(weights.tobytes(), digest_size=8).hexdigest()
            text += f", skip-decided {self.skip_decided}, quiet {self.quiet}, weights {judge}"
        return text

    @property
    def needs_weights(self) -> bool:
        """Whether the choice depends on scores."""
        return self.skip_decided is not None or self.quiet is not Quiet.ANY


def no_gaps() -> np.ndarray:
    """The gaps of ratings of games of which none is known."""
    return np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class PositionBlock:
    """Positions chosen to learn from.

    `positions` POSITION[n]; `game` int32[n], rising; `to_end` int16[n], plies to the end of the game; `results`
    float32[games], White's result 0, 0.5 or 1 by game; `scores` int16[n], the score of a search for White, or NO_SCORE;
    `gaps` float32[games], White's rating above Black's by game, NaN if one is not known, or empty if none is.
    """

    positions: np.ndarray
    game: np.ndarray
    to_end: np.ndarray
    results: np.ndarray
    scores: np.ndarray
    gaps: np.ndarray = field(default_factory=no_gaps)

    def __len__(self) -> int:
        return len(self.positions)

    def chosen(self, which: np.ndarray) -> PositionBlock:
        """The positions for which `which`, bool[n], is true."""
        columns = (self.positions[which], self.game[which], self.to_end[which])
        return PositionBlock(*columns, self.results, self.scores[which], self.gaps)


@dataclass(frozen=True)
class Rows:
    """Positions to learn from, game by game.

    `features` int16[n, terms]; `stage` uint8[n], the pieces left, as in `eval.linear.phases`; `game` int32[n], rising;
    `to_end` int16[n], plies to the end of the game; `results` float32[games], White's result 0, 0.5 or 1 by game;
    `scores` int16[n], the score of a search for White in centipawns, or NO_SCORE; `gaps` as in `PositionBlock`.
    """

    features: np.ndarray
    stage: np.ndarray
    game: np.ndarray
    to_end: np.ndarray
    results: np.ndarray
    scores: np.ndarray
    gaps: np.ndarray = field(default_factory=no_gaps)

    def __len__(self) -> int:
        return len(self.features)

    def __sizeof__(self) -> int:
        """The bytes of the columns in memory: by them a cluster decides where rows stay, and when they go to disk."""
        return sum(column.nbytes for column in vars(self).values() if not is_in_file(column))

    def __reduce__(self) -> tuple[Any, ...]:
        """Rows whose features are in a file have them in a file where they arrive."""
        return _arrived, (is_in_file(self.features), *vars(self).values())

    def rows_of_games(self) -> np.ndarray:
        """How many rows each game has, int64[games]."""
        found = np.zeros(len(self.results), dtype=np.int64)
        for first in range(0, len(self.game), _AT_ONCE):  # `bincount` makes int64 of all it counts
            found += np.bincount(self.game[first : first + _AT_ONCE], minlength=len(found))
        return found

    def between(self, first: int, last: int, first_game: int, last_game: int) -> Rows:
        """Rows first..last, all rows of games first_game..last_game, with the games numbered from 0."""
        mine = slice(first, last)
        columns = (self.features[mine], self.stage[mine], self.game[mine] - np.int32(first_game), self.to_end[mine])
        return Rows(*columns, self.results[first_game:last_game], self.scores[mine], self.gaps[first_game:last_game])


def _arrived(in_file: bool, features: np.ndarray, *others: np.ndarray) -> Rows:
    if not in_file:
        return Rows(features, *others)
    return Rows(joined([features], True), *(column.copy() for column in others))  # all of them came in one buffer


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


@entry
def _choose(table, starts, moves, comment_scores, skips, positions, game, to_end, scores):
    """Fill in the chosen positions of the games of a table; returns their number.

    `comment_scores`, int16, are the scores in comments after each move; it may be empty. `skips`, int64, are the plies
    of each game to leave out at its beginning and at its end.
    """
    stack, found = np.zeros(2, dtype=POSITION), 0
    for number in range(len(table)):
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
            copy_record(positions[found], after)
            game[found], to_end[found] = number, left
            scores[found] = comment_scores[record.first + ply] if len(comment_scores) else NO_SCORE
            found += 1
    return found


@entry
def _rating_gaps(data, table, white, black, gaps):
    for number in range(len(table)):
        gaps[number] = _rating(data, table[number].tags, white) - _rating(data, table[number].tags, black)


@kernel
def _rating(data, tags, row):
    """The rating in a tag, float32: NaN if it is not a number above 0."""
    rating = 0
    for at in range(tags[row, 0], tags[row, 1]):
        if data[at] < ord("0") or data[at] > ord("9") or rating > 9999:
            return np.float32(np.nan)
        rating = 10 * rating + np.int64(data[at]) - ord("0")
    return np.float32(rating) if rating > 0 else np.float32(np.nan)


def rating_gaps(games: Games) -> np.ndarray:
    """White's rating above Black's in each game, by their tags, NaN if one is missing: float32[games]."""
    gaps = np.empty(len(games), dtype=np.float32)
    _rating_gaps(games.data, games.table, *(TAG_NAMES.index(name) for name in ("WhiteElo", "BlackElo")), gaps)
    return gaps


def block_of_games(games: Games, selection: Selection) -> PositionBlock:
    """The chosen positions of the finished games; games keep their numbers."""
    table = games.table
    results = np.where(table["result"] == UNFINISHED, 0.5, table["result"] / 2).astype(np.float32)
    skips = np.array([selection.skip_first, selection.skip_last])
    capacity = int(table["plies"].sum())
    positions = np.empty(capacity, dtype=POSITION)
    game, to_end = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int16)
    scores = np.empty(capacity, dtype=np.int16)
    found = _choose(table, games.starts, games.moves, games.scores, skips, positions, game, to_end, scores)
    gaps = rating_gaps(games)
    return PositionBlock(positions[:found], game[:found], to_end[:found], results, scores[:found], gaps)


def sampled(block: PositionBlock, per_game: int | None) -> PositionBlock:
    """The block with at most `per_game` positions of each game: a random choice, but the same each time."""
    return block if per_game is None else block.chosen(drawn(block.positions["key"], block.game, per_game))


def drawn(keys: np.ndarray, games: np.ndarray, per_game: int) -> np.ndarray:
    """A random choice of at most `per_game` positions per game, bool[n]; `keys`, uint64[n], are those of positions."""
    order = np.lexsort((keys * ODD, games))
    in_order = games[order]
    begins = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: len(games)])
    rank = np.arange(len(games)) - np.repeat(begins, np.diff(np.append(begins, len(games))))
    chosen = np.zeros(len(games), dtype=np.bool_)
    chosen[order[rank < per_game]] = True
    return chosen


def used_games(games: Games) -> int:
    """The number of complete games with a result."""
    table = games.table
    return int(np.count_nonzero((table["plies"] > 0) & (table["fault"] == NO_FAULT) & (table["result"] != UNFINISHED)))


def rows_of_block(block: PositionBlock, terms: TermSet = TERMS) -> Rows:
    """The rows of chosen positions, with the features of this set; raises EvaluationError as `counts_of` does."""
    if terms.version:
        counts_of(block.positions, terms)
    features = np.empty((len(block), len(terms)), dtype=np.int16)
    stages = np.empty(len(block), dtype=np.uint8)
    _write_rows(addresses_of(terms).side_counts, block.positions, features, stages)
    return Rows(features, stages, block.game, block.to_end, block.results, block.scores, block.gaps)


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
