"""The rows the fit sums over, split into training and validation without a copy, and the parameters it sums at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

import numpy as np

from engine.common.work import in_order
from eval.linear.phases import STAGES
from learn.positions import Rows
from learn.shares import Span, cut, spans
from learn.targets import SCORES, ZERO_SCORE, Target, points_by_score, scale_of_counts

BY_RESULT = Target()
MOST_WEIGHT = 4.0
Found = TypeVar("Found")


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

    `cuts` are those of its shares, as in `learn.shares`; a sample may be a part of a larger one, of which `before`,
    int64[2], rows and blocks precede it.
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
    cuts: np.ndarray
    before: np.ndarray

    @property
    def size(self) -> int:
        """How many rows there are; `len` would count the fields."""
        return len(self.features)

    @property
    def terms(self) -> int:
        """How many numbers a row has."""
        return int(self.features.shape[1])

    def each(self, work: Callable[[Sample, Span], Found]) -> list[Found]:
        """What `work` makes of each share, in their order; by several threads."""
        shares = list(spans(self.cuts, self.before))
        if len(shares) == 1:
            return [work(self, shares[0])]
        return list(in_order(lambda span: work(self, span), shares))

    def with_validation(self, games: np.ndarray) -> Sample:
        """The same with these games, by number, as the validation set."""
        return self._replace(is_validation=np.isin(self.game, games))

    def with_game_weight(self, weight: np.ndarray) -> Sample:
        """The same with another weight of each game, float32[games]."""
        return self._replace(game_weight=weight)

    def games(self, is_validation: bool) -> np.ndarray:
        """The numbers of the games with a row in the validation set (`is_validation`) or the training set, rising."""
        seen = np.zeros(len(self.results), dtype=np.bool_)
        seen[self.game[self.is_validation == is_validation]] = True
        return np.flatnonzero(seen)

    @property
    def validation_rows(self) -> int:
        """How many rows the validation set has."""
        return int(np.count_nonzero(self.is_validation))

    @property
    def number_of_games(self) -> int:
        """How many games there are, those without a row included."""
        return len(self.results)


@dataclass(frozen=True)
class Totals:
    """What must be known of all rows before any can be weighted: the sums of those of the shares.

    `longest` is the largest number of plies to the end, `stages` int64[STAGES] counts rows by stage. `counts` and
    `points`, float64[65536] or empty, are the rows of the training set by score, and the sum of their results.
    """

    longest: int
    stages: np.ndarray
    counts: np.ndarray
    points: np.ndarray


@dataclass(frozen=True)
class Weighting:
    """What rows count for, and what should be predicted for them; the fields are those of `Sample`."""

    sample_weight: np.ndarray
    stage_weight: np.ndarray
    points: np.ndarray
    score_k: float
    share: float  # of the result in the target


def totals_of(rows: Rows, is_validation: np.ndarray, span: Span, with_scores: bool) -> Totals:
    """The totals of one share."""
    mine = slice(span.first, span.last)
    stages = np.bincount(rows.stage[mine], minlength=STAGES)
    counts: np.ndarray = np.zeros(0)
    points: np.ndarray = np.zeros(0)
    if with_scores:
        train = ~is_validation[mine]
        places = rows.scores[mine][train].astype(np.int64) + ZERO_SCORE
        counts = np.bincount(places, minlength=SCORES).astype(np.float64)
        points = np.bincount(places, rows.results[rows.game[mine][train]], minlength=SCORES)
    return Totals(int(rows.to_end[mine].max(initial=0)), stages, counts, points)


def weighting_of(totals: list[Totals], decay: float | None, target: Target, even_stages: bool) -> Weighting:
    """What follows from the totals of all shares; a row n plies before the end counts e^(-n / decay), or 1 without.

    With `even_stages` rows count for more where few have so many pieces left, at most MOST_WEIGHT times the usual.
    """
    longest = max(each.longest for each in totals) + 1
    sample_weight = np.ones(longest) if decay is None else np.exp(-np.arange(longest) / decay)
    points, k = np.zeros(0, dtype=np.float32), 0.0
    if target.needs_scores:
        counted, summed = (np.sum([getattr(each, name) for each in totals], axis=0) for name in ("counts", "points"))
        k = target.k or scale_of_counts(counted, summed)
        points = points_by_score(target, k)
    stages = np.sum([each.stages for each in totals], axis=0)
    even = _evening(stages) if even_stages else np.ones(STAGES, dtype=np.float32)
    return Weighting(sample_weight.astype(np.float32), even, points, k, target.share)


def weighted(
    rows: Rows, is_validation: np.ndarray, weighting: Weighting, cuts: np.ndarray, before: np.ndarray | None = None
) -> Sample:
    """A sample over all `rows`, weighted so."""
    return Sample(
        rows.features,
        rows.stage,
        rows.game,
        rows.to_end,
        rows.results,
        rows.scores,
        weighting.sample_weight,
        is_validation.astype(np.bool_),
        np.ones(len(rows.results), dtype=np.float32),
        weighting.stage_weight,
        np.float32(weighting.share) * rows.results,
        weighting.points,
        weighting.score_k,
        cuts,
        np.zeros(2, dtype=np.int64) if before is None else before,
    )


def sample_of(
    rows: Rows,
    is_validation: np.ndarray,
    decay: float | None = None,
    target: Target = BY_RESULT,
    even_stages: bool = False,
) -> Sample:
    """A sample over all `rows`, weighted as `weighting_of` has it; where the target needs scores, every row has one."""
    cuts = cut(rows.rows_of_games())
    shares = spans(cuts, np.zeros(2, dtype=np.int64))
    totals = [totals_of(rows, is_validation, span, target.needs_scores) for span in shares]
    return weighted(rows, is_validation, weighting_of(totals, decay, target, even_stages), cuts)


def _evening(count: np.ndarray) -> np.ndarray:
    """The weights by stage that make all stages count alike, float32[STAGES]; their mean over the rows is 1."""
    rows = int(count.sum())
    usual = rows / max(1, int(np.count_nonzero(count)))
    weight = np.minimum(usual / np.maximum(count, 1), MOST_WEIGHT)
    return np.asarray(weight * rows / max(1.0, float(weight @ count)), dtype=np.float32)
