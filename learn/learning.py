"""Texel tuning: split by game, fit K, fit the weights, round them, and test whether they are significantly better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from merino.inner.core.common.checks import real_number, whole_number
from merino.inner.eval.linear.phases import halves, in_two_phases, phases_of
from merino.inner.eval.linear.registry import TERMS, Term, TermSet
from merino.inner.eval.linear.weights import defaults
from merino.inner.learn.adam import adam
from merino.inner.learn.centring import centring_of
from merino.inner.learn.coordinate_descent import descent
from merino.inner.learn.dropping import IdleTerm, columns_of, idle_terms
from merino.inner.learn.errors import LearnError
from merino.inner.learn.fit import FitCallback, FitProblem, Step, approach, fit_k, gauss_newton, prior_spread, sizes
from merino.inner.learn.loss_and_gradient import Detail, Samples, Sums, errors_by_game, gather
from merino.inner.learn.positions import Rows
from merino.inner.learn.ratings import with_ratings
from merino.inner.learn.sample import (
    BY_RESULT,
    VALIDATION_SHARE,
    FitParameters,
    Loss,
    Sample,
    check_holdout,
    choose_holdout,
    sample_of,
)
from merino.inner.learn.targets import Target
from merino.inner.learn.uncertainty import bootstrap_errors, sandwich_errors

ACCEPTED_Z = 2.0  # standard errors by which the validation error must fall
PAWN_TERM = 0  # its weight is the unit of all others; if it moves, so does the scale
LARGEST = 1e9  # of the numbers of a fit
MAX_NAMES = 8  # of terms that are listed one by one
FEW_GAMES = 300  # below this the validation set alone is too small
METHODS: dict[str, Callable[[Samples, FitParameters, FitProblem, FitCallback], FitParameters]] = {
    "gauss-newton": gauss_newton,
    "descent": descent,
    "adam": adam,
}


@dataclass(frozen=True)
class Settings:
    """How to learn. The terms `first` to `last`, counted from 1, may move; or those in `names`, if there are any.

    `last` is None for the last of the set.

    `decay` is the decay length in plies of the weight of a position, None for equal weight.

    `phases` is the number of values of each weight in the result, 1 or 2, None for as many as at the start.
    `target` is what to predict; with `even_stages` all stages of the game have the same weight, and with `ratings` the
    strength of the players counts where it is known. `prior` is the standard deviation of a weight about its start, in
    units of its size, 0 for no prior, None for the default of this number of games. `root_of_sum` shows errors as GreKo
    2015 ML did: the root of the weighted sum over the number of positions. `resamplings` is the number of bootstrap
    samples for the intervals; 0 for the sandwich formula. With `drop`, terms that tell nothing weigh 0, and the others
    are fitted again.
    """

    first: int = 6
    last: int | None = None
    phases: int | None = None
    method: str = "gauss-newton"
    loss: Loss = Loss.SQUARED
    decay: float | None = 40.0
    k: float | None = None
    prior: float | None = None
    seed: int = 2015
    split_by_position: bool = False
    root_of_sum: bool = False
    resamplings: int = 0
    target: Target = BY_RESULT
    even_stages: bool = False
    ratings: bool = False
    names: tuple[str, ...] = ()
    drop: bool = False

    def __post_init__(self) -> None:
        whole_number("first", self.first, 1)
        if self.last is not None:
            whole_number("last", self.last, self.first)
        whole_number("seed", self.seed, 0)
        whole_number("resamplings", self.resamplings, 0)
        if self.phases is not None:
            whole_number("phases", self.phases, 1, 2)
        for name in ("decay", "k", "prior"):
            if getattr(self, name) is not None:
                real_number(name, getattr(self, name), 0, LARGEST)
        if self.ratings and self.method == "descent":
            raise ValueError("descent moves one weight at a time, and knows no ratings: choose another method")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")

    @property
    def moving(self) -> str:
        """The terms that may move: "6..27", or their names, the first ones if they are many."""
        others = len(self.names) - MAX_NAMES
        named = ", ".join(self.names[:MAX_NAMES]) + (f" and {others} more" if others > 0 else "")
        return named or f"{self.first}..{self.last or 'the last'}"

    def of_set(self, terms: Sequence[Term]) -> Settings:
        """The same for a set, with the number of its last term; raises LearnError if it lacks a term that may move."""
        last = self.last or len(terms)
        if not 1 <= self.first <= last <= len(terms):
            raise LearnError(f"terms are numbered 1..{len(terms)}, first before last; not {self.first} {last}")
        if unknown := set(self.names) - {term.name for term in terms}:
            raise LearnError(f"the weights have no term named {', '.join(sorted(unknown))}")
        return replace(self, last=last)

    def errors(self, sums: Sums) -> tuple[float, float]:
        """Training and validation error, as displayed."""
        if self.root_of_sum:
            train, valid = np.sqrt(sums.loss / sums.rows)
            return float(train), float(valid)
        return sums.train, sums.valid

    def gain_scale(self, before: Sums, after: Sums) -> float:
        """The factor from a fall of the mean validation error to a fall of the displayed error.

        A difference of roots is that of the squares divided by the sum of the roots.
        """
        if not self.root_of_sum:
            return 1.0
        (_, old), (_, new) = self.errors(before), self.errors(after)
        return old**2 / before.valid / (old + new)


ARTICLE = Settings(method="descent", phases=1, decay=20.0, k=150.0, prior=0.0, split_by_position=True, root_of_sum=True)


@dataclass(frozen=True)
class Gain:
    """The fall of the error on validation games, and its standard error, paired by game.

    `folds` is the number of parts in cross-validation; 1 for the validation set alone.
    """

    decrease: float
    error: float
    folds: int = 1


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
class Learned:
    """The result: parameters at the start and at the end (rounded), the sums at both, and the gain.

    `spread` is the standard error of each weight, float64[weights], 0 for frozen ones; it comes from `resamplings`
    bootstrap samples, or from the sandwich formula if that is 0. `steps` are those that the fit reported.
    """

    start: FitParameters
    end: FitParameters
    before: Sums
    after: Sums
    gain: Gain
    spread: np.ndarray
    resamplings: int
    problem: FitProblem
    steps: list[Step]
    interrupted: bool
    dropped: tuple[IdleTerm, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the validation error fell, and fell significantly."""
        return self.after.valid < self.before.valid and self.gain.decrease > ACCEPTED_Z * self.gain.error


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


