"""The sample that a fit sums over, and the passes that sum its loss, gradient and Gauss-Newton matrix.

Rows have weights and targets, and are split into training and validation set. The target of a position is the result of
its game, the score of a search or a net, or a blend of both. A score becomes an expected score by
1 / (1 + e^(-score / K)), with the K at which scores predict the results of the same games best. A game has one result,
but each of its positions has a score (J. Veness, D. Silver, A. Blair and W. Uther, "Bootstrapping from Game Tree
Search", 2009).

The sample is divided into shares of consecutive games. Sums are computed for each share and added up in the order of
the shares, whose cuts depend only on the number of rows of each game: sums are the same to the last digit on any number
of threads.

The prediction for a row is p = 1 / (1 + exp(-score / K)), with score = features @ weights, and its loss (p - y)^2. A
pass sums the loss of both sets, and over the training set the rows, each times its slope p (1 - p), times their
residuals p - y, and on request the products of these rows: the gradient and the Gauss-Newton matrix over any choice of
weights are parts of them. The sums are made block by block for each share.

The products take most of the time of a fit with many weights. A set of few terms has hardly a zero in its rows: their
columns are written out and multiplied as matrices. Where tables make a set large, nearly all of a row is 0, and what is
not is multiplied pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial, reduce
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from merino.core.common import work
from merino.core.compiled.jit import entry, kernel
from merino.engine.search.choice import expected_scores
from merino.eval.linear.phases import STAGES, by_stage, shares_of_phases
from merino.eval.material import FULL_BOARD
from merino.formats.pgn_tokens import MATE, NO_SCORE
from merino.learn import positions, request

BLOCK = 1 << 13  # rows whose products are summed at a time, in float32; the sums of blocks are float64
SHARE_ROWS = 2 * BLOCK  # rows of a share, approximately, up to MAX_SHARES shares
MAX_SHARES = 256
_FIRST_K, _STEPS = 200.0, 30
SCORES = 1 << 16  # of int16
ZERO_SCORE = SCORES // 2  # the index of score 0 among them
MIN_WEIGHT = float(np.finfo(np.float32).tiny)  # of the last position of a set: less is nothing in float32
AT_ONCE = 1 << 20  # rows that are counted at a time: `bincount` makes int64 of all it counts
VALIDATION_SHARE = 0.2  # of the games, or of the positions, that the validation set has
BUNDLES_OF_A_CORE = 4  # what a thread is handed at a time is that part of its shares: handing out costs time
ONE = np.float32(1)
TRAIN, VALID = 0, 1  # the places of the two sets in pairs of sums
STRIDE = 16  # a large sample is first fitted on every 16th block
LARGE = 4 * STRIDE * BLOCK  # rows from which that saves time
MANY_TERMS = 200  # from which pairs are faster: measured, 74 terms and 509 lie on either side
PAIRS = 3  # of phases: the first with itself, the first with the last, the last with itself
K_TOLERANCE = 1e-3  # relative change of K by a step that leaves less than a tenth of it
Found = TypeVar("Found")


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

    def each(self, work_on: Callable[[Sample, Span], Found]) -> Iterator[Found]:
        """The results of `work_on` for each share, in their order, as they come; uses several threads."""
        shares = list(spans(self.cuts))
        size = -(-len(shares) // (BUNDLES_OF_A_CORE * work.cores()))

        bundles = [shares[at : at + size] for at in range(0, len(shares), size)]
        return chain.from_iterable(work.in_order(lambda bundle: [work_on(self, span) for span in bundle], bundles))

    def targets(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The targets and the weights of some rows, float32[n] each."""
        labels = self.labels[self.game[rows]]
        if len(self.points):
            labels = labels + self.points[self.scores[rows].astype(np.int64) + ZERO_SCORE]
        return labels, self.sample_weight[self.to_end[rows]]

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


def split(rows: positions.Rows, settings: request.Settings, from_game: int = 0) -> Sample:
    """The sample of these settings, whose validation set has games from number `from_game` on.

    Raises LearnError if the rows are too few, weigh nothing, or all have one result where results count.
    """
    games = np.flatnonzero(rows_of_games(rows))
    is_validation, target = _holdout_of(rows, games, settings, from_game), settings.target
    if target.needs_results and len(np.unique(rows.results[games])) < 2:
        outcome = {0.0: "lost for White", 0.5: "drawn", 1.0: "won for White"}
        of = outcome.get(float(rows.results[games[0]]), "of one result")
        raise request.LearnError(f"all {len(games)} games are {of}, so there is nothing to learn from")
    return sample_of(rows, is_validation, settings.decay, target)


