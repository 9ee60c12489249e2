"""Passes over a sample: all that the fit needs to know of the rows at a point, block by block on several threads.

The prediction for a row is p = 1 / (1 + exp(-score / K)), score = features @ weights. A pass sums the loss of both
sets, and over the training set the products of the rows, each times its `slope`, and of their residuals:
the gradient and the Gauss-Newton matrix over any choice of weights are parts of them. For squared errors
slope = p (1 - p) and residual = p - y; for cross-entropy the slope is the root of that and the residual is p - y
over it, so that the same products give its gradient and its exact second derivative.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.compiled.jit import entry, kernel
from eval.linear.phases import by_stage
from eval.material import FULL_BOARD
from learn.positions import FEATURE_SCALE
from learn.sample import FitParameters, Loss, Sample
from learn.targets import ZERO_SCORE

BLOCK = 1 << 13  # rows whose products are summed at a time, in float32; the sums of blocks are float64
SHARES = 8  # parts of the work; fixed, so that the sums do not depend on how many threads there are
THREADS = min(SHARES, os.cpu_count() or 1)
ONE, LEAST_SLOPE = np.float32(1), np.float32(1e-6)
TRAIN, VALID = 0, 1  # the places of the two sets in pairs of sums


@dataclass(frozen=True)
class Sums:
    """What a pass found. Pairs are for the training and the validation set.

    `loss` and `sample_weight` are sums over rows, `rows` their numbers; `squares` sums the squared weights of training
    rows. `k_slope` and `k_curvature` are half the derivatives of the training loss by 1 / K. `products`,
    float64[columns + 1, columns + 1], is of the rows times slope with the residual as last column, or None.
    There is a column for each weight: with two phases the features times the share of the middlegame, then
    those times the share of the endgame.
    """

    loss: np.ndarray
    sample_weight: np.ndarray
    rows: np.ndarray
    squares: float
    k_slope: float
    k_curvature: float
    products: np.ndarray | None

    @property
    def train(self) -> float:
        """The mean training error."""
        return float(self.loss[TRAIN] / self.sample_weight[TRAIN])

    @property
    def valid(self) -> float:
        """The mean validation error."""
        return float(self.loss[VALID] / self.sample_weight[VALID])


@kernel
def score_of(row, scales):
    """The score of a row, int16[terms], in centipawns; `scales`, float32[terms], are those of its stage."""
    score = np.float32(0)
    for index in range(len(row)):
        score += np.float32(row[index]) * scales[index]
    return score


@kernel
def share_of(stage, phase, phases):
    """What of a feature is in the column of a phase, float32: all where there is one phase."""
    if phases == 1:
        return ONE
    middlegame = np.float32(stage) / np.float32(FULL_BOARD)
    return middlegame if phase == 0 else ONE - middlegame


@kernel
def weight_of(sample, row):
    """How much a row counts."""
    by_game = sample.sample_weight[sample.to_end[row]] * sample.game_weight[sample.game[row]]
    return by_game * sample.stage_weight[sample.stage[row]]


@kernel
def label_of(sample, row):
    """What should be predicted for a row, float32."""
    label = sample.labels[sample.game[row]]
    if len(sample.points):
        label += sample.points[np.int64(sample.scores[row]) + ZERO_SCORE]
    return label


@kernel
def loss_of(z, label, entropy):
    """The loss of predicting 1 / (1 + exp(-z)) where `label` came out."""
    if entropy:
        return max(z, np.float32(0)) - label * z + math.log1p(math.exp(-abs(z)))
    difference = ONE / (ONE + math.exp(-z)) - label
    return difference * difference


@kernel
def slope_and_residual(z, label, entropy):
    """The two numbers whose products make gradient and matrix; see the module."""
    predicted = ONE / (ONE + math.exp(-z))
    slope, residual = predicted * (ONE - predicted), predicted - label
    if entropy:
        slope = max(math.sqrt(slope), LEAST_SLOPE)
        residual /= slope
    return slope, residual


@entry
def _sum_block(sample, scales, inverse_k, entropy, first, last, block, sums):
    """Add rows first..last to `sums`, float64[9]; put those of the training set into `block`, if it has any rows.

    The order of `sums` is that of the fields of Sums. How many rows were put there.
    """
    terms, filled = scales.shape[1], 0
    phases = (block.shape[1] - 1) // terms
    for row in range(first, last):
        weight, label = weight_of(sample, row), label_of(sample, row)
        score = score_of(sample.features[row], scales[sample.stage[row]])
        side = 1 if sample.is_validation[row] else 0
        sums[side] += weight * loss_of(inverse_k * score, label, entropy)
        sums[2 + side] += weight
        sums[4 + side] += 1
        if side == 1 or weight == 0:
            continue
        slope, residual = slope_and_residual(inverse_k * score, label, entropy)
        sums[6] += weight * weight
        sums[7] += weight * slope * score * residual
        sums[8] += weight * (slope * score) ** 2
        if len(block):
            root = math.sqrt(weight)
            for phase in range(phases):
                factor = root * slope * share_of(sample.stage[row], phase, phases)
                for index in range(terms):
                    block[filled, phase * terms + index] = factor * np.float32(sample.features[row, index])
            block[filled, phases * terms] = root * residual
            filled += 1
    return filled


def _in_shares(size: int, stride: int, work: Callable[[range], Any]) -> list[Any]:
    """What `work` made of each share of the blocks of `size` rows; `stride` leaves only every so many blocks."""
    starts = range(0, size, BLOCK * stride)
    shares = [starts[number::SHARES] for number in range(min(SHARES, len(starts)))]
    if len(shares) == 1:
        return [work(shares[0])]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, shares))


def scales_of(weights: np.ndarray, terms: int) -> np.ndarray:
    """The weights at each stage for features as they are stored, float32[STAGES, terms]."""
    return np.asarray(by_stage(weights, terms) / FEATURE_SCALE, dtype=np.float32)


def gather(
    sample: Sample, parameters: FitParameters, loss: Loss = Loss.SQUARED, products: bool = True, stride: int = 1
) -> Sums:
    """One pass over the sample, or over every `stride`-th block of it."""
    scales, size = scales_of(parameters.weights, sample.terms), len(parameters.weights) + 1
    inverse_k, entropy = np.float32(parameters.inverse_k), loss is Loss.CROSS_ENTROPY

    def work(starts: range) -> tuple[np.ndarray, np.ndarray]:
        block = np.empty((BLOCK if products else 0, size), dtype=np.float32)
        sums, matrix = np.zeros(9), np.zeros((size, size))
        for start in starts:
            last = min(start + BLOCK, sample.size)
            filled = _sum_block(sample, scales, inverse_k, entropy, start, last, block, sums)
            matrix += block[:filled].T @ block[:filled]
        return sums, matrix

    shares = _in_shares(sample.size, stride, work)
    sums = np.sum([share[0] for share in shares], axis=0)
    squares, k_slope, k_curvature = (float(value) for value in sums[6:])
    matrix = np.sum([share[1] for share in shares], axis=0) if products else None
    return Sums(sums[0:2], sums[2:4], sums[4:6], squares, k_slope, k_curvature, matrix)


@entry
def _scores(sample, scales, first, last, scores):
    for row in range(first, last):
        scores[row] = score_of(sample.features[row], scales[sample.stage[row]])


def scores_of(sample: Sample, weights: np.ndarray) -> np.ndarray:
    """White's score in centipawns for each row, float32[n]."""
    scores = np.empty(sample.size, dtype=np.float32)
    scales = scales_of(weights, sample.terms)

    def work(starts: range) -> None:
        for start in starts:
            _scores(sample, scales, start, min(start + BLOCK, sample.size), scores)

    _in_shares(sample.size, 1, work)
    return scores


