"""The account of an evaluation by the terms: the weights of the terms that come nearest to its scores.

Around a position they are fitted to its neighbours, which moves and small changes make of it, by ridge regression:
a weight departs from a starting value as far as the neighbours ask for it. How far that is, follows from what the
account leaves over, so that scores that the terms tell completely give back their weights. The starting values are
those of the account of the whole evaluation where there is one, else zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.inner.core.board.bitboard import WHITE, ZERO
from merino.inner.core.board.makemove import make_null
from merino.inner.core.board.movegen import MAX_MOVES, make_each
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.jit import entry
from merino.inner.core.compiled.memory import copy_record
from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.linear.evaluate import NUMBER_OF_TERMS, features_of, stages_of
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.material import FULL_BOARD
from merino.inner.study.shapley.coalitions import Coalitions

LEEWAY = 15.0  # centipawns that a weight may depart from its starting value without much ado
MAX_NEIGHBOURS = 4096  # by moves
_ROUNDS = 4  # of finding out how much the account leaves over
_MIN_RIDGE = 1e-6  # keeps weights that nothing tells at their starting values


@dataclass(frozen=True)
class Account:
    """Weights of two phases, float64[2 * terms], that come nearest to White's scores before the draw rules.

    `to_move` is for the side to move and `constant` for White, in centipawns; `r2` is the share of the variation of
    the scores that they tell, up to 1: of each position by what the account of all others says of it.
    """

    weights: np.ndarray
    to_move: float
    constant: float
    r2: float

    def evaluation(self, k: float, name: str) -> LinearEvaluation:
        """The terms under these weights."""
        return LinearEvaluation(self.weights, k, name)


def columns_of(positions: np.ndarray) -> np.ndarray:
    """What the numbers of an account are multiplied with in POSITION[n]: float64[n, 2 * terms + 2].

    The features of middlegame and endgame, then the side to move, 1 for White and -1 for Black, and 1.
    """
    features, share = features_of(positions), stages_of(positions)[:, None] / FULL_BOARD
    turn = np.where(positions["side"] == WHITE, 1.0, -1.0)[:, None]
    return np.concatenate([features * share, features * (1 - share), turn, np.ones_like(turn)], axis=1)


def account_of(
    columns: np.ndarray, scores: np.ndarray, start: np.ndarray | None = None, told_of: int | None = None
) -> Account:
    """The account of White's scores, float64[n], of positions with these columns; `start` is float64[2 * terms].

    Its R2 is that of the first `told_of` positions, by default of all.
    """
    prior = np.zeros(columns.shape[1])
    if start is not None:
        prior[: len(start)] = start
    squares, target = columns.T @ columns, columns.T @ (scores - columns @ prior)
    steady = np.ones(len(prior))
    steady[2 * NUMBER_OF_TERMS :] = 0.0  # the constants are free
    variance = 0.0
    for _ in range(_ROUNDS):
        tied = squares + np.diag(variance / LEEWAY**2 * steady + _MIN_RIDGE)
        numbers = prior + np.linalg.solve(tied, target)
        variance = float(np.mean((scores - columns @ numbers) ** 2))
    asked, known = columns[:told_of], scores[:told_of]
    found = _by_others(asked, known, asked @ numbers, tied)
    return Account(numbers[: 2 * NUMBER_OF_TERMS], float(numbers[-2]), float(numbers[-1]), told(known, found))


def _by_others(columns: np.ndarray, scores: np.ndarray, found: np.ndarray, tied: np.ndarray) -> np.ndarray:
    """What the account without a position says of it, for each: what it asks for itself, its leverage, is taken out."""
    leverage = np.einsum("ij,ji->i", columns, np.linalg.solve(tied, columns.T))
    return scores - (scores - found) / np.maximum(1 - leverage, _MIN_RIDGE)


def told(scores: np.ndarray, found: np.ndarray) -> float:
    """R2: the share of the variation of `scores` that `found` tells; 1 where there is none to tell."""
    variation = float(((scores - scores.mean()) ** 2).sum())
    return 1 - float(((scores - found) ** 2).sum()) / variation if variation else 1.0


def account_around(record: np.ndarray, evaluation: Evaluation, start: np.ndarray | None = None) -> Account:
    """The account around the legal POSITION[1]; its R2 is that of the neighbours by moves."""
    by_moves, by_removal = neighbours(record), without_pieces(record)
    columns, scores = (
        np.concatenate([part(by_moves), part(by_removal)]) for part in (columns_of, evaluation.white_scores)
    )
    return account_of(columns, scores, start, len(by_moves))


@entry
def _fill_neighbours(positions, moves, found):
    """Fill POSITION[n] with a legal position, those one ply and two plies on, and those one ply after a null move."""
    position = positions[0]
    copy_record(found[0], position)
    ahead = make_each(position, moves, found, 1)
    count = ahead
    if position.checkers == ZERO:
        make_null(found[count], position)
        count = make_each(found[count], moves, found, count + 1)
    for index in range(1, ahead):
        count = make_each(found[index], moves, found, count)
    return count


def neighbours(record: np.ndarray) -> np.ndarray:
    """The legal POSITION[1] itself, first, and what up to two plies make of it, for both sides: POSITION[n]."""
    found = np.empty(MAX_NEIGHBOURS, dtype=POSITION)
    return found[: _fill_neighbours(record, np.zeros(MAX_MOVES, dtype=np.int32), found)]


def without_pieces(record: np.ndarray) -> np.ndarray:
    """POSITION[1] without each single piece, and without each pair: POSITION[n]; see `Coalitions` for kings."""
    game = Coalitions(record, lambda positions: np.zeros(len(positions)))
    squares = game.sets_of(np.arange(len(game.squares)))
    first, second = np.triu_indices(len(squares))
    return game.positions(squares.sum(dtype=np.uint64) & ~(squares[first] | squares[second]))
