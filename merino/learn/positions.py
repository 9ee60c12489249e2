"""The positions of games to learn from: which are chosen, by place, by score and by chance, and random-move positions.

The quiescence search shows whether a capture changes the score; it is the engine's own, with the weights that learning
starts from.

Random-move positions come after a random legal move in a position of a game: games do not reach them, but searches do.
Players leave no piece to be taken, so their games hardly show what that costs; a search meets it at every second node.
One of them has no result: only a teacher's score says what it is worth.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from merino.core.board.bitboard import FULL, ZERO
from merino.core.board.makemove import make
from merino.core.board.movegen import ALL, MAX_MOVES, generate, is_noisy
from merino.core.board.position import POSITION
from merino.core.common.options import Option, check
from merino.core.common.work import in_order
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import CACHE_LINE, call_at, copy_record, store_word
from merino.engine.search.iterative_deepening import NO_LIMIT
from merino.engine.search.state import INFINITE
from merino.engine.search.static_eval import rule50_scaling, static_evaluation
from merino.engine.search.transposition import TranspositionTable
from merino.engine.search.tree import make_move
from merino.engine.search.worker import Worker
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, TermSet
from merino.formats.labelled import MAX_TO_END, NO_GAME, Labelled, read_labelled
from merino.formats.pgn_games import NO_FAULT, Games, GamesText, games_of, play_games
from merino.formats.pgn_tokens import NO_SCORE, UNFINISHED
from merino.formats.sources import Source, count_lines, open_source

_local = threading.local()  # a search record belongs to one thread
LEARNED_FROM = "positions to learn from"  # title of a group of options
ODD = np.uint64(0x9E3779B97F4A7C15)  # keys times this are in random order


class Quiet(StrEnum):
    """The treatment of positions where a capture changes the score, as the values of `--positions` name it."""

    ANY = "all"  # use them
    ONLY = "quiet"  # leave them out
    RESOLVED = "qsearch"  # play the captures first


@dataclass(frozen=True)
class Selection:
    """Which positions of a game are used: never in check, never right after a capture or promotion."""

    positions: Annotated[
        Quiet,
        "all, quiet ones, or by qsearch all resolved to quiet ones",
        Option("WHICH", group=LEARNED_FROM),
    ] = Quiet.ANY
    per_game: Annotated[int | None, "positions of each game", Option("N", 1, none="all", group=LEARNED_FROM)] = None
    random_moves: bool = False  # whether to use after each also a position that a random move makes of it

    def __post_init__(self) -> None:
        check(self)

    def describe(self, weights: np.ndarray, terms: TermSet = TERMS) -> str:
        """The settings of the choice by weights of these terms within one file, as text, as in files of Merino 1.0."""
        text = "skip-first 0, skip-last 0"
        if self.per_game is not None:
            text += f", per-game {self.per_game}"
        if self.random_moves:
            text += ", strays"
        if self.positions is not Quiet.ANY:
            judge = hashlib.blake2b(weights.tobytes() + terms.version.encode(), digest_size=8).hexdigest()
            text += f", skip-decided None, quiet {self.positions}, halfmove clock ignored, weights {judge}"
        return text


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
        if record.result == UNFINISHED:
            continue
        copy_record(stack[0], starts[record.position])
        for ply in range(record.plies):
            before, after = stack[ply & 1], stack[(ply + 1) & 1]
            move = np.int64(moves[record.first + ply])
            make(after, before, move)
            left = record.plies - ply - 1
            if after.checkers != ZERO or is_noisy(before, move):
                continue
            copy_record(positions[found], after)
            game[found], to_end[found] = number, min(left, MAX_TO_END)
            scores[found] = comment_scores[record.first + ply] if len(comment_scores) else NO_SCORE
            found += 1
    return found


def block_of_games(games: Games) -> PositionBlock:
    """The usable positions of the finished games, which keep their numbers."""
    table = games.table
    results = np.where(table["result"] == UNFINISHED, 0.5, table["result"] / 2).astype(np.float32)
    capacity = int(table["plies"].sum())
    positions = np.empty(capacity, dtype=POSITION)
    game, to_end = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int16)
    scores = np.empty(capacity, dtype=np.int16)
    found = _choose(table, games.starts, games.moves, games.scores, positions, game, to_end, scores)
    return PositionBlock(positions[:found], game[:found], to_end[:found], results, scores[:found])


def used_games(games: Games) -> int:
    """The number of complete games with a result."""
    table = games.table
    return int(np.count_nonzero((table["plies"] > 0) & (table["fault"] == NO_FAULT) & (table["result"] != UNFINISHED)))


def refined(block: PositionBlock, selection: Selection, weights: np.ndarray, terms: TermSet = TERMS) -> PositionBlock:
    """The positions of a block that a selection takes by their scores and by chance, with random-move positions."""
    is_drawn_first = selection.positions is Quiet.RESOLVED  # to resolve only those that are used
    if is_drawn_first:
        block = sampled(block, selection.per_game)
    if selection.random_moves:
        block = with_random_moves(block)
    if selection.positions is not Quiet.ANY:
        block = block.chosen(select_quiet(block.positions, weights, selection.positions, terms))
    return block if is_drawn_first else sampled(block, selection.per_game)


def chosen_of(labelled: Labelled, selection: Selection) -> Labelled:
    """The labelled positions that a selection draws."""
    if selection.per_game is None:
        return labelled
    return labelled.only(Candidates.of(labelled).drawn(selection.per_game))


class Candidates(NamedTuple):
    """Labelled positions to draw from: their keys and the names of their games, uint64[n], and results, float32[n].

    `usable`, bool[n], marks those that can be used if they are drawn.
    """

    keys: np.ndarray
    names: np.ndarray
    results: np.ndarray
    usable: np.ndarray

    @classmethod
    def of(cls, labelled: Labelled) -> Candidates:
        """All of them, which can be used so far; as they are now."""
        usable = np.ones(len(labelled.positions), dtype=np.bool_)
        return cls(labelled.positions["key"].copy(), labelled.games, labelled.results, usable)

    def drawn(self, per_game: int) -> np.ndarray:
        """A choice as of the function `drawn`, bool[n], and all that name no game."""
        return drawn(self.keys, codes_of(self.names, self.results), per_game) | (self.names == NO_GAME)


def drawn_of_usable(parts: Sequence[Candidates], per_game: int) -> np.ndarray:
    """Which of the usable ones are drawn, bool[n], from all parts of a file as one.

    The parts may be what was drawn from larger ones: that loses none.
    """
    whole = Candidates(*map(np.concatenate, zip(*parts, strict=True)))
    return whole.drawn(per_game)[whole.usable]


def codes_of(names: np.ndarray, results: np.ndarray) -> np.ndarray:
    """By which labelled positions are of one game, uint64[n]: its name, uint64[n], and its result, float32[n]."""
    return np.asarray(names * ODD ^ results.astype(np.float32).view(np.uint32).astype(np.uint64))


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


def select_quiet(positions: np.ndarray, weights: np.ndarray, quiet: Quiet, terms: TermSet = TERMS) -> np.ndarray:
    """Which positions, POSITION[n], to use: bool[n]; Quiet.RESOLVED replaces each by the end of its quiescence line.

    A position is quiet if its static score equals that of quiescence search. None may be in check.
    """
    usable = np.ones(len(positions), dtype=np.bool_)
    if quiet is not Quiet.ANY:
        _select_quiet(_record(LinearEvaluation(weights, terms=terms)), positions, quiet is Quiet.RESOLVED, usable)
    return usable


def _record(evaluation: LinearEvaluation) -> np.ndarray:
    """The search record of this thread, with this evaluation."""
    if not hasattr(_local, "worker"):
        _local.table, _local.stop = TranspositionTable(megabytes=0), np.zeros(1, dtype=np.uint64)
        _local.worker = Worker(_local.table, _local.stop, evaluation)
        _local.worker.limit_nodes(NO_LIMIT)
    _local.worker.set_evaluation(evaluation)
    _local.worker.record[0]["buckets"] = 1
    return np.asarray(_local.worker.record)


@entry
def _select_quiet(records, positions, resolve, usable):
    s = records[0]
    for index in range(len(positions)):
        position = positions[index]
        copy_record(s.positions[0], position)
        s.positions[0].halfmove = 0  # the fifty-move rule makes scores smaller, and not those after a capture
        s.keys[0], s.past, s.nodes = position.key, 0, 0
        for word in range(CACHE_LINE // 8):  # an entry of an earlier search would cut the line short
            store_word(s.table_address + np.uint64(8 * word), ZERO)
        score = call_at(s.quiescence, s, 0, -INFINITE, INFINITE, 0)
        last = s.plies[0].pv_length if resolve else 0
        usable[index] = _worth(s, last) == score
        if last > 0:
            copy_record(position, s.positions[last])


@kernel
def _worth(s, last):
    """The static score after `last` moves of the line found, from the view of the first mover; keeps the positions."""
    for ply in range(last):
        make_move(s, ply, s.pv[0, ply])
    score = rule50_scaling(s.positions[last], static_evaluation(s, last))
    return score if last & 1 == 0 else -score


def with_random_moves(block: PositionBlock) -> PositionBlock:
    """The block with a stray after each position, without a score; none that is in check. The same each time."""
    order = np.repeat(np.arange(len(block)), 2)
    positions, scores = block.positions[order], block.scores[order]
    kept = np.ones(len(order), dtype=np.bool_)
    scores[1::2] = NO_SCORE
    _stray(positions[1::2], kept[1::2])
    doubled = replace(block, positions=positions, game=block.game[order], to_end=block.to_end[order], scores=scores)
    return doubled.chosen(kept)


@entry
def _stray(positions, kept):
    """Play a legal move in each position, drawn by its key; `kept` marks where that can be used."""
    moves, after = np.empty(MAX_MOVES, dtype=np.int32), np.zeros(1, dtype=POSITION)
    for index in range(len(positions)):
        position = positions[index]
        count = generate(position, moves, ALL, FULL)
        kept[index] = count > 0
        if count:
            move = moves[np.int64((position.key * ODD >> np.uint64(32)) % np.uint64(count))]
            make(after[0], position, np.int64(move))
            kept[index] = after[0].checkers == ZERO
            copy_record(position, after[0])


def one_of_each_game(paths: Sequence[Path], enough: int) -> np.ndarray:
    """A position of each game, POSITION[n], none in check, in random order, always the same.

    A labelled position that names no game counts as one. It reads no more once there are `enough`. Raises SourceError.
    """
    found, count = list[np.ndarray](), 0
    for path in paths:
        with open_source(path) as source:
            parts = _of_labelled(source) if source.holds_positions() else in_order(_of_games, games_of(source))
            for positions in parts:
                found.append(positions)
                count += len(positions)
                if count >= enough:
                    break
    every = np.concatenate(found)
    return every[np.argsort(every["key"], kind="stable")]


def _of_games(piece: GamesText) -> np.ndarray:
    return sampled(block_of_games(play_games(piece.data, piece.table, 1, piece.lines_before)), 1).positions


def _of_labelled(source: Source) -> Iterator[np.ndarray]:
    lines, seen = 0, set[int]()
    for text in source.lines():
        labelled = read_labelled(text, lines)
        chosen = drawn(labelled.positions["key"], labelled.games, 1) | (labelled.games == NO_GAME)
        chosen &= np.array([name not in seen for name in labelled.games.tolist()], dtype=np.bool_)
        seen.update(labelled.games[labelled.games != NO_GAME].tolist())
        yield labelled.positions[chosen]
        lines += count_lines(text)
