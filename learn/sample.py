"""The rows the fit sums over, split into training and validation without a copy, and the parameters it sums at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from eval.linear.phases import STAGES
from learn.positions import Rows
from learn.targets import Target, points_by_score, scale_of_scores

BY_RESULT = Target()
MOST_WEIGHT = 4.0


class Loss(StrEnum):
    """What a prediction p of a result y costs."""

    SQUARED = "squared"  # (p - y) ** 2
    CROSS_ENTROPY = "cross-entropy"  # -(y ln p + (1 - y) ln (1 - p))


@dataclass(frozen=True)
class FitParameters:
    """What is fitted: weights in centipawns, of one phase or two (`eval.linear.phases`), and `inverse_k`, 1 / K."""

    weights: np.ndarray
    inverse_k: float

    @property
    def k(self) -> float:
        """K in centipawns."""
        return 1 / self.inverse_k


class Sample(NamedTuple):
    """Rows as in `Rows`, and what each counts for. A tuple, so that compiled code can take it.

    `sample_weight`, float32, is what a row weighs by the plies to the end of its game; `is_validation`, bool[n], is
    true for rows of the validation set; `game_weight`, float32[games], is how often a game counts: 1, or how often a
    bootstrap sample has drawn it; `stage_weight`, float32[STAGES], is what a row weighs by how many pieces are left.

    The target of a row is the sum of two parts: that of its game, `labels`, float32[games], and that of its score, in
    `points`, float32[65536]; those are empty where scores do not count. `score_k` is their scale in centipawns, or 0.
    """

    features: np.ndarray
    stage: np.ndarray
    game: np.ndarray
    to_end: np.ndarray
    results: np.ndarray
    scores: np.ndarray
    sample_weight: np.ndarray
    is_validation: np.ndarray
    game_weight: np.ndarray
    stage_weight: np.ndarray
    labels: np.ndarray
    points: np.ndarray
    score_k: float

    @property
    def size(self) -> int:
        """How many rows there are; `len` would count the fields."""
        return len(self.features)

    @property
    def terms(self) -> int:
        """How many numbers a row has."""
        return int(self.features.shape[1])

    def games(self, is_validation: bool) -> np.ndarray:
        """The numbers of the games with a row in the validation set (`is_validation`) or the training set, rising."""
        seen = np.zeros(len(self.results), dtype=np.bool_)
        seen[self.game[self.is_validation == is_validation]] = True
        return np.flatnonzero(seen)


def sample_of(
    rows: Rows,
    is_validation: np.ndarray,
    decay: float | None = None,
    target: Target = BY_RESULT,
    even_stages: bool = False,
) -> Sample:
    """A sample over all `rows`; a row n plies before the end counts e^(-n / decay), or 1 if `decay` is None.

    With `even_stages` rows count for more where few have so many pieces left, at most MOST_WEIGHT times the usual.
    Where the target needs scores, every row must have one.
    """
    longest = int(rows.to_end.max(initial=0)) + 1
    sample_weight = np.ones(longest) if decay is None else np.exp(-np.arange(longest) / decay)
    points, k = np.zeros(0, dtype=np.float32), 0.0
    if target.needs_scores:
        k = target.k or scale_of_scores(rows.scores[~is_validation], rows.labels()[~is_validation])
        points = points_by_score(target, k)
    return Sample(
        rows.features,
        rows.stage,
        rows.game,
        rows.to_end,
        rows.results,
        rows.scores,
        sample_weight.astype(np.float32),
        is_validation.astype(np.bool_),
        np.ones(len(rows.results), dtype=np.float32),
        _evening(rows.stage) if even_stages else np.ones(STAGES, dtype=np.float32),
        np.float32(target.share) * rows.results,
        points,
        k,
    )


def _evening(stage: np.ndarray) -> np.ndarray:
    """The weights by stage that make all stages count alike, float32[STAGES]; their mean over the rows is 1."""
    count = np.bincount(stage, minlength=STAGES)
    usual = len(stage) / max(1, int(np.count_nonzero(count)))
    weight = np.minimum(usual / np.maximum(count, 1), MOST_WEIGHT)
    return np.asarray(weight * len(stage) / max(1.0, float(weight @ count)), dtype=np.float32)
