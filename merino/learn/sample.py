"""The sample that a fit sums over: rows with their weights and targets, split into training and validation set.

It is divided into shares of consecutive games. Sums are computed for each share and added up in the order of the
shares, and the cuts depend only on the number of rows of each game. So sums are the same to the last digit, whether
threads compute them or workers that each keep some shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from merino.core.common.array_files import let_go
from merino.core.common.work import cores, in_order
from merino.eval.linear.phases import STAGES
from merino.learn.errors import LearnError
from merino.learn.rows import Rows
from merino.learn.targets import SCORES, ZERO_SCORE, Target, points_by_score, scale_of_counts

BLOCK = 1 << 13  # rows whose products are summed at a time, in float32; the sums of blocks are float64
SHARE_ROWS = 2 * BLOCK  # rows of a share, approximately, up to MAX_SHARES shares
MAX_SHARES = 256  # a limit, so that the traffic of a step does not grow with the games
BY_RESULT = Target()
MAX_WEIGHT = 4.0
MIN_WEIGHT = float(np.finfo(np.float32).tiny)  # of the last position of a set: less is nothing in float32
NO_ROWS = 1 << 31
VALIDATION_SHARE = 0.2  # of the games, or of the positions, that the validation set has
_AT_ONCE = 1 << 20  # rows that random numbers are drawn for
BUNDLES_OF_A_CORE = 4  # what a thread is handed at a time is that part of its shares: handing out costs time
Found = TypeVar("Found")


class Span(NamedTuple):
    """A share: its rows and games, by number in the sample at hand, and what is before it in the whole sample."""

    first: int
    last: int
    first_game: int
    last_game: int
    rows_before: int
    blocks_before: int


def cut(rows_of_games: np.ndarray) -> np.ndarray:
    """The first row and game of each share, and the end: int64[shares + 1, 2]. `rows_of_games` is int64[games]."""
    ends = np.cumsum(rows_of_games, dtype=np.int64)
    rows = int(ends[-1]) if len(ends) else 0
    shares = min(MAX_SHARES, max(1, -(-rows // SHARE_ROWS)))
    wanted = rows * np.arange(1, shares, dtype=np.int64) // shares
    games = np.unique(np.append(np.searchsorted(ends, wanted) + 1, len(rows_of_games)))
    return np.vstack([np.zeros((1, 2), dtype=np.int64), np.column_stack([np.append(0, ends)[games], games])])


def blocks_of(cuts: np.ndarray) -> np.ndarray:
    """The number of blocks before each cut, int64[shares + 1]."""
    return np.append(0, np.cumsum(-(-np.diff(cuts[:, 0]) // BLOCK)))


def spans(cuts: np.ndarray, before: np.ndarray) -> Iterator[Span]:
    """The shares of a sample; `before`, int64[2], are the rows and blocks that precede it in a larger one."""
    blocks = blocks_of(cuts)
    for number in range(len(cuts) - 1):
        (first, first_game), (last, last_game) = (tuple(map(int, row)) for row in cuts[number : number + 2])
        rows_before, blocks_before = int(before[0]) + first, int(before[1] + blocks[number])
        yield Span(first, last, first_game, last_game, rows_before, blocks_before)


class Loss(StrEnum):
    """The loss of a prediction p for a target y."""

    SQUARED = "squared"  # (p - y) ** 2
    CROSS_ENTROPY = "cross-entropy"  # -(y ln p + (1 - y) ln (1 - p))


@dataclass(frozen=True)
class FitParameters:
    """The fitted numbers: weights in centipawns, of one phase or two (`eval.linear.phases`), and `inverse_k`, 1 / K.

    `per_point` is what a point of rating counts beside score / K; 0 if the players' strength does not count.
    """

    weights: np.ndarray
    inverse_k: float
    per_point: float = 0.0

    @property
    def k(self) -> float:
        """K in centipawns."""
        return 1 / self.inverse_k


class Sample(NamedTuple):
    """Rows as in `Rows`, with their weights and targets. A tuple, because compiled code takes tuples.

    The weight of a row is the product of three: `sample_weight`, float32, by the plies to the end of its game;
    `game_weight`, float32[games], which is 1, or how often a bootstrap sample has drawn the game; and `stage_weight`,
    float32[STAGES], by the number of pieces. `is_validation`, bool[n], is true for rows of the validation set.

    `gaps`, float32[games], is White's rating above Black's, NaN if not known.

    The target of a row is the sum of two parts: that of its game, `labels`, float32[games], and that of its score, in
    `points`, float32[65536], which is empty if scores do not count. `score_k` is the scale of scores in centipawns, or
    0.

    `cuts` divide it into shares, see `cut`. A sample may be part of a larger one: `before`, int64[2], are the
    numbers of rows and of blocks that precede it there.
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
    gaps: np.ndarray
    points: np.ndarray
    score_k: float
    cuts: np.ndarray
    before: np.ndarray

    @property
    def size(self) -> int:
        """The number of rows; `len` would count the fields."""
        return len(self.features)

    @property
    def terms(self) -> int:
        """The number of features of a row."""
        return int(self.features.shape[1])

    def each(self, work: Callable[[Sample, Span], Found]) -> Iterator[Found]:
        """The results of `work` for each share, in their order, as they come; uses several threads."""
        shares = list(spans(self.cuts, self.before))
        size = -(-len(shares) // (BUNDLES_OF_A_CORE * cores()))
        bundles = [shares[at : at + size] for at in range(0, len(shares), size)]
        return chain.from_iterable(in_order(lambda bundle: [self.one(work, span) for span in bundle], bundles))

    def one(self, work: Callable[[Sample, Span], Found], span: Span) -> Found:
        """What `work` makes of one share, whose features fill no memory afterwards where they are in a file."""
        try:
            return work(self, span)
        finally:
            let_go(self.features[span.first : span.last])

    def with_validation(self, games: np.ndarray) -> Sample:
        """The same with these games, by number, as the validation set."""
        chosen = np.zeros(self.number_of_games, dtype=np.bool_)
        chosen[games] = True
        return self._replace(is_validation=chosen[self.game])

    def with_game_weight(self, weight: np.ndarray) -> Sample:
        """The sample with other weights of games, float32[games]."""
        return self._replace(game_weight=weight)

    def games(self, is_validation: bool) -> np.ndarray:
        """The numbers of the games with a row in the validation set (`is_validation`) or training set, ascending."""
        seen = np.zeros(len(self.results), dtype=np.bool_)
        for span in spans(self.cuts, self.before):
            mine = slice(span.first, span.last)
            seen[self.game[mine][self.is_validation[mine] == is_validation]] = True
        return np.flatnonzero(seen)

    @property
    def validation_rows(self) -> int:
        """The number of rows of the validation set."""
        return int(np.count_nonzero(self.is_validation))

    @property
    def number_of_games(self) -> int:
        """The number of games, including those without a row."""
        return len(self.results)


@dataclass(frozen=True)
class Holdout:
    """The games for which `games`, bool[games], is true; if it is None, random rows by `seed`."""

    games: np.ndarray | None
    seed: int

    def rows(self, game: np.ndarray, rows_before: int = 0) -> np.ndarray:
        """Which of the rows with these games are held out, bool[n]; `rows_before` rows of the sample precede them."""
        if self.games is not None:
            return np.asarray(self.games[game])
        chance = np.random.PCG64(self.seed)
        chance.advance(rows_before)  # a random number each
        numbers, held = np.random.Generator(chance), np.zeros(len(game), dtype=np.bool_)
        for first in range(0, len(game), _AT_ONCE):
            mine = held[first : first + _AT_ONCE]
            mine[:] = numbers.random(len(mine)) < VALIDATION_SHARE
        return held

    def of(self, first_game: int, last_game: int) -> Holdout:
        """The same for games first_game..last_game, numbered from 0."""
        return self if self.games is None else Holdout(self.games[first_game:last_game], self.seed)


def choose_holdout(rows_of_games: np.ndarray, seed: int, by_position: bool, from_game: int = 0) -> Holdout:
    """Choose the validation set of games with `rows_of_games`, int64[games].

    Games before number `from_game` all go to the training set. Raises LearnError for a single game.
    """
    games = np.flatnonzero(rows_of_games)
    if len(games) < 2:
        raise LearnError("one game is too few to learn from")
    if by_position:
        return Holdout(None, seed)
    chosen = np.zeros(len(rows_of_games), dtype=np.bool_)
    rng = np.random.Generator(np.random.PCG64(seed))
    games = games[games >= from_game]
    chosen[rng.permutation(games)[: max(1, round(VALIDATION_SHARE * len(games)))]] = True
    return Holdout(chosen, seed)


def tell_results(rows_of_games: np.ndarray, results: np.ndarray) -> bool:
    """Whether the games with rows have more than one of the `results`, float32[games]."""
    return len(np.unique(results[rows_of_games > 0])) > 1


def check_results(rows_of_games: np.ndarray, results: np.ndarray, target: Target) -> None:
    """Raise LearnError if the target needs results, and those of the games with rows, float32[games], are all one."""
    if not target.needs_results or tell_results(rows_of_games, results):
        return
    results = results[rows_of_games > 0]
    outcome = {0.0: "lost for White", 0.5: "drawn", 1.0: "won for White"}.get(float(results[0]), "of one result")
    raise LearnError(f"all {len(results)} games are {outcome}: there is nothing to tell good from bad")


def check_holdout(rows: int, held: int) -> None:
    """Raise LearnError if a split by position left one of the sets empty."""
    if held in (0, rows):
        raise LearnError(f"{rows} positions are too few to keep some aside")


@dataclass(frozen=True)
class Totals:
    """Totals over the rows of a share, from which the weights of all rows follow.

    `longest` is the largest number of plies to the end, `least` the smallest one of training and of validation rows,
    NO_ROWS where there are none. `stages`, int64[STAGES], counts rows by stage. `counts` and `points`, float64[65536]
    or empty, are the number of training rows by score, and the sum of their results.
    """

    longest: int
    least: tuple[int, int]
    stages: np.ndarray
    counts: np.ndarray
    points: np.ndarray


@dataclass(frozen=True)
class Weighting:
    """The weights and targets of rows; the fields are those of `Sample`."""

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
    to_end, held = rows.to_end[mine], is_validation[mine]
    least = (_least(to_end[~held]), _least(to_end[held]))
    return Totals(int(to_end.max(initial=0)), least, stages, counts, points)


def _least(to_end: np.ndarray) -> int:
    return int(to_end.min()) if len(to_end) else NO_ROWS


def weighting_of(totals: list[Totals], decay: float | None, target: Target, even_stages: bool) -> Weighting:
    """The weighting from the totals of all shares; a row n plies before the end weighs e^(-n / decay), or 1.

    With `even_stages` rows of rare stages weigh more, at most MAX_WEIGHT times the usual. Raises LearnError if all rows
    of a set weigh nothing.
    """
    longest = max(each.longest for each in totals) + 1
    sample_weight = np.ones(longest) if decay is None else np.exp(-np.arange(longest) / decay)
    for place, name in enumerate(("learned from", "kept for validation")):
        nearest = min(each.least[place] for each in totals)
        if nearest != NO_ROWS and sample_weight[nearest] < MIN_WEIGHT:
            raise LearnError(
                f"with --decay {decay:g} the positions {name} weigh nothing: they are {nearest} plies or more before "
                "the end of their games; give a larger --decay, or off"
            )
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
    """The sample of all `rows` with this weighting."""
    return Sample(
        rows.features,
        rows.stage,
        rows.game,
        rows.to_end,
        rows.results,
        rows.scores,
        weighting.sample_weight,
        is_validation.astype(np.bool_, copy=False),
        np.ones(len(rows.results), dtype=np.float32),
        weighting.stage_weight,
        np.float32(weighting.share) * rows.results,
        rows.gaps if len(rows.gaps) else np.full(len(rows.results), np.nan, dtype=np.float32),
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
    """The sample of all `rows`, weighted by `weighting_of`; if the target needs scores, each row must have one."""
    cuts = cut(rows.rows_of_games())
    shares = spans(cuts, np.zeros(2, dtype=np.int64))
    totals = [totals_of(rows, is_validation, span, target.needs_scores) for span in shares]
    return weighted(rows, is_validation, weighting_of(totals, decay, target, even_stages), cuts)


def _evening(count: np.ndarray) -> np.ndarray:
    """The weights that make all stages count the same, float32[STAGES]; their mean over the rows is 1."""
    rows = int(count.sum())
    usual = rows / max(1, int(np.count_nonzero(count)))
    weight = np.minimum(usual / np.maximum(count, 1), MAX_WEIGHT)
    return np.asarray(weight * rows / max(1.0, float(weight @ count)), dtype=np.float32)
