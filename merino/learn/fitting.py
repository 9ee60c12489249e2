"""The fit of weights to a sample: what may move, the methods that move it, and how sure the result is (Texel tuning).

The objective is the summed loss of the training set plus a pull to the starting weights. The pull is a normal prior
about them: it is fixed while the loss grows with each game, so it fades as games are added.

**Gauss-Newton**, the default, solves the problem as if scores were linear in what moves, again and again. K is fitted
together with the weights if material is frozen, because then nothing else can scale the scores.

**Coordinate descent** by whole centipawns is the method of GreKo 2015 ML. It raises each weight in turn by one
centipawn as long as the objective falls; if the first step up does not help, it lowers the weight in the same way.
After each cycle through the weights it fits K again, if K is free. It ends after a cycle that did not lower the
validation error. Source: text and timestamps of Vladimir Medvedev's article on GreKo 2015 ML. The score of each row is
kept, so a trial reads only the rows in which the weight's term is not 0.

**Tables** are centred. A knight stands on one square, so 10 centipawns more on each of them are a knight worth 10 more:
the scores are the same. What all cells share goes to the term that counts the same pieces, so that a cell says how much
better or worse than usual a piece stands there. Usual is the mean over the cells, each as often as it makes a
difference in the training set.

**Standard errors** are clustered by game, because the positions of a game share one result. The variance of a weight
has two parts: the variance between games, and, for a weight that few games determine, how far from its start it may be
although the prior keeps it there. A term is idle if a fit without it predicts as well, as far as its games can tell. It
is judged by all its weights together: by how far they are from 0 in units of their noise, w C^-1 w with their
covariance C. Of weights that are 0 in truth this is chi-squared with as many degrees of freedom. Test: A. Wald (1943).
Quantile: E. B. Wilson and M. M. Hilferty (1931).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from merino.core.common.work import in_order
from merino.core.compiled.jit import entry, kernel
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import halves, phases_of
from merino.eval.linear.registry import TERMS, Group, Term, TermSet, TermTable, to_read
from merino.eval.linear.weights import defaults
from merino.learn.loss_and_gradient import (
    TRAIN,
    Detail,
    Step,
    Sums,
    carrier_counts,
    fit_k,
    gather,
    label_of,
    loss_of,
    products_by_game,
    scores_of,
    share_of,
    strides,
    weight_of,
)
from merino.learn.reading import TrainingData
from merino.learn.request import DESCENT, Settings
from merino.learn.rescoring import rank_figure
from merino.learn.rows import FEATURE_SCALE
from merino.learn.sample import FitParameters, Sample

POSITIONS_PER_OBSERVATION = 10  # the positions of a game are far from independent
MIN_SIZE = 10.0  # centipawns; a smaller weight counts as this large
NOISE = 0.1  # the variance of a residual
SPREAD, SPREAD_AT = 0.25, 300  # `prior_spread` at this number of games; measured: it predicts other games best
PAWN_TERM = 0  # its weight is the unit of all others; if it moves, so does the scale
TOLERANCE = 1e-7  # the fit has converged when a step would improve the objective by a smaller part of it
MAX_STEPS = 30
ROUGH_TOLERANCE = 1e-5  # the same for the part of a large sample that only gives a start
SURPRISE = 0.1  # by this part a fall may miss what was expected of it before the matrix is computed again
STEP = 1.0  # centipawns, of coordinate descent
SHARES = 8  # parts of the work; fixed, so that the sums do not depend on how many threads there are
ACCEPTED_Z = 2.0  # standard errors by which the validation error must fall
FEW_GAMES = 300  # below this the validation set alone is too small
QUANTILE = 1.645  # of the normal distribution, at 95%


@dataclass(frozen=True)
class FitProblem:
    """The free weights, their bounds and the prior.

    `free` are the indices of the weights that may move, `bounds` is float64[weights, 2]. `spread`, float64[weights], is
    the prior's standard deviation of each weight about its `start`, in centipawns; None for no prior. `centring` is the
    matrix of `centring_of`, None where no table is to be centred: weights times it score the same.
    """

    free: np.ndarray
    bounds: np.ndarray
    fit_k: bool
    start: np.ndarray
    spread: np.ndarray | None = None
    centring: np.ndarray | None = None

    def centred(self, weights: np.ndarray) -> np.ndarray:
        """The same weights with their tables centred, float64[weights]."""
        return weights if self.centring is None else np.asarray(self.centring @ weights)

    def rounded(self, parameters: FitParameters) -> FitParameters:
        """The parameters with tables centred and the free weights rounded to whole centipawns, within bounds."""
        weights, (low, high) = self.centred(parameters.weights).copy(), self.bounds[self.free].T
        weights[self.free] = np.clip(np.rint(weights[self.free]), np.ceil(low), np.floor(high))
        return replace(parameters, weights=weights + 0.0)  # no -0

    def ridge(self, sums: Sums) -> np.ndarray:
        """The factor of the squared distance from the start for each free weight, in units of the summed loss."""
        if self.spread is None:
            return np.zeros(len(self.free))
        mean_weight = float(sums.squares / sums.sample_weight[TRAIN])  # a row that counts half has half the information
        return NOISE * POSITIONS_PER_OBSERVATION * mean_weight / self.spread[self.free] ** 2

    def objective(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> float:
        """The objective at `parameters`, from their sums over every `stride`-th block."""
        distance = parameters.weights[self.free] - self.start[self.free]
        return float(sums.loss[TRAIN]) + float(self.ridge(sums) @ distance**2) / stride

    def directions(self, parameters: FitParameters) -> np.ndarray:
        """The matrix that turns features into derivatives of score / K: float64[weights, free + 1].

        It has a column for each free weight and, at the end, one for 1 / K.
        """
        directions = np.zeros((len(parameters.weights), len(self.free) + 1))
        directions[self.free, np.arange(len(self.free))] = parameters.inverse_k / FEATURE_SCALE
        directions[:, -1] = parameters.weights / FEATURE_SCALE
        return directions

    def gradient(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> np.ndarray:
        """Half the gradient of the objective over the free weights and 1 / K: float64[free + 1]."""
        distance = parameters.weights[self.free] - self.start[self.free]
        pull = np.append(self.ridge(sums) / stride * distance, 0.0)
        return np.asarray(self.directions(parameters).T @ sums.gradient + pull)

    def matrix(self, sums: Sums, parameters: FitParameters, stride: int = 1) -> np.ndarray:
        """The Gauss-Newton matrix over the free weights and 1 / K: float64[free + 1, free + 1]."""
        directions = self.directions(parameters)
        ridge = np.append(self.ridge(sums) / stride, 0.0)
        return np.asarray(directions.T @ sums.products @ directions + np.diag(ridge))


def problem_of(
    sample: Sample,
    weights: np.ndarray,
    terms: Sequence[Term],
    moving: np.ndarray,
    prior: float | None = None,
    knows_k: bool = False,
) -> FitProblem:
    """The problem of a fit from `weights`, in which the terms at the places `moving`, int64[n], may move.

    `prior` is the deviation of a weight in units of its size, 0 for no pull, None for `prior_spread`. If the value of a
    pawn may move, and so the scale of all weights, K keeps the value that fits the weights at the start, as one that is
    known does: scores keep their meaning, on which the margins of the search depend.
    """
    phases = phases_of(weights, len(terms))
    free = np.concatenate([moving + phase * len(terms) for phase in range(phases)])
    bounds = np.tile(np.array([term.bounds for term in terms], dtype=np.float64), (phases, 1))
    prior = prior_spread(sample) if prior is None else prior
    spread = prior * _sizes(weights, np.tile(_usual_sizes(terms), phases)) if prior else None
    fits_k, centring = not knows_k and PAWN_TERM not in moving, _centring_of(sample, terms, phases, free)
    return FitProblem(free, bounds, fits_k, weights, spread, centring)


def prior_spread(sample: Sample) -> float:
    """The default prior: the deviation of a weight in units of its size.

    It grows with the root of the number of training games, so the pull fades twice: against the loss, and by itself.
    """
    return SPREAD * float(np.sqrt(len(sample.games(is_validation=False)) / SPREAD_AT))


def _usual_sizes(terms: Sequence[Term]) -> np.ndarray:
    """The size of each term's weight in the weights that come with Merino; 0 for a term that they do not have."""
    of = terms if isinstance(terms, TermSet) else TERMS
    largest = np.max(np.abs(halves(defaults(of), len(of))), axis=0)
    usual = {term.name: float(size) for term, size in zip(of, largest, strict=True)}
    return np.array([usual.get(term.name, 0.0) for term in terms])


