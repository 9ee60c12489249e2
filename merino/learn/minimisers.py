"""The methods that minimise the objective of a fit: damped Gauss-Newton, and two that move the weights in other ways.

Gauss-Newton, the default, solves the problem as if scores were linear in what moves, again and again. K is fitted
together with the weights if material is frozen, because then nothing else can scale the scores.

Coordinate descent by whole centipawns is the method of GreKo 2015 ML. It raises each weight in turn by one centipawn as
long as the objective falls; if the first step up does not help, it lowers the weight in the same way. After each cycle
through the weights it fits K again, if K is free. It ends after a cycle that did not lower the validation error.
Source: text and timestamps of Vladimir Medvedev's article on GreKo 2015 ML. The score of each row is kept, so a trial
reads only the rows in which the weight's term is not 0.

Adam is gradient descent with a learning rate for each weight, on all rows at once (D. Kingma and J. Ba, "Adam", 2015).
It needs some hundred passes where Gauss-Newton needs four, and checks that one by a different method. Weights move in
units of their size, 1 / K in units of its start. The learning rate falls to zero along a cosine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from merino.core.common.work import in_order
from merino.core.compiled.jit import entry, kernel
from merino.eval.linear.phases import phases_of
from merino.learn.errors import LearnError
from merino.learn.loss_and_gradient import (
    Detail,
    Samples,
    Sums,
    gather,
    label_of,
    loss_of,
    scores_of,
    share_of,
    strides,
    weight_of,
)
from merino.learn.problem import FitProblem, sizes
from merino.learn.rows import FEATURE_SCALE
from merino.learn.sample import FitParameters, Loss, Sample
from merino.learn.scale import fit_k

TOLERANCE = 1e-7  # the fit has converged when a step would improve the objective by a smaller part of it
MAX_STEPS = 30
ROUGH_TOLERANCE = 1e-5  # the same for the part of a large sample that only gives a start
SURPRISE = 0.1  # by this part a fall may miss what was expected of it before the matrix is computed anew
STEP = 1.0  # centipawns, of coordinate descent
SHARES = 8  # parts of the work; fixed, so that the sums do not depend on how many threads there are
ADAM_RATE = 0.05
EPOCHS, EPOCHS_AFTER_APPROACH = 600, 150
FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-12


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


class FitCallback:
    """Callbacks of a fit; these do nothing."""

    def stepped(self, step: Step) -> None:
        """Called when the fit has found better parameters."""

    def trying(self, term: int, parameters: FitParameters) -> None:
        """Called before the fit tries to change the weight with this index."""

    def progressed(self, what: str, done: float) -> None:
        """Called with the name of some work and the share of it that is done, 0 to 1."""


def gauss_newton(sample: Samples, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The parameters that minimise the objective within bounds exactly.

    A large sample is first fitted on a part, without calls of `callback`; this saves most of the time.
    """
    *parts, whole = strides(sample)
    for stride in parts:
        start = approach(sample, start, problem, FitCallback(), stride, ROUGH_TOLERANCE)
    return approach(sample, start, problem, callback, whole)


def approach(
    sample: Samples,
    parameters: FitParameters,
    problem: FitProblem,
    callback: FitCallback,
    stride: int = 1,
    tolerance: float = TOLERANCE,
) -> FitParameters:
    """Gauss-Newton on every `stride`-th block, starting at `parameters`, until a step would gain next to nothing.

    The matrix takes most of the time of a pass. It is kept as long as steps keep what it promises.
    """
    damping = 1e-6
    sums = gather(sample, parameters, problem.loss, Detail.PRODUCTS, stride)
    best, matrix = problem.objective(sums, parameters, stride), problem.matrix(sums, parameters, stride)
    callback.stepped(Step(parameters, sums))
    for _ in range(MAX_STEPS):
        gradient = problem.gradient(sums, parameters, stride)
        candidate, expected = _step(parameters, problem, gradient, matrix, damping)
        if expected < tolerance * best:  # and such a step needs no check
            return candidate if expected > 0 else parameters
        found = gather(sample, candidate, problem.loss, Detail.GRADIENT, stride)
        fall = best - problem.objective(found, candidate, stride)
        if fall <= 0:
            damping = max(damping, 1e-6) * 16
            continue
        if abs(fall - expected) > SURPRISE * expected:
            found = gather(sample, candidate, problem.loss, Detail.PRODUCTS, stride)
            matrix = problem.matrix(found, candidate, stride)
        best, parameters, sums, damping = best - fall, candidate, found, damping / 4
        callback.stepped(Step(parameters, sums))
    return parameters


