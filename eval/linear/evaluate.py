"""The forms of the evaluation, all made from the registry: score, row of features, counts of each side.

score = sum over terms of weight * feature, where feature = White's count - Black's, each times phase share and group
multiplier. A weight may have two values, interpolated by the stage of the game (`phases`). The draw rules come after
the sum; then the score is rounded once and turned to the side to move.
"""

import numpy as np
from numba import literal_unroll

import eval.linear.terms  # noqa: F401  (fills the registry)
from engine.board.bitboard import BLACK, WHITE
from engine.compiled.jit import entry, kernel
from eval.draws import final_score
from eval.linear.phases import by_stage, phases_of
from eval.linear.registry import TERMS
from eval.linear.view import view
from eval.material import middlegame_share, stage_of

COUNTS = tuple(term.count for term in TERMS)
MULTIPLIERS = tuple(term.group.multiplier for term in TERMS)
PHASES = tuple(int(term.phase) for term in TERMS)
NUMBER_OF_TERMS = len(TERMS)


@kernel
def phase_shares(side_view):
    """How much a term of each `Phase` counts for a side, by the pieces that its opponent has left."""
    middlegame = middlegame_share(side_view.enemy_units)
    return 1.0, middlegame, 1.0 - middlegame


@kernel
def weighted_sum(position, weights):
    """White's score before rules and rounding, float64; `weights` is float64[terms], those of the position's stage."""
    white, black = view(position, WHITE), view(position, BLACK)
    white_shares, black_shares = phase_shares(white), phase_shares(black)
    score, index = 0.0, 0
    for count in literal_unroll(COUNTS):
        phase = PHASES[index]
        feature = white_shares[phase] * count(white) - black_shares[phase] * count(black)
        score += weights[index] * (MULTIPLIERS[index] * feature)
        index += 1
    return score


@kernel
def evaluate(position, weights):
    """The score for the side to move in centipawns, int64; `weights` is that of `weighted_sum`."""
    return final_score(position, weighted_sum(position, weights))


@kernel
def counts_of_view(side_view, out):
    """Fill out, float64[terms], with one side's counts times phase share and group multiplier."""
    shares = phase_shares(side_view)
    index = 0
    for count in literal_unroll(COUNTS):
        out[index] = MULTIPLIERS[index] * shares[PHASES[index]] * count(side_view)
        index += 1


@kernel
def side_counts(position, out):
    """Fill out, float64[2, terms], with White's and Black's counts times phase share and group multiplier."""
    for colour in range(2):
        counts_of_view(view(position, colour), out[colour])


@entry
def _evaluate_all(positions, weights, scores):
    for index in range(len(positions)):
        scores[index] = evaluate(positions[index], weights[stage_of(positions[index])])


@entry
def _stage_all(positions, stages):
    for index in range(len(positions)):
        stages[index] = stage_of(positions[index])


@entry
def _count_all(positions, counts):
    for index in range(len(positions)):
        side_counts(positions[index], counts[index])


def scores_of(positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scores of POSITION[n] under weights of one phase or two, int64[n]: centipawns for the side to move."""
    scores = np.zeros(len(positions), dtype=np.int64)
    _evaluate_all(positions, by_stage(weights, NUMBER_OF_TERMS), scores)
    return scores


def counts_of(positions: np.ndarray) -> np.ndarray:
    """Both sides' counts of POSITION[n], float64[n, 2, terms], with phase share and group multiplier applied."""
    counts = np.zeros((len(positions), 2, NUMBER_OF_TERMS))
    _count_all(positions, counts)
    return counts


def features_of(positions: np.ndarray) -> np.ndarray:
    """Rows of features, float64[n, terms], White minus Black: row @ weights of one phase is White's score."""
    counts = counts_of(positions)
    return counts[:, 0] - counts[:, 1]


def stages_of(positions: np.ndarray) -> np.ndarray:
    """The stage of each of POSITION[n], int64[n]: the row of `by_stage` that it is scored with."""
    stages = np.zeros(len(positions), dtype=np.int64)
    _stage_all(positions, stages)
    return stages


def white_scores_of(positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """White's scores of POSITION[n] before draw rules and rounding, float64[n]."""
    features = features_of(positions)
    if phases_of(weights, NUMBER_OF_TERMS) == 1:
        return np.asarray(features @ weights)
    return np.asarray((features * by_stage(weights, NUMBER_OF_TERMS)[stages_of(positions)]).sum(axis=1))
