"""The stage that fits: K, then the weights, by Texel tuning.

There is a fit for each target that a request leaves open, each with the pull to the old weights that predicts best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, Term
from merino.learn.loss_and_gradient import Samples, Sums, gather
from merino.learn.minimisers import METHODS, FitCallback, Step
from merino.learn.problem import FitProblem, prior_spread, problem_of
from merino.learn.ranking import rank_figure
from merino.learn.reading import TrainingData
from merino.learn.sample import FitParameters
from merino.learn.scale import with_scale
from merino.learn.settings import Settings
from merino.learn.uncertainty import IdleTerm, idle_terms, without


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
            return replace(best, fitted=replace(best.fitted, interrupted=True))
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

    A fit that is `alike` but for the pull starts where this one does: K need not be found again.
    """
    if alike is None:
        start = with_scale(sample, weights, settings.loss, settings.k, settings.ratings)
        before = gather(sample, start, settings.loss)
    else:
        start, before = alike.start, alike.before
    moving, knows_k = settings.places(terms), settings.k is not None
    problem = problem_of(sample, weights, terms, moving, settings.loss, settings.prior, knows_k)
    recorder = _Recorder(callback)
    recorder.stepped(Step(start, before))
    interrupted, dropped = False, tuple[IdleTerm, ...]()
    try:
        best = METHODS[settings.method](sample, start, problem, recorder)
        if settings.drop and (idle := idle_terms(sample, best, problem, terms)):
            others, left = without(idle, sample, best, problem, terms)
            best = METHODS[settings.method](sample, left, others, FitCallback())
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
