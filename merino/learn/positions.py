"""The positions of games to learn from: which are chosen, by place, by score and by chance, and strays.

Scores tell whether a capture changes the score, and whether the game is decided. The quiescence search is the engine's
own, with the weights that learning starts from.

Strays are positions that games do not reach but searches do, after a random legal move in a position of a game. Players
leave no piece to be taken, so their games hardly show what that costs; a search meets it at every second node. The
result of the game says nothing of a stray: only a teacher's score can.

To play on from games, or to rank moves, one position of each is drawn.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import NamedTuple

import numpy as np

from merino.core.board.bitboard import FULL, WHITE, ZERO
from merino.core.board.makemove import make
from merino.core.board.movegen import ALL, MAX_MOVES, generate, is_noisy
from merino.core.board.position import POSITION
from merino.core.common.errors import instance, whole_number
from merino.core.common.work import in_order
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import CACHE_LINE, call_at, copy_record, store_word
from merino.engine.search.iterative_deepening import NO_LIMIT
from merino.engine.search.state import INFINITE
from merino.engine.search.static_eval import rule50_scaling, static_evaluation
from merino.engine.search.transposition import TranspositionTable
from merino.engine.search.tree import make_move
from merino.engine.search.worker import Worker
from merino.eval.linear.compiled import scores_of
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, TermSet
from merino.formats.labelled import MAX_TO_END, NO_END, NO_GAME, Labelled, read_labelled
from merino.formats.pgn_games import NO_FAULT, Games, GamesText, games_of, play_games
from merino.formats.pgn_tokens import NO_SCORE, UNFINISHED
from merino.formats.sources import Source, count_lines, open_source
from merino.learn.strengths import Strengths, gaps_of, players_of

_local = threading.local()  # a search record belongs to one thread
ODD = np.uint64(0x9E3779B97F4A7C15)  # keys times this are in random order


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
    strays: bool = False  # whether to use after each also a position that a random move makes of it

    def __post_init__(self) -> None:
        for name, low in (("skip_first", 0), ("skip_last", 0), ("skip_decided", 0), ("per_game", 1)):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), low)
        instance("quiet", self.quiet, Quiet, f"one of {', '.join(map(str, Quiet))}, as a Quiet")
        instance("unique", self.unique, (Equal, NoneType), f"one of {', '.join(map(str, Equal))}, as an Equal, or None")

    def describe(self, weights: np.ndarray, terms: TermSet = TERMS) -> str:
        """The settings of the choice by weights of these terms within one file, as text; `unique` applies to all."""
        text = f"skip-first {self.skip_first}, skip-last {self.skip_last}"
        if self.per_game is not None:
            text += f", per-game {self.per_game}"
        if self.strays:
            text += ", strays"
        if self.needs_weights:
            judge = hashlib.blake2b(weights.tobytes() + terms.version.encode(), digest_size=8).hexdigest()
            text += f", skip-decided {self.skip_decided}, quiet {self.quiet}, halfmove clock ignored, weights {judge}"
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
    `gaps` float32[games], by game how much stronger White is (`learn.strengths`); NaN if not known, empty if none is.
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
            game[found], to_end[found] = number, min(left, MAX_TO_END)
            scores[found] = comment_scores[record.first + ply] if len(comment_scores) else NO_SCORE
            found += 1
    return found


def block_of_games(games: Games, selection: Selection, strengths: Strengths | None = None) -> PositionBlock:
    """The chosen positions of the finished games, which keep their numbers; `strengths` are of unrated players."""
    table = games.table
    results = np.where(table["result"] == UNFINISHED, 0.5, table["result"] / 2).astype(np.float32)
    skips = np.array([selection.skip_first, selection.skip_last])
    capacity = int(table["plies"].sum())
    positions = np.empty(capacity, dtype=POSITION)
    game, to_end = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int16)
    scores = np.empty(capacity, dtype=np.int16)
    found = _choose(table, games.starts, games.moves, games.scores, skips, positions, game, to_end, scores)
    gaps = gaps_of(players_of(games.data, table), results, strengths)
    gaps[table["result"] == UNFINISHED] = np.nan
    return PositionBlock(positions[:found], game[:found], to_end[:found], results, scores[:found], gaps)


def used_games(games: Games) -> int:
    """The number of complete games with a result."""
    table = games.table
    return int(np.count_nonzero((table["plies"] > 0) & (table["fault"] == NO_FAULT) & (table["result"] != UNFINISHED)))


def refined(block: PositionBlock, selection: Selection, weights: np.ndarray, terms: TermSet = TERMS) -> PositionBlock:
    """The block without the positions that a selection leaves out by their scores or by chance, with its strays."""
    if selection.skip_decided is not None:
        block = block.chosen(is_open(block, weights, selection.skip_decided, terms))
    is_drawn_first = selection.quiet is Quiet.RESOLVED  # to resolve only those that are used
    if is_drawn_first:
        block = sampled(block, selection.per_game)
    if selection.strays:
        block = with_strays(block)
    if selection.needs_weights:
        block = block.chosen(select_quiet(block.positions, weights, selection.quiet, terms))
    return block if is_drawn_first else sampled(block, selection.per_game)


def chosen_of(labelled: Labelled, selection: Selection) -> Labelled:
    """The labelled positions that a selection takes by place and chance; one whose place is unknown, too."""
    ply = 2 * (labelled.positions["fullmove"] - 1) + labelled.positions["side"]
    is_first = (labelled.positions["fullmove"] > 1) & (ply <= selection.skip_first)  # move 1 may also mean unknown
    labelled = labelled.only(~is_first & ((labelled.to_end == NO_END) | (labelled.to_end >= selection.skip_last)))
    if selection.per_game is not None:
        labelled = labelled.only(Candidates.of(labelled).drawn(selection.per_game))
    return labelled


class Candidates(NamedTuple):
    """Labelled positions to draw from: their keys and the names of their games, uint64[n], and results, float32[n].

    `usable`, bool[n], tells which of them can be used if they are drawn.
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


