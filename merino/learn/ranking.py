"""How well an evaluation ranks moves: how near to the top it puts the one that a teacher finds best.

An evaluation helps a search by telling the moves of a position apart; how far it errs about the result of a game says
less of that. This figure foretells Elo better than that error does (docs/lab/learning.md), and takes a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.movegen import MAX_MOVES, make_each
from merino.core.board.position import POSITION
from merino.core.common.work import in_order
from merino.core.compiled.jit import entry
from merino.eval.evaluation import Evaluation
from merino.learn.rescoring import BATCH, Rescore

NODES = 1  # of the search after each move: of its first iteration, the answers, each to the end of its captures
ROOM = 64  # positions whose moves are written at once


@dataclass(frozen=True)
class Moves:
    """All legal moves of some positions: POSITION[n] after each, and int64[n], the number of the position before it.

    `best`, bool[n], marks the moves that the teacher finds best.
    """

    after: np.ndarray
    parent: np.ndarray
    best: np.ndarray

    @property
    def positions(self) -> int:
        """How many positions they are of."""
        return len(np.unique(self.parent))


@dataclass(frozen=True)
class RankFigure:
    """Over all positions: the mean of 1 / the rank of the teacher's move, and how often it is first."""

    reciprocal_rank: float
    first: float


def moves_of(positions: np.ndarray, teacher: Evaluation) -> Moves:
    """The moves of POSITION[m], and those that the teacher finds best."""
    room, parent = np.empty(ROOM * MAX_MOVES, dtype=POSITION), np.empty(ROOM * MAX_MOVES, dtype=np.int64)
    parts = [(room[:0], parent[:0])]
    for first in range(0, len(positions), ROOM):
        count = _write_moves(positions[first : first + ROOM], room, parent)
        parts.append((room[:count].copy(), first + parent[:count]))
    after, parent = (np.concatenate(column) for column in zip(*parts, strict=True))
    value = _for_mover(after, teacher)
    return Moves(after, parent, value == _largest(value, parent)[parent])


def rank_figure(moves: Moves, evaluation: Evaluation) -> RankFigure:
    """How the evaluation ranks them; of moves with equal scores half count as before."""
    value = _for_mover(moves.after, evaluation)
    chosen = _largest(np.where(moves.best, value, -np.inf), moves.parent)[moves.parent]
    ahead = (value > chosen) + 0.5 * ((value == chosen) & ~moves.best)
    seen = np.unique(moves.parent)
    rank = 1 + np.bincount(moves.parent, ahead)[seen]
    return RankFigure(float(np.mean(1 / rank)), float(np.mean(rank < 1.5)))


def _for_mover(after: np.ndarray, evaluation: Evaluation) -> np.ndarray:
    """The scores of moves for who makes them, float64[n], from a search after each."""
    search, stop = Rescore(NODES, evaluation), np.zeros(1, dtype=np.uint64)
    batches = (after[first : first + BATCH] for first in range(0, len(after), BATCH))
    scores = [np.zeros(0, dtype=np.int16), *in_order(lambda batch: search.scores_of(batch, stop), batches)]
    white = np.concatenate(scores)
    return np.where(after["side"] == WHITE, -white.astype(np.float64), white)


def _largest(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The largest value of each group, by its number."""
    found = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(found, group, values)
    return found


@entry
def _write_moves(positions, after, parent):
    """Fill in the position after each legal move, and the number of that before; returns how many there are."""
    moves, found = np.empty(MAX_MOVES, dtype=np.int32), 0
    for index in range(len(positions)):
        count = make_each(positions[index], moves, after, found)
        parent[found:count] = index
        found = count
    return found