@entry
def _errors_by_game(sample, scales, inverse_k, entropy, errors):
    for row in range(len(sample.features)):
        if sample.is_validation[row]:
            game, z = sample.game[row], inverse_k * score_of(sample.features[row], scales[sample.stage[row]])
            weight = weight_of(sample, row)
            errors[game, 0] += weight * loss_of(z, label_of(sample, row), entropy)
            errors[game, 1] += weight


def errors_by_game(sample: Sample, parameters: FitParameters, loss: Loss) -> np.ndarray:
    """The summed loss and weight of each game's rows in the validation set, float64[games, 2]."""
    errors = np.zeros((len(sample.results), 2))
    _errors_by_game(
        sample,
        scales_of(parameters.weights, sample.terms),
        np.float32(parameters.inverse_k),
        loss is Loss.CROSS_ENTROPY,
        errors,
    )
    return errors


@entry
def _gradients_by_game(sample, scales, inverse_k, entropy, gradients):
    terms = scales.shape[1]
    phases = gradients.shape[1] // terms
    for row in range(len(sample.features)):
        if not sample.is_validation[row]:
            game, z = sample.game[row], inverse_k * score_of(sample.features[row], scales[sample.stage[row]])
            slope, residual = slope_and_residual(z, label_of(sample, row), entropy)
            factor = weight_of(sample, row) * slope * residual
            for phase in range(phases):
                part = factor * share_of(sample.stage[row], phase, phases)
                for index in range(terms):
                    gradients[game, phase * terms + index] += part * np.float32(sample.features[row, index])


def gradients_by_game(sample: Sample, parameters: FitParameters, loss: Loss) -> np.ndarray:
    """Each game's share of the sum of training rows times slope and residual, float64[games, weights]."""
    gradients = np.zeros((len(sample.results), len(parameters.weights)))
    scales = scales_of(parameters.weights, sample.terms)
    _gradients_by_game(sample, scales, np.float32(parameters.inverse_k), loss is Loss.CROSS_ENTROPY, gradients)
    return gradients


@entry
def _carrier_counts(sample, phases, last_game, carrier_counts):
    terms = sample.features.shape[1]
    for row in range(len(sample.features)):
        if not sample.is_validation[row]:
            phase = 1 if phases == 2 and 2 * sample.stage[row] < FULL_BOARD else 0
            for index in range(terms):
                if sample.features[row, index] != 0:
                    column = phase * terms + index
                    carrier_counts[column, 0] += 1
                    if last_game[column] != sample.game[row]:
                        last_game[column] = sample.game[row]
                        carrier_counts[column, 1] += 1


def carrier_counts(sample: Sample, phases: int = 1) -> np.ndarray:
    """In how many training positions, and in how many games, each term is not 0: int64[phases * terms, 2].

    A position counts for the phase that has the larger share in it.
    """
    counts = np.zeros((phases * sample.terms, 2), dtype=np.int64)
    _carrier_counts(sample, phases, np.full(len(counts), -1, dtype=np.int32), counts)
    return counts