def split(rows: Rows, settings: Settings, from_game: int = 0) -> Sample:
    """The sample with its validation set: a fifth of the games from number `from_game` on, or of all positions.

    Raises LearnError if nothing can be learned from the rows.
    """
    holdout = choose_holdout(rows.rows_of_games(), rows.results, settings.seed, settings.split_by_position, from_game)
    is_validation = holdout.rows(rows.game)
    if settings.split_by_position:
        check_holdout(len(rows), int(np.count_nonzero(is_validation)))
    return sample_of(rows, is_validation, settings.decay, settings.target, settings.even_stages)


def learn(
    sample: Samples, weights: np.ndarray, settings: Settings, callback: FitCallback, terms: Sequence[Term] = TERMS
) -> Learned:
    """Fit the free weights and judge the fit; Ctrl-C ends the fit and keeps the best so far.

    `weights` and `terms` are in the order of the columns of the sample.
    """
    return judge(sample, fit(sample, weights, settings, callback, terms), settings, callback)


def fit(
    sample: Samples, weights: np.ndarray, settings: Settings, callback: FitCallback, terms: Sequence[Term] = TERMS
) -> Fitted:
    """Fit K, then the free weights, and round them; Ctrl-C ends the fit and keeps the best so far.

    Raises LearnError if weights of two phases would have to become weights of one.
    """
    weights = start_of(weights, settings.phases, len(terms))
    start = FitParameters(weights, 1 / settings.k) if settings.k else fit_k(sample, weights, settings.loss)
    if settings.ratings:
        start = with_ratings(sample, start, settings.loss, settings.k is None)
    before = gather(sample, start, settings.loss)
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
    return Fitted(start, _round(best, problem), before, problem, recorder.steps, interrupted, dropped)


def _without(
    idle: Sequence[IdleTerm], sample: Samples, best: FitParameters, problem: FitProblem, terms: Sequence[Term]
) -> tuple[FitProblem, FitParameters]:
    """The problem in which these terms no longer move, and the parameters with their weights at 0."""
    columns, kept = columns_of(idle, terms, len(best.weights)), problem.centred(best.weights).copy()
    kept[columns] = 0.0
    free = np.setdiff1d(problem.free, columns)
    centring = centring_of(sample, terms, phases_of(best.weights, len(terms)), free)
    return replace(problem, free=free, centring=centring), replace(best, weights=kept)