def _step(
    parameters: FitParameters, problem: FitProblem, gradient: np.ndarray, matrix: np.ndarray, damping: float
) -> tuple[FitParameters, float]:
    """The damped step, and how far the objective should fall by it.

    Weights that would leave their bounds are fixed there, and the rest is solved again.
    """
    values = np.append(parameters.weights[problem.free], parameters.inverse_k)
    low = np.append(problem.bounds[problem.free, 0], parameters.inverse_k / 3)
    high = np.append(problem.bounds[problem.free, 1], parameters.inverse_k * 3)
    damped = matrix + damping * np.diag(np.diag(matrix)) + 1e-12 * np.eye(len(values))  # a term may be in no row
    target = values.copy()
    moving = np.ones(len(values), dtype=bool)
    moving[-1] = problem.fit_k
    for _ in range(len(values)):
        clamped = target - values
        clamped[moving] = 0
        if moving.any():
            right = -(gradient + damped @ clamped)[moving]
            target[moving] = values[moving] + np.linalg.solve(damped[np.ix_(moving, moving)], right)
        outside = moving & ((target < low) | (target > high))
        if not outside.any():
            break
        target[outside] = np.clip(target[outside], low[outside], high[outside])
        moving &= ~outside
    weights = parameters.weights.copy()
    weights[problem.free] = target[:-1]
    step = target - values
    return replace(parameters, weights=weights, inverse_k=float(target[-1])), -float(
        2 * gradient @ step + step @ matrix @ step
    )


class _Picked(NamedTuple):
    """Columns of the rows in which a term is not 0, float32; `sides`, uint8, is 1 for the validation set."""

    counts: np.ndarray
    scores: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    sides: np.ndarray


