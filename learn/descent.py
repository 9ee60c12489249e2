"""Coordinate descent by whole centipawns, as GreKo 2015 ML did it.

Each weight in turn is raised by one as long as the objective falls; if the first step up does not help, it is lowered
likewise. After each cycle through the weights K is fitted again, if it is free. The end is a cycle that did not lower
the validation error. Source: the timestamps and the text of Vladimir Medvedev's article on GreKo 2015 ML.

The score of each row is kept, so a trial touches only the rows that carry the weight in question.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from engine.compiled.jit import entry, kernel
from eval.linear.phases import phases_of
from learn.errors import LearnError
from learn.fit import FitCallback, FitProblem, Step, fit_k
from learn.passes import Samples, Sums, gather, label_of, loss_of, scores_of, share_of, weight_of
from learn.positions import FEATURE_SCALE
from learn.sample import FitParameters, Loss, Sample

STEP = 1.0  # centipawns
THREADS = min(8, os.cpu_count() or 1)
SHARES = 8  # parts of the work; fixed, so that the sums do not depend on how many threads there are


class _Picked(NamedTuple):
    """What a trial needs of the rows that carry a term, float32 each; `sides` uint8, the set's place in a pair."""

    counts: np.ndarray
    scores: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    sides: np.ndarray


@kernel
def _count_of(sample, row, column, phases):
    """How much of a weight's term a row has, float32, by the weight's phase."""
    terms = sample.features.shape[1]
    count = np.float32(sample.features[row, column % terms]) / np.float32(FEATURE_SCALE)
    return count * share_of(sample.stage[row], column // terms, phases)


@entry
def _pick(sample, scores, column, phases, span, picked):
    """Copy the rows of `span`, int64 (first, last), that carry a weight, to `picked` from `first` on; how many."""
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
    """Add to `losses`, float64[2] by set, those of the picked rows first..last with the term's weight changed."""
    for place in range(first, last):
        z = inverse_k * (picked.scores[place] + change * picked.counts[place])
        losses[picked.sides[place]] += picked.weights[place] * loss_of(z, picked.labels[place], entropy)


@entry
def _shift(sample, column, phases, span, change, scores):
    """Change a weight in the scores of the rows of `span`."""
    for row in range(span[0], span[1]):
        scores[row] += change * _count_of(sample, row, column, phases)


class _Carried:
    """The scores of all rows, and copies of what concerns those that carry one weight."""

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
        """Turn to a term."""
        self._term = term

        def work(span: np.ndarray) -> int:
            return int(_pick(self._sample, self.scores, term, self._phases, span, self._picked))

        with ThreadPoolExecutor(THREADS) as pool:
            self._found = list(pool.map(work, self._spans))

    def losses(self, inverse_k: float, change: float) -> np.ndarray:
        """The summed loss of the rows that carry the term, by set, with its weight changed by so much."""

        def work(span: np.ndarray, found: int) -> np.ndarray:
            losses = np.zeros(2)
            last = span[0] + found
            _losses(self._picked, span[0], last, np.float32(change), np.float32(inverse_k), self._entropy, losses)
            return losses

        with ThreadPoolExecutor(THREADS) as pool:
            return np.sum(list(pool.map(work, self._spans, self._found)), axis=0)

    def shift(self, change: float) -> None:
        """Keep a change of the term's weight in the scores."""
        if change:
            with ThreadPoolExecutor(THREADS) as pool:
                work = [
                    pool.submit(_shift, self._sample, self._term, self._phases, span, np.float32(change), self.scores)
                    for span in self._spans
                ]
            for each in work:
                each.result()


def descent(sample: Samples, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The point where no step of one weight helps any more, or validation has stopped improving."""
    if not isinstance(sample, Sample):
        raise LearnError("descent keeps the score of every row at hand, and needs the rows in this process")
    parameters, sums = start, gather(sample, start, problem.loss, products=False)
    carried = _Carried(sample, problem.loss, phases_of(start.weights, sample.terms))
    for cycle in range(1, 1000):
        valid = sums.valid
        carried.scores = scores_of(sample, parameters.weights)
        for number, term in enumerate(problem.free):
            callback.progressed(f"Cycle {cycle}", number / len(problem.free))
            callback.trying(int(term), parameters)
            parameters, sums = _move(carried, parameters, sums, problem, int(term), cycle, callback)
        if problem.fit_k:
            parameters = fit_k(sample, parameters.weights, problem.loss, parameters.inverse_k)
            sums = gather(sample, parameters, problem.loss, products=False)
            callback.stepped(Step(parameters, sums, cycle=cycle))
        if sums.valid >= valid:
            break
    return parameters


def _move(
    carried: _Carried,
    parameters: FitParameters,
    sums: Sums,
    problem: FitProblem,
    term: int,
    cycle: int,
    callback: FitCallback,
) -> tuple[FitParameters, Sums]:
    """The best value of one weight that steps in one direction reach, and the sums there."""
    carried.pick(term)
    low, high = problem.bounds[term]
    rest = sums.loss - carried.losses(parameters.inverse_k, 0.0)  # of the rows without this term
    best, first = problem.objective(sums, parameters), parameters.weights[term]
    for step in (STEP, -STEP):
        while low <= parameters.weights[term] + step <= high:
            weights = parameters.weights.copy()
            weights[term] += step
            candidate = replace(parameters, weights=weights)
            loss = rest + carried.losses(parameters.inverse_k, weights[term] - first)
            value = problem.objective(replace(sums, loss=loss), candidate)
            if value >= best:
                break
            best, parameters, sums = value, candidate, replace(sums, loss=loss)
            callback.stepped(Step(parameters, sums, term, cycle))
        if parameters.weights[term] != first:
            break
    carried.shift(parameters.weights[term] - first)
    return parameters, sums