def rows_of_games(rows: positions.Rows) -> np.ndarray:
    """How many rows each game has, int64[games]."""
    found = np.zeros(len(rows.results), dtype=np.int64)
    for first in range(0, len(rows), AT_ONCE):
        found += np.bincount(rows.game[first : first + AT_ONCE], minlength=len(found))
    return found


def _holdout_of(rows: positions.Rows, games: np.ndarray, settings: request.Settings, from_game: int) -> np.ndarray:
    """The rows of the validation set, bool[n]: a fifth of the `games` that have rows, or of all positions."""
    if len(games) < 2:
        raise request.LearnError("one game is too few to learn from")
    numbers = np.random.Generator(np.random.PCG64(settings.seed))
    if not settings.split_by_position:
        chosen, games = np.zeros(len(rows.results), dtype=np.bool_), games[games >= from_game]
        chosen[numbers.permutation(games)[: max(1, round(VALIDATION_SHARE * len(games)))]] = True
        return np.asarray(chosen[rows.game])
    held = np.zeros(len(rows), dtype=np.bool_)
    for first in range(0, len(held), AT_ONCE):
        mine = held[first : first + AT_ONCE]
        mine[:] = numbers.random(len(mine)) < VALIDATION_SHARE
    if np.count_nonzero(held) in (0, len(held)):
        raise request.LearnError(f"{len(held)} positions are too few to keep some aside")
    return held


def sample_of(
    rows: positions.Rows,
    is_validation: np.ndarray,
    decay: float | None = None,
    target: request.Target = request.BY_RESULT,
) -> Sample:
    """The sample of all `rows`; a row n plies before the end of its game weighs e^(-n / decay), or 1.

    If the target needs scores, each row must have one. Raises LearnError if all rows of a set weigh nothing.
    """
    longest = int(rows.to_end.max(initial=0)) + 1
    sample_weight = np.ones(longest) if decay is None else np.exp(-np.arange(longest) / decay)
    for name, chosen in (("learned from", ~is_validation), ("kept for validation", is_validation)):
        nearest = int(rows.to_end[chosen].min(initial=longest))
        if nearest < longest and sample_weight[nearest] < MIN_WEIGHT:
            raise request.LearnError(
                f"with --decay {decay:g} the positions {name} weigh nothing: they are {nearest} plies or more before "
                "the end of their games; give a larger --decay, or off"
            )
    points, k, cuts = np.zeros(0, dtype=np.float32), 0.0, cut(rows_of_games(rows))
    if target.needs_scores:
        k = target.k or _scale_of_scores(rows, is_validation)
        points = points_by_score(target, k)
    return Sample(
        **vars(rows),
        sample_weight=sample_weight.astype(np.float32),
        is_validation=is_validation.astype(np.bool_, copy=False),
        labels=np.float32(target.share) * rows.results,
        points=points,
        score_k=k,
        cuts=cuts,
    )


def _scale_of_scores(rows: positions.Rows, is_validation: np.ndarray) -> float:
    """The K at which the scores of the training rows predict the results of their games best."""
    counts, points = np.zeros(SCORES), np.zeros(SCORES)
    for first in range(0, len(rows), AT_ONCE):
        train = first + np.flatnonzero(~is_validation[first : first + AT_ONCE])
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


def points_by_score(target: request.Target, k: float) -> np.ndarray:
    """The part of the target that each int16 score gives its position, float32[65536], indexed from score -32768."""
    expected = expected_scores(np.arange(SCORES) - ZERO_SCORE, k)
    expected[NO_SCORE + ZERO_SCORE] = np.nan  # no row without a score is fitted
    return ((1 - target.share) * expected).astype(np.float32)


class Detail(IntEnum):
    """What a pass sums up; each includes those before it."""

    LOSS = 0
    GRADIENT = 1
    PRODUCTS = 2


