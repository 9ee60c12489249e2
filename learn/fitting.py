"""The stage that fits: K, then the weights, by Texel tuning.

There is a fit for each target that a request leaves open, each with the pull to the old weights that predicts best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.phases import halves, phases_of
from merino.inner.eval.linear.registry import TERMS, Term, TermSet
from merino.inner.eval.linear.weights import defaults
from merino.inner.learn.fit import FitCallback, FitProblem, Step, centring_of, fit_k, sizes
from merino.inner.learn.loss_and_gradient import Samples, Sums, gather
from merino.inner.learn.ranking import rank_figure
from merino.inner.learn.ratings import with_ratings
from merino.inner.learn.reading import TrainingData
from merino.inner.learn.request import start_of
from merino.inner.learn.sample import FitParameters
from merino.inner.learn.settings import METHODS, Settings
from merino.inner.learn.uncertainty import IdleTerm, columns_of, idle_terms

SPREAD, SPREAD_AT = 0.25, 300  # `prior_spread` at this number of games; measured: it predicts other games best
PAWN_TERM = 0  # its weight is the unit of all others; if it moves, so does the scale


@dataclass(frozen=True)
class Fitted:
    """A fit: parameters at the start and at the end (rounded), sums at the start, the problem, and all steps.

    `dropped` are the terms that were found to tell nothing; the problem is that without them.
    """

    start: FitParameters
    end: FitParameters
    before: Sums
    problem: FitProblem
    steps: list[Step]
    interrupted: bool
    dropped: tuple[IdleTerm, ...] = ()


@dataclass(frozen=True)
class TargetFit:
    """A fit with the settings and the sample that it is of."""

    settings: Settings
    sample: Samples
    fitted: Fitted


@dataclass(frozen=True)
class Fits:
    """The fits to some data, at least one."""

    data: TrainingData
    every: tuple[TargetFit, ...]


def fit_all(data: TrainingData, callback: FitCallback) -> Fits:
    """All fits; `callback` follows the first. Ctrl-C ends a fit, keeps its best so far, and begins no other.

    Raises LearnError.
    """
    found = list[TargetFit]()
    for settings, sample in zip(data.task.settings, data.samples, strict=True):
        found.append(_with_best_pull(data, settings, sample, FitCallback() if found else callback))
        if found[-1].fitted.interrupted:
            break
    return Fits(data, tuple(found))


def _with_best_pull(data: TrainingData, settings: Settings, sample: Samples, callback: FitCallback) -> TargetFit:
    """The fit with that of the pulls whose weights predict the validation set best, or rank moves best.

    The error foretells strength as well as the ranks do if a teacher scores strays too, worse without them.
    """
    task, moves = data.task, data.moves
    learns_strays = task.request.has_strays and settings.target.share == 0

    def fault(fitted: Fitted) -> float:
        if moves is not None and not learns_strays:
            return -rank_figure(moves, LinearEvaluation(fitted.end.weights, terms=task.terms)).reciprocal_rank
        return gather(sample, fitted.end, settings.loss).valid

    best = TargetFit(settings, sample, fit(sample, task.start, settings, callback, task.terms))
    if settings.prior is not None or best.fitted.interrupted:
        return best
    least = fault(best.fitted)
    usual = prior_spread(sample)
    for factor in task.request.choice.pulls:
        other = replace(settings, prior=factor * usual)
        fitted = fit(sample, task.start, other, FitCallback(), task.terms, best.fitted)
        found = fault(fitted)
        if found < least:
            best, least = TargetFit(other, sample, fitted), found
        if fitted.interrupted:
            break
    return best


def fit(
    sample: Samples,
    weights: np.ndarray,
    settings: Settings,
    callback: FitCallback,
    terms: Sequence[Term] = TERMS,
    alike: Fitted | None = None,
) -> Fitted:
    """Fit K, then the free weights, and round them; Ctrl-C ends the fit and keeps the best so far.

    A fit that is `alike` but for the pull starts where this one does: K need not be found again. Raises LearnError if
    weights of two phases would have to become weights of one.
    """
    weights = start_of(weights, settings.phases, len(terms))
    if alike is None:
        start = _start(sample, weights, settings)
        before = gather(sample, start, settings.loss)
    else:
        start, before = alike.start, alike.before
    problem = problem_of(sample, weights, settings, terms)
    recorder = _Recorder(callback)
    recorder.stepped(Step(start, before))
    interrupted, dropped = False, tuple[IdleTerm, ...]()
    try:
        best = METHODS[settings.method](sample, start, problem, recorder)
        if settings.drop and (idle := idle_terms(sample, best, problem, terms)):
            others, left = _without(idle, sample, best, problem, terms)
            best = METHODS[settings.method](sample, left, others, FitCallback())
            problem, dropped = others, idle
    except KeyboardInterrupt:
        interrupted, best = True, recorder.steps[-1].parameters
    return Fitted(start, problem.rounded(best), before, problem, recorder.steps, interrupted, dropped)


def _start(sample: Samples, weights: np.ndarray, settings: Settings) -> FitParameters:
    """The weights with the K that fits them, and what a point of rating counts, as far as these are wanted."""
    start = FitParameters(weights, 1 / settings.k) if settings.k else fit_k(sample, weights, settings.loss)
    return with_ratings(sample, start, settings.loss, settings.k is None) if settings.ratings else start


def _without(
    idle: Sequence[IdleTerm], sample: Samples, best: FitParameters, problem: FitProblem, terms: Sequence[Term]
) -> tuple[FitProblem, FitParameters]:
    """The problem in which these terms no longer move, and the parameters with their weights at 0."""
    columns, kept = columns_of(idle, terms, len(best.weights)), problem.centred(best.weights).copy()
    kept[columns] = 0.0
    free = np.setdiff1d(problem.free, columns)
    centring = centring_of(sample, terms, phases_of(best.weights, len(terms)), free)
    return replace(problem, free=free, centring=centring), replace(best, weights=kept)


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


def problem_of(sample: Samples, weights: np.ndarray, settings: Settings, terms: Sequence[Term] = TERMS) -> FitProblem:
    """The fit that the settings ask for.

    If the value of a pawn may move, and so the scale of all weights, K keeps the value that fits the weights at the
    start: scores keep their meaning, on which the margins of the search depend.
    """
    phases = phases_of(weights, len(terms))
    moving = np.arange(settings.first - 1, min(settings.last or len(terms), len(terms)))
    if settings.names:
        moving = np.flatnonzero([term.name in settings.names for term in terms])
    free = np.concatenate([moving + phase * len(terms) for phase in range(phases)])
    bounds = np.tile(np.array([term.bounds for term in terms], dtype=np.float64), (phases, 1))
    prior = prior_spread(sample) if settings.prior is None else settings.prior
    spread = prior * sizes(weights, np.tile(_usual_sizes(terms), phases)) if prior else None
    fits_k, centring = settings.k is None and PAWN_TERM not in moving, centring_of(sample, terms, phases, free)
    return FitProblem(free, bounds, fits_k, weights, settings.loss, spread, centring)


def prior_spread(sample: Samples) -> float:
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