def is_open(block: PositionBlock, weights: np.ndarray, bound: int, terms: TermSet = TERMS) -> np.ndarray:
    """Which positions come before their game is decided, bool[n]: before its score stays beyond `bound` to the end."""
    scores = np.where(block.positions["side"] == WHITE, 1, -1) * scores_of(block.positions, weights, terms)
    kept = np.ones(len(block), dtype=np.bool_)
    _mark_open(block.game, scores, bound, kept)
    return kept


@entry
def _mark_open(game, scores, bound, kept):
    decided = 0  # the sign of the score at the end of the game, as long as it stays beyond the bound
    for index in range(len(game) - 1, -1, -1):
        if index + 1 == len(game) or game[index] != game[index + 1]:
            decided = 1 if scores[index] > 0 else -1
        if decided * scores[index] <= bound:
            decided = 0
        kept[index] = decided == 0


def with_strays(block: PositionBlock) -> PositionBlock:
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
    """Play a legal move in each position, drawn by its key; `kept` tells where that can be used."""
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


def one_of_each_game(paths: Sequence[Path], first: int, last: int, enough: int | None = None) -> np.ndarray:
    """A position of each game between these plies, POSITION[n], none in check, in an order by chance, always the same.

    Of labelled positions, which need not tell their ply, it takes any; one that names no game counts as a game. It
    reads no more once there are `enough`. Raises SourceError.
    """
    found, count = list[np.ndarray](), 0
    for path in paths:
        with open_source(path) as source:
            for positions in _drawn(source, first, last):
                found.append(positions)
                count += len(positions)
                if enough is not None and count >= enough:
                    break
    every = np.concatenate(found)
    return every[np.argsort(every["key"], kind="stable")]


def _drawn(source: Source, first: int, last: int) -> Iterator[np.ndarray]:
    if source.holds_positions():
        yield from _of_labelled(source)
    else:
        yield from in_order(lambda piece: _of_games(piece, first, last), games_of(source))


def _of_games(piece: GamesText, first: int, last: int) -> np.ndarray:
    games = play_games(piece.data, piece.table, 1, piece.lines_before)
    block = block_of_games(games, Selection(skip_first=first))
    ply = 2 * (block.positions["fullmove"].astype(np.int64) - 1) + block.positions["side"]
    return sampled(block.chosen(ply <= last), 1).positions


def _of_labelled(source: Source) -> Iterator[np.ndarray]:
    lines, seen = 0, set[int]()
    for text in source.lines():
        labelled = read_labelled(text, lines)
        chosen = drawn(labelled.positions["key"], labelled.games, 1) | (labelled.games == NO_GAME)
        chosen &= np.array([name not in seen for name in labelled.games.tolist()], dtype=np.bool_)
        seen.update(labelled.games[labelled.games != NO_GAME].tolist())
        yield labelled.positions[chosen]
        lines += count_lines(text)
