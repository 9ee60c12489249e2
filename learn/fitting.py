"""The stage that fits: one fit for each target that a request leaves open, each with the pull that predicts best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.registry import TermSet
from merino.inner.learn.fit import FitCallback, prior_spread
from merino.inner.learn.learning import Fitted, Settings, fit
from merino.inner.learn.loss_and_gradient import Samples, gather
from merino.inner.learn.ranking import Moves, rank_figure
from merino.inner.learn.request import LearnRequest
from merino.inner.learn.source import PositionSource


@dataclass(frozen=True)
class TargetFit:
    """A fit with the settings and the sample that it is of."""

    settings: Settings
    sample: Samples
    fitted: Fitted


@dataclass(frozen=True)
class Fits:
    """The fits of a request, at least one, the number of games they are of, the set of terms, and moves to rank."""

    every: tuple[TargetFit, ...]
    games: int
    terms: TermSet
    moves: Moves | None = None


def settings_of(request: LearnRequest) -> Iterator[Settings]:
    """The settings of each fit that a request asks for."""
    for target in request.targets:
        yield replace(request.settings, target=target)


def fit_all(
    positions: PositionSource,
    request: LearnRequest,
    start: np.ndarray,
    callback: FitCallback,
    ready: Callable[[Samples], object],
    terms: TermSet,
    moves: Moves | None = None,
) -> Fits:
    """All fits; `callback` follows the first, whose sample `ready` gets before. `moves` are to be ranked.

    Raises LearnError. Ctrl-C ends a fit, keeps its best so far, and begins no other.
    """
    found = list[TargetFit]()
    for settings in settings_of(request):
        sample = positions.sample(settings)
        if not found:
            ready(sample)
        follows = FitCallback() if found else callback
        found.append(_with_best_pull(sample, settings, request, start, follows, terms, moves))
        if found[-1].fitted.interrupted:
            break
    return Fits(tuple(found), positions.games, terms, moves)


def _with_best_pull(
    sample: Samples,
    settings: Settings,
    request: LearnRequest,
    start: np.ndarray,
    callback: FitCallback,
    terms: TermSet,
    moves: Moves | None,
) -> TargetFit:
    """The fit with that of the pulls whose weights predict the validation set best, or rank moves best.

    The error foretells strength as well as the ranks do if a teacher scores strays too, worse without them.
    """

    def fault(fitted: Fitted) -> float:
        if moves is not None and not request.has_strays:
            return -rank_figure(moves, LinearEvaluation(fitted.end.weights, terms=terms)).reciprocal_rank
        return gather(sample, fitted.end, settings.loss).valid

    best = TargetFit(settings, sample, fit(sample, start, settings, callback, terms))
    if settings.prior is not None or best.fitted.interrupted:
        return best
    least = fault(best.fitted)
    usual = prior_spread(len(sample.games(is_validation=False)))
    for factor in request.choice.pulls:
        other = replace(settings, prior=factor * usual)
        fitted = fit(sample, start, other, FitCallback(), terms)
        found = fault(fitted)
        if found < least:
            best, least = TargetFit(other, sample, fitted), found
        if fitted.interrupted:
            break
    return best
