"""Selects positions by their scores: whether a capture changes the score, whether the game is decided; adds strays.

The quiescence search is the engine's own, with the weights that learning starts from.

Strays are positions that games do not reach but searches do, after a random legal move in a position of a game. Players
leave no piece to be taken, so their games hardly show what that costs; a search meets it at every second node. The
result of the game says nothing of a stray: only a teacher's score can.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np

from merino.inner.core.board.bitboard import FULL, WHITE, ZERO
from merino.inner.core.board.makemove import make
from merino.inner.core.board.movegen import ALL, MAX_MOVES, generate
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.calls import call_at
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.core.compiled.memory import CACHE_LINE, copy_record, store_word
from merino.inner.engine.search.iterative_deepening import NO_LIMIT
from merino.inner.engine.search.state import INFINITE
from merino.inner.engine.search.static_eval import static_evaluation
from merino.inner.engine.search.transposition import TranspositionTable
from merino.inner.engine.search.tree import make_move
from merino.inner.engine.search.worker import Worker
from merino.inner.eval.linear.evaluate import scores_of
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.formats.pgn_scores import NO_SCORE
from merino.inner.learn.positions import ODD, PositionBlock, Quiet, Selection, sampled

_local = threading.local()  # a search record belongs to one thread


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
        s.keys[0], s.past, s.nodes = position.key, 0, 0
        for word in range(CACHE_LINE // 8):  # an entry of an earlier search would cut the line short
            store_word(s.table_address + np.uint64(8 * word), ZERO)
        score = call_at(s.quiescence, s, 0, -INFINITE, INFINITE, 0)
        last = s.plies[0].pv_length if resolve else 0
        usable[index] = _worth(s, last) == score
        copy_record(position, s.positions[last])


@kernel
def _worth(s, last):
    """The static score after `last` moves of the line found, from the view of the first mover; keeps the positions."""
    for ply in range(last):
        make_move(s, ply, s.pv[0, ply])
    score = static_evaluation(s, last)
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
