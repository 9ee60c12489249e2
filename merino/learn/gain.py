"""What a fit has gained: the fall of the error on games kept apart, how sure it is, and the noise of each weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from merino.eval.linear.registry import TERMS, Term
from merino.learn.fitting import Fitted, fit
from merino.learn.loss_and_gradient import Detail, Samples, Sums, errors_by_game, gather
from merino.learn.minimisers import FitCallback, approach
from merino.learn.problem import FitProblem
from merino.learn.request import start_of
from merino.learn.sample import VALIDATION_SHARE, FitParameters, Loss
from merino.learn.settings import Settings
from merino.learn.uncertainty import bootstrap_errors, sandwich_errors

ACCEPTED_Z = 2.0  # standard errors by which the validation error must fall
FEW_GAMES = 300  # below this the validation set alone is too small


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

    `spread` is the standard error of each weight, float64[weights], 0 for frozen ones; it comes from `resamplings`
    bootstrap samples, or from the sandwich formula if that is 0.
    """

    after: Sums
    gain: Gain
    spread: np.ndarray
    resamplings: int

    @property
    def accepted(self) -> bool:
        """Whether the validation error fell, and fell significantly."""
        return self.after.valid < self.before.valid and self.gain.decrease > ACCEPTED_Z * self.gain.error


def learn(
    sample: Samples, weights: np.ndarray, settings: Settings, callback: FitCallback, terms: Sequence[Term] = TERMS
) -> Learned:
    """Fit the free weights and judge the fit; Ctrl-C ends the fit and keeps the best so far.

    `weights` and `terms` are in the order of the columns of the sample. Raises LearnError if weights of two phases
    would have to become weights of one.
    """
    start = start_of(weights, settings.phases, len(terms))
    return judge(sample, fit(sample, start, settings, callback, terms), settings, callback)


def judge(sample: Samples, fitted: Fitted, settings: Settings, callback: FitCallback) -> Learned:
    """The gain of a fit on validation games, and the standard errors of its weights.

    If the gain is not significant, or the games are few, it is measured by cross-validation. Ctrl-C ends the bootstrap;
    the standard errors are then those of the sandwich formula.
    """
    start, end, problem, interrupted = fitted.start, fitted.end, fitted.problem, fitted.interrupted
    after = gather(sample, end, problem.loss, Detail.PRODUCTS)
    gain = _gain(_error_decreases(sample, start, end, problem.loss))
    in_doubt = gain.decrease <= ACCEPTED_Z * gain.error or _games_with_rows(sample) <= FEW_GAMES
    if gain.decrease > 0 and in_doubt and not interrupted and not settings.split_by_position:
        gain = _cross_validated(sample, start, end, problem, settings.seed)
    spread, resamplings = sandwich_errors(sample, end, problem, after), 0
    if settings.resamplings and not interrupted:
        try:
            spread = bootstrap_errors(sample, end, problem, after, settings.resamplings, settings.seed, callback)
            resamplings = settings.resamplings
        except KeyboardInterrupt:
            interrupted = True
    known = vars(replace(fitted, interrupted=interrupted))
    return Learned(**known, after=after, gain=gain, spread=spread, resamplings=resamplings)


def _games_with_rows(sample: Samples) -> int:
    """The games to learn from, those of a `.fen` file: a PGN may have others, unfinished or without a position."""
    return sum(len(sample.games(is_validation)) for is_validation in (False, True))


def part_of_step(sample: Samples, learned: Learned, share: float) -> Learned:
    """The same fit with only this share of its step from the start, rounded; its gain is on the validation set.

    Weights that were not fitted, such as the zeros of terms that were left out, are those of the whole step.
    """
    start, end, problem = learned.start, learned.end, learned.problem
    weights = end.weights.copy()
    weights[problem.free] = (start.weights + share * (end.weights - start.weights))[problem.free]
    between = problem.rounded(replace(end, weights=weights))
    gain = _gain(_error_decreases(sample, start, between, problem.loss))
    after, spread = gather(sample, between, problem.loss), share * learned.spread
    return replace(learned, end=between, after=after, gain=gain, spread=spread)


def _error_decreases(sample: Samples, start: FitParameters, end: FitParameters, loss: Loss) -> np.ndarray:
    """The decrease of the summed validation error, and the weight, of each validation game: float64[games, 2]."""
    old, new = errors_by_game(sample, start, loss), errors_by_game(sample, end, loss)
    has_rows = old[:, 1] > 0
    return np.column_stack([(old - new)[has_rows, 0], old[has_rows, 1]])


def _gain(decreases: np.ndarray, folds: int = 1) -> Gain:
    sample_weight = decreases[:, 1].sum()
    decrease = decreases[:, 0].sum() / sample_weight
    residual = decreases[:, 0] - decrease * decreases[:, 1]
    count = len(decreases)
    error = np.sqrt((residual**2).sum() * count / max(1, count - 1)) / sample_weight
    return Gain(float(decrease), float(error), folds)


def _cross_validated(sample: Samples, start: FitParameters, end: FitParameters, problem: FitProblem, seed: int) -> Gain:
    """The gain by cross-validation: each part of the games is judged by a fit to the others.

    The validation set is one of the parts. All games together often show a gain that a fifth of them cannot. The fits
    are by Gauss-Newton, whatever the method: all methods have the same optimum.
    """
    decreases = [_error_decreases(sample, start, end, problem.loss)]
    games = np.random.default_rng(seed).permutation(sample.games(is_validation=False))
    parts = np.array_split(games, round(1 / VALIDATION_SHARE) - 1)
    for part in parts:
        if len(part):
            fold = sample.with_validation(part)
            fitted = problem.rounded(approach(fold, end, problem, FitCallback()))
            decreases.append(_error_decreases(fold, start, fitted, problem.loss))
    return _gain(np.concatenate(decreases), len(decreases))