@kernel
def _count_of(sample, row, column, phases):
    """The feature of a row that belongs to a weight, float32: with two phases, the share of the weight's phase."""
    terms = sample.features.shape[1]
    count = np.float32(sample.features[row, column % terms]) / np.float32(FEATURE_SCALE)
    return count * share_of(sample.stage[row], column // terms, phases)


@entry
def _pick(sample, scores, column, phases, span, picked):
    """Copy the rows of `span`, int64 (first, last), with the term to `picked` from `first` on; their number."""
    found = span[0]
    for row in range(span[0], span[1]):
        count = _count_of(sample, row, column, phases)
        if count != 0:
            picked.counts[found] = count
            picked.scores[found] = scores[row]
            picked.labels[found] = label_of(sample, row)
            picked.weights[found] = weight_of(sample, row)
            picked.sides[found] = 1 if sample.is_validation[row] else 0
            found += 1
    return found - span[0]


@entry
def _losses(picked, first, last, change, inverse_k, entropy, losses):
    """Add the losses of the picked rows first..last to `losses`, float64[2] by set, with the weight changed."""
    for place in range(first, last):
        z = inverse_k * (picked.scores[place] + change * picked.counts[place])
        losses[picked.sides[place]] += picked.weights[place] * loss_of(z, picked.labels[place], entropy)


@entry
def _shift(sample, column, phases, span, change, scores):
    """Apply a change of a weight to the scores of the rows of `span`."""
    for row in range(span[0], span[1]):
        scores[row] += change * _count_of(sample, row, column, phases)


class _RowScores:
    """The scores of all rows, and copies of the rows in which the term of the present weight is not 0."""

    def __init__(self, sample: Sample, loss: Loss, phases: int) -> None:
        self.scores = np.empty(0, dtype=np.float32)
        self._sample, self._entropy, self._phases = sample, loss is Loss.CROSS_ENTROPY, phases
        cuts = np.linspace(0, sample.size, SHARES + 1).astype(np.int64)
        self._spans = [cuts[share : share + 2] for share in range(SHARES)]
        kinds = (np.float32, np.float32, np.float32, np.float32, np.uint8)
        self._picked = _Picked(*(np.empty(sample.size, dtype=kind) for kind in kinds))
        self._found: list[int] = []
        self._term = 0

    def pick(self, term: int) -> None:
        """Select a weight by its index."""
        self._term = term

        def work(span: np.ndarray) -> int:
            return int(_pick(self._sample, self.scores, term, self._phases, span, self._picked))

        self._found = list(in_order(work, self._spans))

    def losses(self, inverse_k: float, change: float) -> np.ndarray:
        """The summed loss of the selected rows by set, float64[2], with the weight changed by `change`."""

        def work(share: int) -> np.ndarray:
            losses, first = np.zeros(2), self._spans[share][0]
            last = first + self._found[share]
            _losses(self._picked, first, last, np.float32(change), np.float32(inverse_k), self._entropy, losses)
            return losses

        return np.sum(list(in_order(work, range(SHARES))), axis=0)

    def shift(self, change: float) -> None:
        """Apply a change of the selected weight to all scores."""

        def work(span: np.ndarray) -> None:
            _shift(self._sample, self._term, self._phases, span, np.float32(change), self.scores)

        if change:
            list(in_order(work, self._spans))


def descent(sample: Samples, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The point where no step of a single weight helps, or the validation error has stopped falling."""
    if not isinstance(sample, Sample):
        raise LearnError("descent keeps the score of every row, and needs the rows in this process")
    parameters, sums = start, gather(sample, start, problem.loss)
    row_scores = _RowScores(sample, problem.loss, phases_of(start.weights, sample.terms))
    for cycle in range(1, 1000):
        valid = sums.valid
        row_scores.scores = scores_of(sample, parameters.weights)
        for number, term in enumerate(problem.free):
            callback.progressed(f"Cycle {cycle}", number / len(problem.free))
            callback.trying(int(term), parameters)
            parameters, sums = _move(row_scores, parameters, sums, problem, int(term), cycle, callback)
        if problem.fit_k:
            parameters = fit_k(sample, parameters.weights, problem.loss, parameters.inverse_k)
            sums = gather(sample, parameters, problem.loss)
            callback.stepped(Step(parameters, sums, cycle=cycle))
        if sums.valid >= valid:
            break
    return parameters


def _move(
    row_scores: _RowScores,
    parameters: FitParameters,
    sums: Sums,
    problem: FitProblem,
    term: int,
    cycle: int,
    callback: FitCallback,
) -> tuple[FitParameters, Sums]:
    """Step one weight up or down while that helps: the parameters and sums afterwards."""
    row_scores.pick(term)
    low, high = problem.bounds[term]
    rest = sums.loss - row_scores.losses(parameters.inverse_k, 0.0)  # of the other rows
    best, first = problem.objective(sums, parameters), parameters.weights[term]
    for step in (STEP, -STEP):
        while low <= parameters.weights[term] + step <= high:
            weights = parameters.weights.copy()
            weights[term] += step
            candidate = replace(parameters, weights=weights)
            loss = rest + row_scores.losses(parameters.inverse_k, weights[term] - first)
            value = problem.objective(replace(sums, loss=loss), candidate)
            if value >= best:
                break
            best, parameters, sums = value, candidate, replace(sums, loss=loss)
            callback.stepped(Step(parameters, sums, term, cycle))
        if parameters.weights[term] != first:
            break
    row_scores.shift(parameters.weights[term] - first)
    return parameters, sums


def adam(sample: Samples, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The point with the lowest objective that was found, within bounds."""
    parameters = start
    for number, stride in enumerate(strides(sample)):
        epochs = EPOCHS_AFTER_APPROACH if number else EPOCHS
        parameters = _descend(sample, parameters, problem, stride, epochs, callback)
    return parameters


def _descend(
    sample: Samples, parameters: FitParameters, problem: FitProblem, stride: int, epochs: int, callback: FitCallback
) -> FitParameters:
    units = np.append(sizes(problem.start)[problem.free], parameters.inverse_k)
    units[-1] *= problem.fit_k
    first, second = np.zeros(len(units)), np.zeros(len(units))
    best, best_point = np.inf, parameters
    for epoch in range(1, epochs + 1):
        callback.progressed("Adam", epoch / epochs)
        sums = gather(sample, parameters, problem.loss, Detail.GRADIENT, stride)
        value = problem.objective(sums, parameters, stride)
        if value < best:
            best, best_point = value, parameters
            if stride == 1:
                callback.stepped(Step(parameters, sums))
        gradient = problem.gradient(sums, parameters, stride) * units
        first = FIRST_DECAY * first + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * second + (1 - SECOND_DECAY) * gradient**2
        rate = ADAM_RATE * (1 + np.cos(np.pi * epoch / epochs)) / 2
        mean, spread = first / (1 - FIRST_DECAY**epoch), np.sqrt(second / (1 - SECOND_DECAY**epoch))
        change = rate * units * mean / (spread + EPSILON)
        weights = parameters.weights.copy()
        weights[problem.free] = np.clip(weights[problem.free] - change[:-1], *problem.bounds[problem.free].T)
        inverse_k = max(parameters.inverse_k - change[-1], parameters.inverse_k / 3)
        parameters = replace(parameters, weights=weights, inverse_k=inverse_k)
    return best_point


METHODS: dict[str, Callable[[Samples, FitParameters, FitProblem, FitCallback], FitParameters]] = {
    "gauss-newton": gauss_newton,
    "descent": descent,
    "adam": adam,
}
