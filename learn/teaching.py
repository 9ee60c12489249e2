"""Scores from a teacher: another evaluation, such as a net, whose static scores the positions get.

A batch costs microseconds a position, where a search costs milliseconds.
"""

from __future__ import annotations

import numpy as np

from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.families import load_net
from merino.inner.formats.pgn_scores import MAX_SCORE

DEFAULT_TEACHER = "gen12"  # a net that comes with Merino
NO_TEACHER = "off"


def taught(teacher: Evaluation, positions: np.ndarray) -> np.ndarray:
    """White's static scores of POSITION[n], int16[n], before the draw rules, as rows times weights are."""
    return np.clip(np.rint(teacher.white_scores(positions)), -MAX_SCORE, MAX_SCORE).astype(np.int16)


def find_teacher(name: str) -> Evaluation:
    """The net of this name or file; raises EvaluationError."""
    return load_net(name)