@dataclass(frozen=True)
class Sums:
    """The result of a pass. Pairs are for the training and the validation set.

    `loss` and `sample_weight` are sums over rows, `rows` are their numbers; `squares` sums the squared weights of
    training rows. `k_slope` and `k_curvature` are half the derivatives of the training loss by 1 / K. `gradient`,
    float64[columns], is X^T r, where X has the features of each training row times its slope, and r the residuals;
    `products`, float64[columns, columns], is X^T X; a pass that was not asked for them has zeros, and no products.
    There is a column for each weight: with two phases, features times the share of the middlegame, then features times
    the share of the endgame.
    """

    loss: np.ndarray
    sample_weight: np.ndarray
    rows: np.ndarray
    squares: float
    k_slope: float
    k_curvature: float
    gradient: np.ndarray
    products: np.ndarray

    def plus(self, other: Sums) -> Sums:
        """The sums over both parts; the products are added in place, as they may be large."""
        found = {name: value + getattr(other, name) for name, value in vars(self).items() if name != "products"}
        np.add(self.products, other.products, out=self.products)
        return Sums(**found, products=self.products)

    def errors(self, root_of_sum: bool = False) -> tuple[float, float]:
        """The mean error of both sets, or as GreKo 2015 ML had it: the root of the sum over the number of rows."""
        train, valid = self.loss / np.maximum(self.rows if root_of_sum else self.sample_weight, MIN_WEIGHT)
        return (math.sqrt(train), math.sqrt(valid)) if root_of_sum else (float(train), float(valid))

    @property
    def valid(self) -> float:
        """The mean validation error."""
        return self.errors()[VALID]


@kernel
def score_of(row, scales):
    """The score of a row, int16[terms], in centipawns; `scales`, float32[terms], are the weights at its stage."""
    score = np.float32(0)
    for index in range(len(row)):
        score += np.float32(row[index]) * scales[index]
    return score


@kernel
def share_of(stage, phase, phases):
    """The share of a feature that belongs to a phase, float32; 1 if there is only one phase."""
    if phases == 1:
        return ONE
    middlegame = np.float32(stage) / np.float32(FULL_BOARD)
    return middlegame if phase == 0 else ONE - middlegame


@kernel
def weight_of(sample, row):
    """The weight of a row, float32."""
    return sample.sample_weight[sample.to_end[row]]


@kernel
def label_of(sample, row):
    """The target of a row, float32."""
    label = sample.labels[sample.game[row]]
    if len(sample.points):
        label += sample.points[np.int64(sample.scores[row]) + ZERO_SCORE]
    return label


@kernel
def loss_of(z, label):
    """The loss of the prediction 1 / (1 + exp(-z)) for the target `label`."""
    difference = ONE / (ONE + math.exp(-z)) - label
    return difference * difference


@kernel
def slope_and_residual(z, label):
    """The factors of the products for gradient and matrix."""
    predicted = ONE / (ONE + math.exp(-z))
    slope, residual = predicted * (ONE - predicted), predicted - label
    return slope, residual


@entry
def _sum_block(sample, scales, inverse_k, first, last, factors, gradient, sums):
    """Add rows first..last to `sums`, float64[9], in the order of the fields of Sums, and to `gradient`, by stage.

    Each row times its factor is a row of X in `Sums`, before its phases: `factors`, float32[last - first], get these, 0
    outside the training set. `gradient`, float64[STAGES, terms], may have no rows.
    """
    terms = scales.shape[1]
    for row in range(first, last):
        weight, label, stage = weight_of(sample, row), label_of(sample, row), sample.stage[row]
        score = score_of(sample.features[row], scales[stage])
        side = 1 if sample.is_validation[row] else 0
        z = inverse_k * score
        sums[side] += weight * loss_of(z, label)
        sums[2 + side] += weight
        sums[4 + side] += 1
        factors[row - first] = 0
        if side == 1 or weight == 0:
            continue
        slope, residual = slope_and_residual(z, label)
        sums[6] += weight * weight
        sums[7] += weight * slope * score * residual
        sums[8] += weight * (slope * score) ** 2
        if len(gradient):
            pull = weight * slope * residual
            for index in range(terms):
                gradient[stage, index] += pull * np.float32(sample.features[row, index])
        factors[row - first] = math.sqrt(weight) * slope


def scales_of(weights: np.ndarray, terms: int) -> np.ndarray:
    """The weights at each stage, divided by FEATURE_SCALE: float32[STAGES, terms]."""
    return np.asarray(by_stage(weights, terms) / positions.FEATURE_SCALE, dtype=np.float32)


