"""Scores, rows of features and counts of each side, by any set of terms.

A weight may have two values, interpolated by the stage of the game (`phases`). The draw rules come after the sum; then
the score is rounded once and turned to the side to move.
"""

import numpy as np

import merino.eval.linear.terms  # noqa: F401  (fills the default set)
from merino.core.board.bitboard import ZERO
from merino.core.compiled.calls import call_counts, call_sum
from merino.core.compiled.jit import entry, kernel
from merino.eval.draws import final_score
from merino.eval.evaluation import EvaluationError
from merino.eval.linear.compiled import addresses_of
from merino.eval.linear.phases import by_stage, phases_of
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.material import stage_of

NUMBER_OF_TERMS = len(TERMS)  # of the default set


@kernel
def side_counts(address, position, out):
    """Fill out, float64[2, terms], with White's and Black's counts times phase share and group multiplier.

    `address` is that of the set's `Addresses.side_counts`.
    """
    for colour in range(2):
        call_counts(address, position, colour, ZERO, out[colour])


@entry
def _evaluate_all(address, positions, weights, scores):
    for index in range(len(positions)):
        position = positions[index]
        scores[index] = final_score(position, call_sum(address, position, weights[stage_of(position)]))


@entry
def _stage_all(positions, stages):
    for index in range(len(positions)):
        stages[index] = stage_of(positions[index])


@entry
def _count_all(address, positions, counts):
    for index in range(len(positions)):
        side_counts(address, positions[index], counts[index])


def scores_of(positions: np.ndarray, weights: np.ndarray, terms: TermSet = TERMS) -> np.ndarray:
    """Scores of POSITION[n] under weights of one phase or two, int64[n]: centipawns for the side to move."""
    scores = np.zeros(len(positions), dtype=np.int64)
    _evaluate_all(addresses_of(terms).weighted_sum, positions, by_stage(weights, len(terms)), scores)
    return scores


def counts_of(positions: np.ndarray, terms: TermSet = TERMS) -> np.ndarray:
    """Both sides' counts of POSITION[n], float64[n, 2, terms], with phase share and group multiplier applied.

    Raises EvaluationError for a table of the user's that counts in a cell which it does not have.
    """
    counts = np.zeros((len(positions), 2, len(terms)))
    _count_all(addresses_of(terms).side_counts, positions, counts)
    if terms.version and np.isnan(counts).any():
        table = terms[int(np.flatnonzero(np.isnan(counts).any(axis=(0, 1)))[0])].table
        raise EvaluationError(f"the table {table.name if table else '?'} counts in a cell that it does not have")
    return counts


def features_of(positions: np.ndarray, terms: TermSet = TERMS) -> np.ndarray:
    """Rows of features, float64[n, terms], White minus Black: row @ weights of one phase is White's score."""
    counts = counts_of(positions, terms)
    return np.asarray(counts[:, 0] - counts[:, 1])


def stages_of(positions: np.ndarray) -> np.ndarray:
    """The stage of each of POSITION[n], int64[n]: the row of `by_stage` that it is scored with."""
    stages = np.zeros(len(positions), dtype=np.int64)
    _stage_all(positions, stages)
    return stages


def white_scores_of(positions: np.ndarray, weights: np.ndarray, terms: TermSet = TERMS) -> np.ndarray:
    """White's scores of POSITION[n] before draw rules and rounding, float64[n]."""
    features = features_of(positions, terms)
    if phases_of(weights, len(terms)) == 1:
        return np.asarray(features @ weights)
    return np.asarray((features * by_stage(weights, len(terms))[stages_of(positions)]).sum(axis=1))
