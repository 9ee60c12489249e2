"""The stage that fits: one fit for each target that a request leaves open, each with the pull that predicts best."""

from __future__ import annotations

from dataclasses import dataclass, replace

from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.learn.fit import FitCallback, prior_spread
from merino.inner.learn.learning import Fitted, Settings, fit
from merino.inner.learn.loss_and_gradient import Samples, gather
from merino.inner.learn.ranking import rank_figure
from merino.inner.learn.reading import TrainingData


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

    def fault(fitted: Fitted) -> float:
        if moves is not None and not task.request.has_strays:
            return -rank_figure(moves, LinearEvaluation(fitted.end.weights, terms=task.terms)).reciprocal_rank
        return gather(sample, fitted.end, settings.loss).valid

    best = TargetFit(settings, sample, fit(sample, task.start, settings, callback, task.terms))
    if settings.prior is not None or best.fitted.interrupted:
        return best
    least = fault(best.fitted)
    usual = prior_spread(len(sample.games(is_validation=False)))
    for factor in task.request.choice.pulls:
        other = replace(settings, prior=factor * usual)
        fitted = fit(sample, task.start, other, FitCallback(), task.terms)
        found = fault(fitted)
        if found < least:
            best, least = TargetFit(other, sample, fitted), found
        if fitted.interrupted:
            break
    return best