def products_of(features: np.ndarray, stages: np.ndarray, factors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """X^T X for some rows, float[columns, columns]; X has a column for each weight, as in `Sums`.

    `features` int16[n, terms]; `stages` uint8[n]; `factors` float32[n], what each row is multiplied by; `shares`
    float64[phases, STAGES], as `shares_of_phases` gives them.
    """
    multiply = products_of_pairs if features.shape[1] >= MANY_TERMS else products_of_columns
    return multiply(features, factors, shares[:, stages].astype(np.float32))


def products_of_columns(features: np.ndarray, factors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The products by columns, summed in float32; `shares`, float32[phases, n], are those of each row."""
    columns = np.hstack([(factors * share)[:, None] * features for share in shares])
    return np.asarray(columns.T @ columns)


def products_of_pairs(features: np.ndarray, factors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The same by pairs of what is not 0, summed in float64."""
    phases, terms = len(shares), features.shape[1]
    first, last = shares[0], shares[-1]
    sums = np.zeros((terms, terms, PAIRS))
    _add_pairs(features, factors, np.stack([first * first, first * last, last * last]), sums.ravel())
    whole = np.moveaxis(sums, 2, 0)
    whole = whole + np.tril(whole, -1).transpose(0, 2, 1)
    return np.block([[whole[row + column] for column in range(phases)] for row in range(phases)])


@entry
def _add_pairs(features, factors, pairs, sums):
    """Add each row's products of two features, the second not after the first, times its `pairs`, float32[PAIRS, n].

    `sums` is float64[terms * terms * PAIRS].
    """
    terms = features.shape[1]
    places, values = np.empty(terms, dtype=np.int64), np.empty(terms, dtype=np.float32)
    for row in range(len(features)):
        found = 0
        for index in range(terms if factors[row] != 0 else 0):
            if features[row, index] != 0:
                places[found], values[found] = index, factors[row] * np.float32(features[row, index])
                found += 1
        for first in range(found):
            line, value = terms * places[first], values[first]
            by_both, by_each, by_last = (value * pairs[0, row], value * pairs[1, row], value * pairs[2, row])
            for second in range(first + 1):
                at = PAIRS * (line + places[second])
                sums[at] += by_both * values[second]
                sums[at + 1] += by_each * values[second]
                sums[at + 2] += by_last * values[second]


def _sums_of_share(parameters: FitParameters, detail: Detail, stride: int, sample: Sample, span: Span) -> Sums:
    """A pass over a share."""
    scales, columns = scales_of(parameters.weights, sample.terms), len(parameters.weights)
    shares, factors = shares_of_phases(columns // sample.terms), np.empty(BLOCK, dtype=np.float32)
    gradient = np.zeros((STAGES if detail >= Detail.GRADIENT else 0, sample.terms))
    sums, products = np.zeros(9), np.zeros((columns, columns) if detail >= Detail.PRODUCTS else (0, 0))
    for number, start in enumerate(range(span.first, span.last, BLOCK), start=span.blocks_before):
        if number % stride == 0:
            last = min(start + BLOCK, span.last)
            _sum_block(sample, scales, np.float32(parameters.inverse_k), start, last, factors, gradient, sums)
            if detail >= Detail.PRODUCTS:
                mine, count = slice(start, last), last - start
                products += products_of(sample.features[mine], sample.stage[mine], factors[:count], shares)
    squares, k_slope, k_curvature = (float(value) for value in sums[6:])
    by_weight = (shares[:, : len(gradient)] @ gradient).ravel()
    return Sums(sums[0:2], sums[2:4], sums[4:6], squares, k_slope, k_curvature, by_weight, products)


def gather(sample: Sample, parameters: FitParameters, detail: Detail = Detail.LOSS, stride: int = 1) -> Sums:
    """A pass over the sample, or over every `stride`-th block of it."""
    return reduce(Sums.plus, sample.each(partial(_sums_of_share, parameters, detail, stride)))


def strides(sample: Sample) -> tuple[int, ...]:
    """The strides of the passes: a large sample is first fitted on every STRIDE-th block, then on all."""
    return (STRIDE, 1) if sample.size >= LARGE else (1,)


@entry
def _scores(sample, scales, first, last, scores):
    for row in range(first, last):
        scores[row] = score_of(sample.features[row], scales[sample.stage[row]])


def scores_of(sample: Sample, weights: np.ndarray) -> np.ndarray:
    """White's score in centipawns for each row, float32[n]."""
    scores, scales = np.empty(sample.size, dtype=np.float32), scales_of(weights, sample.terms)
    for _ in sample.each(lambda sample, span: _scores(sample, scales, span.first, span.last, scores)):
        pass
    return scores


@entry
def _errors_by_game(sample, scales, inverse_k, first, last, first_game, errors):
    for row in range(first, last):
        if sample.is_validation[row]:
            game = sample.game[row] - first_game
            score = score_of(sample.features[row], scales[sample.stage[row]])
            z = inverse_k * score
            weight = weight_of(sample, row)
            errors[game, 0] += weight * loss_of(z, label_of(sample, row))
            errors[game, 1] += weight


def _errors_of_share(parameters: FitParameters, sample: Sample, span: Span) -> np.ndarray:
    """The errors of the games of a share, float64[games, 2]."""
    errors = np.zeros((span.last_game - span.first_game, 2))
    scales, inverse_k = scales_of(parameters.weights, sample.terms), np.float32(parameters.inverse_k)
    _errors_by_game(sample, scales, inverse_k, span.first, span.last, span.first_game, errors)
    return errors


def errors_by_game(sample: Sample, parameters: FitParameters) -> np.ndarray:
    """The summed loss and the summed weight of the validation rows of each game, float64[games, 2]."""
    return np.concatenate(list(sample.each(partial(_errors_of_share, parameters))))


@entry
def _gradients_by_game(sample, scales, inverse_k, first, last, first_game, gradients):
    _, phases, terms = gradients.shape
    for row in range(first, last):
        if not sample.is_validation[row]:
            game = sample.game[row] - first_game
            score = score_of(sample.features[row], scales[sample.stage[row]])
            z = inverse_k * score
            slope, residual = slope_and_residual(z, label_of(sample, row))
            factor = weight_of(sample, row) * slope * residual
            for phase in range(phases):
                part = factor * share_of(sample.stage[row], phase, phases)
                for index in range(terms):
                    gradients[game, phase, index] += part * np.float32(sample.features[row, index])


def _gradients_of_share(parameters: FitParameters, sample: Sample, span: Span) -> np.ndarray:
    """The summed products of the gradients of the games of a share."""
    columns, games = len(parameters.weights), span.last_game - span.first_game
    gradients = np.zeros((games, columns // sample.terms, sample.terms))
    scales, inverse_k = scales_of(parameters.weights, sample.terms), np.float32(parameters.inverse_k)
    _gradients_by_game(sample, scales, inverse_k, span.first, span.last, span.first_game, gradients)
    by_game = gradients.reshape(games, columns)
    return np.asarray(by_game.T @ by_game)


def products_by_game(sample: Sample, parameters: FitParameters, directions: np.ndarray) -> np.ndarray:
    """G^T G, float64[d, d], where G has a row for each game: its part of the gradient, projected on `directions`.

    A game's part is the sum of its training rows times slope and residual; `directions` is float64[weights, d].
    """
    return np.asarray(directions.T @ sum(sample.each(partial(_gradients_of_share, parameters))) @ directions)


def _carriers_of_share(phases: int, sample: Sample, span: Span) -> np.ndarray:
    """The carrier counts of a share."""
    mine, counts = slice(span.first, span.last), []
    games, is_late = sample.game[mine], 2 * sample.stage[mine] < FULL_BOARD
    begins = np.flatnonzero(np.diff(games, prepend=games[:1] - 1))
    for phase in range(phases):
        chosen = ~sample.is_validation[mine] & (is_late == phase if phases == 2 else True)
        carried = (sample.features[mine] != 0) & chosen[:, None]
        in_game = np.logical_or.reduceat(carried, begins, axis=0)
        counts.append(np.column_stack([np.count_nonzero(carried, axis=0), np.count_nonzero(in_game, axis=0)]))
    return np.concatenate(counts)


def carrier_counts(sample: Sample, phases: int = 1) -> np.ndarray:
    """The number of training positions, and of games, in which each term is not 0: int64[phases * terms, 2].

    A position counts for the phase with the larger share.
    """
    return np.asarray(np.sum(list(sample.each(partial(_carriers_of_share, phases))), axis=0))


def fit_k(sample: Sample, weights: np.ndarray, start: float = 1 / 200) -> FitParameters:
    """These weights with the K that predicts the training set best, by Newton's method from 1 / K = `start`."""
    weights, inverse_k = np.asarray(weights, dtype=np.float64), start
    for stride in strides(sample):
        for _ in range(20):
            sums, before = gather(sample, FitParameters(weights, inverse_k), stride=stride), inverse_k
            change = -sums.k_slope / max(sums.k_curvature, 1e-30)
            bounded = float(np.clip(before + change, before / 3, before * 3))
            inverse_k = float(np.clip(bounded, 1e-5, 1.0))
            if abs(bounded - before) < K_TOLERANCE * before:
                break
    return FitParameters(weights, inverse_k)