def judge(sample: Samples, fitted: Fitted, settings: Settings, callback: FitCallback) -> Learned:
    """The gain of a fit on validation games, and the standard errors of its weights.

    If the gain is not significant, or the games are few, it is measured by cross-validation. Ctrl-C ends the bootstrap;
    the standard errors are then those of the sandwich formula.
    """
    start, end, problem, interrupted = fitted.start, fitted.end, fitted.problem, fitted.interrupted
    after = gather(sample, end, problem.loss, Detail.PRODUCTS)
    gain = _gain(_error_decreases(sample, start, end, problem.loss))
    in_doubt = gain.decrease <= ACCEPTED_Z * gain.error or sample.number_of_games <= FEW_GAMES
    if gain.decrease > 0 and in_doubt and not interrupted and not settings.split_by_position:
        gain = _cross_validated(sample, start, end, problem, settings.seed)
    spread, resamplings = sandwich_errors(sample, end, problem, after), 0
    if settings.resamplings and not interrupted:
        try:
            spread = bootstrap_errors(sample, end, problem, after, settings.resamplings, settings.seed, callback)
            resamplings = settings.resamplings
        except KeyboardInterrupt:
            interrupted = True
    found = (fitted.before, after, gain, spread, resamplings, problem, fitted.steps, interrupted, fitted.dropped)
    return Learned(start, end, *found)


def part_of_step(sample: Samples, learned: Learned, share: float) -> Learned:
    """The same fit with only this share of its step from the start, rounded; its gain is on the validation set."""
    start, end, problem = learned.start, learned.end, learned.problem
    weights = start.weights + share * (end.weights - start.weights)
    between = _round(replace(end, weights=weights), problem)
    gain = _gain(_error_decreases(sample, start, between, problem.loss))
    after, spread = gather(sample, between, problem.loss), share * learned.spread
    return replace(learned, end=between, after=after, gain=gain, spread=spread)


def start_of(weights: np.ndarray, phases: int | None, terms: int) -> np.ndarray:
    """The weights to start from, with this number of phases; raises LearnError if two would have to become one."""
    if phases == 1 and phases_of(weights, terms) == 2:
        raise LearnError(
            "the weights have two phases, and one cannot be learned from there: name others by --weights, such as a "
            "copy of greko2015-before-training.txt"
        )
    return in_two_phases(weights, terms) if phases == 2 else weights


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
    prior = prior_spread(len(sample.games(is_validation=False))) if settings.prior is None else settings.prior
    spread = prior * sizes(weights, np.tile(_usual_sizes(terms), phases)) if prior else None
    fits_k, centring = settings.k is None and PAWN_TERM not in moving, centring_of(sample, terms, phases, free)
    return FitProblem(free, bounds, fits_k, weights, settings.loss, spread, centring)


def _usual_sizes(terms: Sequence[Term]) -> np.ndarray:
    """The size of each term's weight in the weights that come with Merino; 0 for a term that they do not have."""
    of = terms if isinstance(terms, TermSet) else TERMS
    largest = np.max(np.abs(halves(defaults(of), len(of))), axis=0)
    usual = {term.name: float(size) for term, size in zip(of, largest, strict=True)}
    return np.array([usual.get(term.name, 0.0) for term in terms])


def _round(parameters: FitParameters, problem: FitProblem) -> FitParameters:
    """The parameters with tables centred and the free weights rounded to whole centipawns, within bounds."""
    weights = problem.centred(parameters.weights).copy()
    rounded = np.rint(weights[problem.free])
    weights[problem.free] = np.clip(
        rounded, np.ceil(problem.bounds[problem.free, 0]), np.floor(problem.bounds[problem.free, 1])
    )
    return replace(parameters, weights=weights + 0.0)  # no -0


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
            fitted = _round(approach(fold, end, problem, FitCallback()), problem)
            decreases.append(_error_decreases(fold, start, fitted, problem.loss))
    return _gain(np.concatenate(decreases), len(decreases))
