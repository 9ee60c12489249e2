"""A check in each run: rows times weights must give the scores of the engine's evaluation."""

from __future__ import annotations

import numpy as np

from merino.inner.core.board.fen import to_fen
from merino.inner.eval.draws import after_rules
from merino.inner.eval.linear.evaluate import scores_of
from merino.inner.eval.linear.phases import by_stage
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.learn.errors import LearnError
from merino.inner.learn.positions import FEATURE_SCALE, PositionBlock, Rows

SAMPLE = 100  # about how many positions of a file are checked


def check_rows(block: PositionBlock, rows: Rows, weights: np.ndarray, terms: TermSet = TERMS) -> None:
    """Compare rows times `weights`, those of a set, with the evaluation.

    Raises LearnError if they differ by more than rounding does.
    """
    step = max(1, len(block) // SAMPLE)
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