def _sizes(*weights: np.ndarray) -> np.ndarray:
    """The size of each weight in centipawns: its largest absolute value in these sets, at least MIN_SIZE."""
    return np.maximum(np.max(np.abs(weights), axis=0), MIN_SIZE)


def _centring_of(sample: Sample, terms: Sequence[Term], phases: int, free: np.ndarray) -> np.ndarray | None:
    """The matrix that centres the tables of weights, float64[weights, weights]; None where there is none to centre.

    A table is centred in a phase in which all its weights may move, and those that take what it has in common; `free`
    are the indices of the weights that may move.
    """
    places = {each.name: at for each, at in to_read(terms)}
    tables = [each for each, _ in to_read(terms) if isinstance(each, TermTable) and each.counts is not None]
    if not tables:
        return None
    found, counts = np.eye(phases * len(terms)), carrier_counts(sample, phases)[:, 0].astype(np.float64)
    for table in tables:
        takes_it = places.get(table.counts or "")
        if table.counts and takes_it is None:
            continue  # a derived set may lack the term
        for first in range(0, phases * len(terms), len(terms)):
            cells = _cells(places[table.name], first)
            whole = _cells(takes_it, first) if takes_it else []
            total = counts[cells].sum()
            if total and np.isin([*cells, *whole], free).all():
                mean = counts[cells] @ found[cells] / total
                found[cells] -= mean
                if takes_it:
                    found[whole] += mean * table.group.multiplier / terms[takes_it.start].group.multiplier
    return found


