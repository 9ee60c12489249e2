"""The sample that a fit sums over: rows with their weights and targets, split into training and validation set.

The target of a position is the result of its game, the score of a search or a net, or a blend of both. A score becomes
an expected score by 1 / (1 + e^(-score / K)), with the K at which scores predict the results of the same games best. A
game has one result, but each of its positions has a score (J. Veness, D. Silver, A. Blair and W. Uther, "Bootstrapping
from Game Tree Search", 2009).

The sample is divided into shares of consecutive games. Sums are computed for each share and added up in the order of
the shares, whose cuts depend only on the number of rows of each game: sums are the same to the last digit on any number
of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from merino.core.common.sealed import let_go
from merino.core.common.work import cores, in_order
from merino.engine.search.choice import expected_scores
from merino.formats.pgn_tokens import MATE, NO_SCORE
from merino.learn.errors import LearnError
from merino.learn.rows import Rows

BLOCK = 1 << 13  # rows whose products are summed at a time, in float32; the sums of blocks are float64
SHARE_ROWS = 2 * BLOCK  # rows of a share, approximately, up to MAX_SHARES shares
MAX_SHARES = 256
RESULT, SEARCH, BLEND = "result", "search", "blend"
_FIRST_K, _STEPS = 200.0, 30
SCORES = 1 << 16  # of int16
ZERO_SCORE = SCORES // 2  # the index of score 0 among them
MIN_WEIGHT = float(np.finfo(np.float32).tiny)  # of the last position of a set: less is nothing in float32
VALIDATION_SHARE = 0.2  # of the games, or of the positions, that the validation set has
_AT_ONCE = 1 << 20  # rows that random numbers are drawn for
BUNDLES_OF_A_CORE = 4  # what a thread is handed at a time is that part of its shares: handing out costs time
Found = TypeVar("Found")


@dataclass(frozen=True)
class Target:
    """The blend to learn: `share` of the result, and 1 - `share` of the search score as White's expected score.

    `k` is the scale of search scores in centipawns; None for the one that fits the results. `scorer` is whose scores
    they are, in words.
    """

    share: float = 1.0
    k: float | None = None
    scorer: str = "a search"

    @classmethod
    def read(cls, text: str) -> Target:
        """The target with this `name`; raises ValueError if there is none."""
        kind, equals, share = text.partition("=")
        if text in (RESULT, SEARCH):
            return cls(1.0 if text == RESULT else 0.0)
        if kind != BLEND or not equals:
            raise ValueError(f"'{text[:40]}' is not one of {RESULT}, {SEARCH} and {BLEND}=X")
        try:
            number = float(share)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            raise ValueError(f"{BLEND}=X needs an X from 0 to 1, not '{share[:40]}'")
        return cls(number)

    @property
    def needs_scores(self) -> bool:
        """Whether positions need the score of a search."""
        return self.share < 1

    @property
    def needs_results(self) -> bool:
        """Whether the results of games count: by themselves, or for the scale of the scores."""
        return self.share > 0 or self.k is None

    @property
    def name(self) -> str:
        """The value of the option --target: result, search or blend=X."""
        return {0.0: SEARCH, 1.0: RESULT}.get(self.share, f"{BLEND}={self.share:g}")

    def describe(self) -> str:
        """The target in words."""
        if not self.needs_scores:
            return "the result of the game"
        if self.share == 0:
            return f"the score of {self.scorer}"
        return f"{self.share:g} of the result and {1 - self.share:g} of the score of {self.scorer}"


BY_RESULT = Target()


class Span(NamedTuple):
    """A share: its rows and games, by number in the sample, and the number of blocks before it."""

    first: int
    last: int
    first_game: int
    last_game: int
    blocks_before: int


def cut(rows_of_games: np.ndarray) -> np.ndarray:
    """The first row and game of each share, and the end: int64[shares + 1, 2]. `rows_of_games` is int64[games]."""
    ends = np.cumsum(rows_of_games, dtype=np.int64)
    rows = int(ends[-1]) if len(ends) else 0
    shares = min(MAX_SHARES, max(1, -(-rows // SHARE_ROWS)))
    wanted = rows * np.arange(1, shares, dtype=np.int64) // shares
    games = np.unique(np.append(np.searchsorted(ends, wanted) + 1, len(rows_of_games)))
    return np.vstack([np.zeros((1, 2), dtype=np.int64), np.column_stack([np.append(0, ends)[games], games])])


def spans(cuts: np.ndarray) -> Iterator[Span]:
    """The shares of a sample."""
    blocks = np.append(0, np.cumsum(-(-np.diff(cuts[:, 0]) // BLOCK)))
    for number in range(len(cuts) - 1):
        (first, first_game), (last, last_game) = (tuple(map(int, row)) for row in cuts[number : number + 2])
        yield Span(first, last, first_game, last_game, int(blocks[number]))


@dataclass(frozen=True)
class FitParameters:
    """The fitted numbers: weights in centipawns, of one phase or two (`eval.linear.phases`), and `inverse_k`, 1 / K."""

    weights: np.ndarray
    inverse_k: float

    @property
    def k(self) -> float:
        """K in centipawns."""
        return 1 / self.inverse_k


class Sample(NamedTuple):
    """Rows as in `Rows`, with their weights and targets. A tuple, because compiled code takes tuples.

    `sample_weight`, float32, is the weight of a row by the plies to the end of its game; `is_validation`, bool[n], is
    true for rows of the validation set. The target of a row is the sum of two parts: that of its game, `labels`,
    float32[games], and that of its score, in `points`, float32[65536], which is empty if scores do not count. `score_k`
    is the scale of scores in centipawns, or 0. `cuts` divide the rows into shares, see `cut`.
    """

    features: np.ndarray
    stage: np.ndarray
    game: np.ndarray
    to_end: np.ndarray
    results: np.ndarray
    scores: np.ndarray
    sample_weight: np.ndarray
    is_validation: np.ndarray
    labels: np.ndarray
    points: np.ndarray
    score_k: float
    cuts: np.ndarray

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
        shares = list(spans(self.cuts))
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
        chosen = np.zeros(len(self.results), dtype=np.bool_)
        chosen[games] = True
        return self._replace(is_validation=chosen[self.game])

    def games(self, is_validation: bool) -> np.ndarray:
        """The numbers of the games with a row in the validation set (`is_validation`) or training set, ascending."""
        seen = np.zeros(len(self.results), dtype=np.bool_)
        for span in spans(self.cuts):
            mine = slice(span.first, span.last)
            seen[self.game[mine][self.is_validation[mine] == is_validation]] = True
        return np.flatnonzero(seen)

    @property
    def validation_rows(self) -> int:
        """The number of rows of the validation set."""
        return int(np.count_nonzero(self.is_validation))


def holdout_of(rows: Rows, seed: int, by_position: bool = False, from_game: int = 0) -> np.ndarray:
    """The rows of the validation set, bool[n]: a fifth of the games from number `from_game` on, or of all positions.

    Raises LearnError if there is too little to keep some aside.
    """
    games = np.flatnonzero(rows.rows_of_games())
    if len(games) < 2:
        raise LearnError("one game is too few to learn from")
    numbers = np.random.Generator(np.random.PCG64(seed))
    if not by_position:
        chosen, games = np.zeros(len(rows.results), dtype=np.bool_), games[games >= from_game]
        chosen[numbers.permutation(games)[: max(1, round(VALIDATION_SHARE * len(games)))]] = True
        return np.asarray(chosen[rows.game])
    held = np.zeros(len(rows), dtype=np.bool_)
    for first in range(0, len(held), _AT_ONCE):
        mine = held[first : first + _AT_ONCE]
        mine[:] = numbers.random(len(mine)) < VALIDATION_SHARE
    if np.count_nonzero(held) in (0, len(held)):
        raise LearnError(f"{len(held)} positions are too few to keep some aside")
    return held


def check_results(rows: Rows, target: Target) -> None:
    """Raise LearnError if the target needs results, and those of the games with rows are all the same."""
    results = rows.results[rows.rows_of_games() > 0]
    if target.needs_results and len(np.unique(results)) < 2:
        outcome = {0.0: "lost for White", 0.5: "drawn", 1.0: "won for White"}.get(float(results[0]), "of one result")
        raise LearnError(f"all {len(results)} games are {outcome}: there is nothing to tell good from bad")


def sample_of(rows: Rows, is_validation: np.ndarray, decay: float | None = None, target: Target = BY_RESULT) -> Sample:
    """The sample of all `rows`; a row n plies before the end of its game weighs e^(-n / decay), or 1.

    If the target needs scores, each row must have one. Raises LearnError if all rows of a set weigh nothing.
    """
    longest = int(rows.to_end.max(initial=0)) + 1
    sample_weight = np.ones(longest) if decay is None else np.exp(-np.arange(longest) / decay)
    for name, chosen in (("learned from", ~is_validation), ("kept for validation", is_validation)):
        nearest = int(rows.to_end[chosen].min(initial=longest))
        if nearest < longest and sample_weight[nearest] < MIN_WEIGHT:
            raise LearnError(
                f"with --decay {decay:g} the positions {name} weigh nothing: they are {nearest} plies or more before "
                "the end of their games; give a larger --decay, or off"
            )
    points, k = np.zeros(0, dtype=np.float32), 0.0
    if target.needs_scores:
        k = target.k or _scale_of_scores(rows, is_validation)
        points = points_by_score(target, k)
    return Sample(
        rows.features,
        rows.stage,
        rows.game,
        rows.to_end,
        rows.results,
        rows.scores,
        sample_weight.astype(np.float32),
        is_validation.astype(np.bool_, copy=False),
        np.float32(target.share) * rows.results,
        points,
        k,
        cut(rows.rows_of_games()),
    )


def _scale_of_scores(rows: Rows, is_validation: np.ndarray) -> float:
    """The K at which the scores of the training rows predict the results of their games best."""
    counts, points = np.zeros(SCORES), np.zeros(SCORES)
    for first in range(0, len(rows), _AT_ONCE):  # `bincount` makes int64 of all it counts
        train = first + np.flatnonzero(~is_validation[first : first + _AT_ONCE])
        places = rows.scores[train].astype(np.int64) + ZERO_SCORE
        counts += np.bincount(places, minlength=SCORES)
        points += np.bincount(places, rows.results[rows.game[train]], minlength=SCORES)
    return scale_of_counts(counts, points)


def scale_of_counts(count: np.ndarray, points: np.ndarray) -> float:
    """The K in centipawns at which scores predict results with the least squared error.

    `count` is the number of positions with each score, `points` the sum of their results: both [65536] by score.
    """
    seen = np.flatnonzero(count)
    value, count, mean = (seen - ZERO_SCORE).astype(np.float64), count[seen], points[seen] / count[seen]
    value = np.clip(value, -MATE / 8, MATE / 8)  # beyond this all scores mean a won game
    inverse_k = 1 / _FIRST_K
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-inverse_k * value))
        slope = predicted * (1 - predicted) * value
        change = (count * slope * (predicted - mean)).sum() / max((count * slope**2).sum(), 1e-12)
        inverse_k = float(np.clip(inverse_k - change, inverse_k / 2, inverse_k * 2))
        if abs(change) < 1e-6 * inverse_k:
            break
    return 1 / float(np.clip(inverse_k, 1e-4, 1.0))


def points_by_score(target: Target, k: float) -> np.ndarray:
    """The part of the target that each int16 score gives its position, float32[65536], indexed from score -32768."""
    expected = expected_scores(np.arange(SCORES) - ZERO_SCORE, k)
    expected[NO_SCORE + ZERO_SCORE] = np.nan  # no row without a score is fitted
    return ((1 - target.share) * expected).astype(np.float32)
