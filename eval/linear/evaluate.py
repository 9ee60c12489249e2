"""The forms of the evaluation, all made from the registry: score, row of features, counts of each side.

score = sum over terms of weight * feature, where feature = White's count - Black's, each times phase share and group
multiplier. A weight may have two values, interpolated by the stage of the game (`phases`). The draw rules come after
the sum; then the score is rounded once and turned to the side to move.
"""

from typing import Any

import numpy as np

import merino.inner.eval.linear.terms  # noqa: F401  (fills the registry)
from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.eval.draws import final_score
from merino.inner.eval.linear.phases import by_stage, phases_of
from merino.inner.eval.linear.registry import TERMS
from merino.inner.eval.linear.view import view
from merino.inner.eval.material import middlegame_share, stage_of

NUMBER_OF_TERMS = len(TERMS)


def _for_each_term(arguments: str, line: str, start: str = "", end: str = "") -> Any:
    """A kernel with `line` for each term in order, in which {index}, {count}, {phase} and {multiplier} are the term's.

    numba compiles such lines in half the time of a loop over the functions that count, which it would unroll itself.
    """
    counts = {f"count_{index}": term.count for index, term in enumerate(TERMS)}
    lines = [
        line.format(index=index, count=count, phase=int(term.phase), multiplier=term.group.multiplier)
        for index, (count, term) in enumerate(zip(counts, TERMS, strict=True))
    ]
    source = "\n    ".join([f"def each_term({arguments}):", *filter(None, [start, *lines, end])])
    exec(compile(source, f"<the terms: {line}>", "exec"), counts)
    return kernel(counts["each_term"])


_add_terms = _for_each_term(
    "white, black, white_shares, black_shares, weights",
    "score += weights[{index}] * "
    "({multiplier} * (white_shares[{phase}] * {count}(white) - black_shares[{phase}] * {count}(black)))",
    start="score = 0.0",
    end="return score",
)
_fill_counts = _for_each_term(
    "side_view, shares, out",
    "out[{index}] = {multiplier} * shares[{phase}] * {count}(side_view)",
)


@kernel
def phase_shares(side_view):
    """How much a term of each `Phase` counts for a side, by the pieces that its opponent has left."""
    middlegame = middlegame_share(side_view.enemy_units)
    return 1.0, middlegame, 1.0 - middlegame


@kernel
def weighted_sum(position, weights):
    """White's score before rules and rounding, float64; `weights` is float64[terms], those of the position's stage."""
    white, black = view(position, WHITE), view(position, BLACK)
    return _add_terms(white, black, phase_shares(white), phase_shares(black), weights)


@kernel
def evaluate(position, weights):
    """The score for the side to move in centipawns, int64; `weights` is that of `weighted_sum`."""
    return final_score(position, weighted_sum(position, weights))


@kernel
def counts_of_view(side_view, out):
    """Fill out, float64[terms], with one side's counts times phase share and group multiplier."""
    _fill_counts(side_view, phase_shares(side_view), out)


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