def _cells(at: slice, first: int) -> list[int]:
    """The columns of a term or table in the phase whose weights begin at `first`."""
    return list(range(first + at.start, first + at.stop))


class FitCallback:
    """Callbacks of a fit; these do nothing."""

    def stepped(self, step: Step) -> None:
        """Called when the fit has found better parameters."""

    def trying(self, term: int, parameters: FitParameters) -> None:
        """Called before the fit tries to change the weight with this index."""

    def progressed(self, what: str, done: float) -> None:
        """Called with the name of some work and the share of it that is done, 0 to 1."""


def gauss_newton(sample: Sample, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The parameters that minimise the objective within bounds exactly.

    A large sample is first fitted on a part, without calls of `callback`; this saves most of the time.
    """
    *parts, whole = strides(sample)
    for stride in parts:
        start = approach(sample, start, problem, FitCallback(), stride, ROUGH_TOLERANCE)
    return approach(sample, start, problem, callback, whole)


def approach(
    sample: Sample,
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
    sums = gather(sample, parameters, Detail.PRODUCTS, stride)
    best, matrix = problem.objective(sums, parameters, stride), problem.matrix(sums, parameters, stride)
    callback.stepped(Step(parameters, sums))
    for _ in range(MAX_STEPS):
        gradient = problem.gradient(sums, parameters, stride)
        candidate, expected = _gauss_newton_step(parameters, problem, gradient, matrix, damping)
        if expected < tolerance * best:  # and such a step needs no check
            return candidate if expected > 0 else parameters
        found = gather(sample, candidate, Detail.GRADIENT, stride)
        fall = best - problem.objective(found, candidate, stride)
        if fall <= 0:
            damping = max(damping, 1e-6) * 16
            continue
        if abs(fall - expected) > SURPRISE * expected:
            found = gather(sample, candidate, Detail.PRODUCTS, stride)
            matrix = problem.matrix(found, candidate, stride)
        best, parameters, sums, damping = best - fall, candidate, found, damping / 4
        callback.stepped(Step(parameters, sums))
    return parameters


def _gauss_newton_step(
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
def _losses(picked, first, last, change, inverse_k, losses):
    """Add the losses of the picked rows first..last to `losses`, float64[2] by set, with the weight changed."""
    for place in range(first, last):
        z = inverse_k * (picked.scores[place] + change * picked.counts[place])
        losses[picked.sides[place]] += picked.weights[place] * loss_of(z, picked.labels[place])


@entry
def _shift(sample, column, phases, span, change, scores):
    """Apply a change of a weight to the scores of the rows of `span`."""
    for row in range(span[0], span[1]):
        scores[row] += change * _count_of(sample, row, column, phases)


class _RowScores:
    """The scores of all rows, and copies of the rows in which the term of the present weight is not 0."""

    def __init__(self, sample: Sample, phases: int) -> None:
        self.scores = np.empty(0, dtype=np.float32)
        self._sample, self._phases = sample, phases
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
            _losses(self._picked, first, last, np.float32(change), np.float32(inverse_k), losses)
            return losses

        return np.sum(list(in_order(work, range(SHARES))), axis=0)

    def shift(self, change: float) -> None:
        """Apply a change of the selected weight to all scores."""

        def work(span: np.ndarray) -> None:
            _shift(self._sample, self._term, self._phases, span, np.float32(change), self.scores)

        if change:
            list(in_order(work, self._spans))


def descent(sample: Sample, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The point where no step of a single weight helps, or the validation error has stopped falling."""
    parameters, sums = start, gather(sample, start)
    row_scores = _RowScores(sample, phases_of(start.weights, sample.terms))
    for cycle in range(1, 1000):
        valid = sums.valid
        row_scores.scores = scores_of(sample, parameters.weights)
        for number, term in enumerate(problem.free):
            callback.progressed(f"Cycle {cycle}", number / len(problem.free))
            callback.trying(int(term), parameters)
            parameters, sums = _move(row_scores, parameters, sums, problem, int(term), cycle, callback)
        if problem.fit_k:
            parameters = fit_k(sample, parameters.weights, parameters.inverse_k)
            sums = gather(sample, parameters)
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


def sandwich_errors(sample: Sample, parameters: FitParameters, problem: FitProblem, sums: Sums) -> np.ndarray:
    """Standard errors of the weights at an optimum, float64[weights], by the sandwich formula clustered by game.

    `sums` must be those at `parameters`, with products. Frozen weights get 0. Formula: K.-Y. Liang and S. Zeger (1986).
    """
    return _errors(problem, _covariance(sample, parameters, problem, sums))


def _covariance(sample: Sample, parameters: FitParameters, problem: FitProblem, sums: Sums) -> np.ndarray:
    """The covariance of the free weights with tables centred, float64[free, free]; as `sandwich_errors`."""
    inverse, pull = _inverse_and_pull(parameters, problem, sums)
    directions = problem.directions(parameters)[:, : len(inverse)]
    products = products_by_game(sample, parameters, directions)
    return _of_free(problem, inverse @ products @ inverse + pull)


def _inverse_and_pull(parameters: FitParameters, problem: FitProblem, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of the Gauss-Newton matrix, and the covariance due to the prior."""
    size = len(problem.free) + problem.fit_k
    inverse = np.linalg.pinv(problem.matrix(sums, parameters)[:size, :size])
    ridge = problem.ridge(sums)
    spread = np.zeros(len(problem.free)) if problem.spread is None else problem.spread[problem.free]
    held_back = np.append(ridge * spread, 0.0)[:size]
    return inverse, inverse @ np.diag(held_back**2) @ inverse


def _of_free(problem: FitProblem, covariance: np.ndarray) -> np.ndarray:
    """The covariance of the free weights with tables centred, from that of the free ones and of 1 / K."""
    free = problem.free
    covariance = covariance[: len(free), : len(free)]
    if problem.centring is None:
        return covariance
    centring = problem.centring[np.ix_(free, free)]
    return np.asarray(centring @ covariance @ centring.T)


def _errors(problem: FitProblem, covariance: np.ndarray) -> np.ndarray:
    """The standard errors of all weights, float64[weights], from the covariance of the free ones."""
    spread = np.zeros(len(problem.bounds))
    spread[problem.free] = np.sqrt(np.maximum(np.diag(covariance), 0))
    return spread


@dataclass(frozen=True)
class IdleTerm:
    """A term or table whose weights could be 0, for all that the games say.

    `evidence` is its distance from 0 squared in units of noise, which chance alone exceeds at `needed` one time in
    twenty; `weights` is the number of weights that it has.
    """

    name: str
    evidence: float
    needed: float
    weights: int


def idle_terms(
    sample: Sample, parameters: FitParameters, problem: FitProblem, terms: Sequence[Term]
) -> tuple[IdleTerm, ...]:
    """The idle terms of a fit, in the order of the set; the values of the pieces are never among them."""
    sums = gather(sample, parameters, Detail.PRODUCTS)
    covariance = _covariance(sample, parameters, problem, sums)
    weights, place = problem.centred(parameters.weights), {int(index): at for at, index in enumerate(problem.free)}
    found = []
    for name, indices in _columns(terms, len(parameters.weights)).items():
        at = [place[index] for index in indices if index in place]
        if len(at) == len(indices):
            values, noise = weights[indices], covariance[np.ix_(at, at)]
            evidence = float(values @ np.linalg.pinv(noise, hermitian=True) @ values)
            needed = chi_squared(int(np.linalg.matrix_rank(noise, hermitian=True)))
            if evidence < needed:
                found.append(IdleTerm(name, evidence, needed, len(indices)))
    return tuple(found)


def without(
    idle: Sequence[IdleTerm], sample: Sample, best: FitParameters, problem: FitProblem, terms: Sequence[Term]
) -> tuple[FitProblem, FitParameters]:
    """The problem in which these terms no longer move, and the parameters with their weights at 0."""
    of_terms = _columns(terms, len(best.weights))
    columns = np.array([index for term in idle for index in of_terms[term.name]], dtype=np.int64)
    free, kept = np.setdiff1d(problem.free, columns), problem.centred(best.weights).copy()
    kept[columns] = 0.0
    centring = _centring_of(sample, terms, phases_of(best.weights, len(terms)), free)
    return replace(problem, free=free, centring=centring), replace(best, weights=kept)


def chi_squared(degrees: int) -> float:
    """What chi-squared with so many degrees of freedom, at least one, exceeds one time in twenty; within 3%."""
    ninth = 2 / (9 * max(degrees, 1))
    return float(max(degrees, 1) * (1 - ninth + QUANTILE * np.sqrt(ninth)) ** 3)


def _columns(terms: Sequence[Term], weights: int) -> dict[str, list[int]]:
    """The indices of the weights of each term or table, in all phases; none of the values of the pieces."""
    return {
        each.name: [index + first for first in range(0, weights, len(terms)) for index in range(at.start, at.stop)]
        for each, at in to_read(terms)
        if each.group is not Group.MATERIAL or terms[at.start].bounds[0] < 0
    }


@dataclass(frozen=True)
class Fitted:
    """A fit: parameters at the start and at the end (rounded), sums at the start, the problem, and all steps.

    `dropped` are the idle terms that were left out; the problem is that without them.
    """

    start: FitParameters
    end: FitParameters
    before: Sums
    problem: FitProblem
    steps: list[Step]
    interrupted: bool
    dropped: tuple[IdleTerm, ...] = ()


@dataclass(frozen=True)
class BestFit:
    """The fit to some data, with its settings."""

    data: TrainingData
    settings: Settings
    fitted: Fitted


@dataclass(frozen=True)
class Gain:
    """The fall of the error on validation games, and its standard error, paired by game.

    `folds` is the number of parts in cross-validation; 1 for the validation set alone.
    """

    decrease: float
    error: float
    folds: int = 1


@dataclass(frozen=True, kw_only=True)
class Learned(Fitted):
    """A fit with the sums at its end, and its gain.

    `spread` is the standard error of each weight, float64[weights], 0 for frozen ones.
    """

    after: Sums
    gain: Gain
    spread: np.ndarray

    @property
    def accepted(self) -> bool:
        """Whether the validation error fell, and fell significantly."""
        return self.after.valid < self.before.valid and self.gain.decrease > ACCEPTED_Z * self.gain.error


def fit_all(data: TrainingData, callback: FitCallback) -> BestFit:
    """The fit with the pull whose weights predict the validation set best, or rank moves best.

    `callback` follows the first fit. The error predicts strength as well as the ranks do if a teacher scores random
    moves, and worse without them. Ctrl-C ends a fit and keeps the best so far. Raises LearnError.
    """
    task, moves, sample, settings = data.task, data.moves, data.sample, data.task.request.settings

    def fault(fitted: Fitted) -> float:
        if moves is not None and not task.request.has_random_moves:
            return -rank_figure(moves, LinearEvaluation(fitted.end.weights, terms=task.terms)).reciprocal_rank
        return gather(sample, fitted.end).valid

    first = fit(sample, task.start, settings, callback, task.terms)
    best = BestFit(data, settings, first)
    if settings.prior is not None or first.interrupted:
        return best
    least, usual = fault(first), prior_spread(sample)
    for factor in task.request.choice.pulls:
        other = replace(settings, prior=factor * usual)
        fitted = fit(sample, task.start, other, FitCallback(), task.terms, first)
        found = fault(fitted)
        if found < least:
            best, least = BestFit(data, other, fitted), found
        if fitted.interrupted:
            return replace(best, fitted=replace(best.fitted, interrupted=True))
    return best


def fit(
    sample: Sample,
    weights: np.ndarray,
    settings: Settings,
    callback: FitCallback,
    terms: Sequence[Term] = TERMS,
    alike: Fitted | None = None,
) -> Fitted:
    """Fit K, then the free weights, and round them; Ctrl-C ends the fit and keeps the best so far.

    A fit that is `alike` but for the pull starts where this one does: K need not be found again.
    """
    if alike is None:
        start = FitParameters(weights, 1 / settings.k) if settings.k else fit_k(sample, weights)
        before = gather(sample, start)
    else:
        start, before = alike.start, alike.before
    moving, knows_k = settings.places(terms), settings.k is not None
    problem = problem_of(sample, weights, terms, moving, settings.prior, knows_k)
    recorder = _Recorder(callback)
    recorder.stepped(Step(start, before))
    interrupted, dropped = False, tuple[IdleTerm, ...]()
    try:
        method = descent if settings.method == DESCENT else gauss_newton
        best = method(sample, start, problem, recorder)
        if settings.drop and (idle := idle_terms(sample, best, problem, terms)):
            others, left = without(idle, sample, best, problem, terms)
            best = method(sample, left, others, FitCallback())
            problem, dropped = others, idle
    except KeyboardInterrupt:
        interrupted, best = True, recorder.steps[-1].parameters
    return Fitted(start, problem.rounded(best), before, problem, recorder.steps, interrupted, dropped)


@dataclass
class _Recorder(FitCallback):
    """Records all steps, so that an interrupted fit has a result, and passes them on."""

    listener: FitCallback
    steps: list[Step] = field(default_factory=list)

    def stepped(self, step: Step) -> None:
        if self.steps and step.cycle is None and _same(step.parameters, self.steps[-1].parameters):
            return  # a method begins with a pass at the start
        self.steps.append(step)
        self.listener.stepped(step)

    def trying(self, term: int, parameters: FitParameters) -> None:
        self.listener.trying(term, parameters)

    def progressed(self, what: str, done: float) -> None:
        self.listener.progressed(what, done)


def _same(one: FitParameters, other: FitParameters) -> bool:
    return one.inverse_k == other.inverse_k and np.array_equal(one.weights, other.weights)
