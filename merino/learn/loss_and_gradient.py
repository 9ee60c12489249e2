"""The loss of a fit, its gradient and its Gauss-Newton matrix: passes that sum them over the rows of a sample.

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
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

import numpy as np

from merino.core.compiled.jit import entry, kernel
from merino.eval.linear.phases import STAGES, by_stage, shares_of_phases
from merino.eval.material import FULL_BOARD
from merino.learn.rows import FEATURE_SCALE
from merino.learn.sample import BLOCK, ZERO_SCORE, FitParameters, Sample, Span

ONE = np.float32(1)
TRAIN, VALID = 0, 1  # the places of the two sets in pairs of sums
STRIDE = 16  # a large sample is first fitted on every 16th block
LARGE = 4 * STRIDE * BLOCK  # rows from which that saves time
MANY_TERMS = 200  # from which pairs are faster: measured, 74 terms and 509 lie on either side
PAIRS = 3  # of phases: the first with itself, the first with the last, the last with itself
K_TOLERANCE = 1e-3  # relative change of K by a step that leaves less than a tenth of it


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

    @property
    def train(self) -> float:
        """The mean training error."""
        return float(self.loss[TRAIN] / self.sample_weight[TRAIN])

    @property
    def valid(self) -> float:
        """The mean validation error."""
        return float(self.loss[VALID] / self.sample_weight[VALID])


@dataclass(frozen=True)
class Step:
    """Better parameters that a fit has found, and the sums there.

    A method that moves one weight at a time gives its index, `term`, and the number of its cycle, from 1.
    """

    parameters: FitParameters
    sums: Sums
    term: int | None = None
    cycle: int | None = None
    at: float = field(default_factory=time.perf_counter)


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
    return np.asarray(by_stage(weights, terms) / FEATURE_SCALE, dtype=np.float32)


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


def _total(parts: Iterable[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """The sums of the arrays of all parts, in the order of the parts, which come one at a time; at least one does."""
    rest = iter(parts)
    found = next(rest)
    for part in rest:
        for so_far, array in zip(found, part, strict=True):
            np.add(so_far, array, out=so_far)
    return found


def _sums_of_share(
    parameters: FitParameters, detail: Detail, stride: int, sample: Sample, span: Span
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A pass over a share: the sums of `_sum_block`, float64[9], the gradient, float64[columns], and the products.

    The products are float64[columns, columns].
    """
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
    return sums, (shares[:, : len(gradient)] @ gradient).ravel(), products


def gather(sample: Sample, parameters: FitParameters, detail: Detail = Detail.LOSS, stride: int = 1) -> Sums:
    """A pass over the sample, or over every `stride`-th block of it."""
    sums, gradient, products = _total(sample.each(partial(_sums_of_share, parameters, detail, stride)))
    squares, k_slope, k_curvature = (float(value) for value in sums[6:])
    return Sums(sums[0:2], sums[2:4], sums[4:6], squares, k_slope, k_curvature, gradient, products)


def strides(sample: Sample) -> tuple[int, ...]:
    """The strides of the passes: a large sample is first fitted on every STRIDE-th block, then on all."""
    return (STRIDE, 1) if sample.size >= LARGE else (1,)


@entry
def _scores(sample, scales, first, last, scores):
    for row in range(first, last):
        scores[row - first] = score_of(sample.features[row], scales[sample.stage[row]])


def scores_in(sample: Sample, span: Span, weights: np.ndarray) -> np.ndarray:
    """White's score in centipawns for each row of a share, float32[n]."""
    scores = np.empty(span.last - span.first, dtype=np.float32)
    _scores(sample, scales_of(weights, sample.terms), span.first, span.last, scores)
    return scores


def scores_of(sample: Sample, weights: np.ndarray) -> np.ndarray:
    """White's score in centipawns for each row, float32[n]."""
    return np.concatenate(list(sample.each(lambda sample, span: scores_in(sample, span, weights))))


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


def _gradients_of_share(parameters: FitParameters, sample: Sample, span: Span) -> tuple[np.ndarray]:
    """The summed products of the gradients of the games of a share."""
    columns, games = len(parameters.weights), span.last_game - span.first_game
    gradients = np.zeros((games, columns // sample.terms, sample.terms))
    scales, inverse_k = scales_of(parameters.weights, sample.terms), np.float32(parameters.inverse_k)
    _gradients_by_game(sample, scales, inverse_k, span.first, span.last, span.first_game, gradients)
    by_game = gradients.reshape(games, columns)
    return (by_game.T @ by_game,)


def products_by_game(sample: Sample, parameters: FitParameters, directions: np.ndarray) -> np.ndarray:
    """G^T G, float64[d, d], where G has a row for each game: its part of the gradient, projected on `directions`.

    A game's part is the sum of its training rows times slope and residual; `directions` is float64[weights, d].
    """
    (products,) = _total(sample.each(partial(_gradients_of_share, parameters)))
    return np.asarray(directions.T @ products @ directions)


@entry
def _carrier_counts(sample, phases, first, last, in_game, carrier_counts):
    terms = sample.features.shape[1]
    for row in range(first, last):
        if not sample.is_validation[row]:
            phase = 1 if phases == 2 and 2 * sample.stage[row] < FULL_BOARD else 0
            for index in range(terms):
                in_game[phase, index] += sample.features[row, index] != 0
        if row + 1 == last or sample.game[row + 1] != sample.game[row]:
            for phase in range(phases):
                for index in range(terms):
                    carrier_counts[phase * terms + index, 0] += in_game[phase, index]
                    carrier_counts[phase * terms + index, 1] += in_game[phase, index] > 0
            in_game[:] = 0


def _carriers_of_share(phases: int, sample: Sample, span: Span) -> np.ndarray:
    """The carrier counts of a share."""
    counts = np.zeros((phases * sample.terms, 2), dtype=np.int64)
    in_game = np.zeros((phases, sample.terms), dtype=np.int32)
    _carrier_counts(sample, phases, span.first, span.last, in_game, counts)
    return counts


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
