"""Texel tuning: split by game, fit K, fit the weights, round, and judge: only what is surely better is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from eval.linear.phases import halves, in_two_phases, phases_of
from eval.linear.registry import TERMS, Term
from eval.linear.weights import defaults
from learn.adam import adam
from learn.descent import descent
from learn.errors import LearnError
from learn.fit import FitCallback, FitProblem, Step, approach, fit_k, gauss_newton, prior_spread, sizes
from learn.holdout import VALIDATION_SHARE, check_holdout, choose_holdout
from learn.passes import Samples, Sums, errors_by_game, gather
from learn.positions import Rows
from learn.sample import BY_RESULT, FitParameters, Loss, Sample, sample_of
from learn.targets import Target
from learn.uncertainty import bootstrap_errors, sandwich_errors

ACCEPTED_Z = 2.0  # standard errors by which the validation error must fall
PAWN_TERM = 0  # its weight is the unit of all others: with it the scale moves
FEW_GAMES = 300  # below this the validation set alone cannot be trusted
METHODS: dict[str, Callable[[Samples, FitParameters, FitProblem, FitCallback], FitParameters]] = {
    "gauss-newton": gauss_newton,
    "descent": descent,
    "adam": adam,
}


@dataclass(frozen=True)
class Settings:
    """How to learn. `first` and `last` number the terms that may move, from 1; `names`, if any, are chosen instead.

    `decay` is the decay length in plies of the weight of a position, None for equal weight.

    `phases` is how many values each weight has in the end, 1 or 2, None for as many as at the start.
    `target` is what is to be predicted; with `even_stages` all stages of the game count alike. `prior` is the standard
    deviation of a weight about its start, in units of its size, 0 for no pull to the start, None for one that suits the
    number of games. `root_of_sum` shows errors as GreKo 2015 ML did: the root of the weighted sum over the number of
    positions. `resamplings` is how many give the intervals; 0 for a formula.
    """

    first: int = 6
    last: int = len(TERMS)
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
    names: tuple[str, ...] = ()

    @property
    def moving(self) -> str:
        """The terms that may move: "6..27", or their names."""
        return ", ".join(self.names) or f"{self.first}..{self.last}"

    def errors(self, sums: Sums) -> tuple[float, float]:
        """Training and validation error as they are shown."""
        if self.root_of_sum:
            train, valid = np.sqrt(sums.loss / sums.rows)
            return float(train), float(valid)
        return sums.train, sums.valid

    def gain_scale(self, before: Sums, after: Sums) -> float:
        """What a fall of the mean validation error is multiplied with to be one of the error that is shown.

        A difference of roots is that of the squares over the sum of the roots.
        """
        if not self.root_of_sum:
            return 1.0
        (_, old), (_, new) = self.errors(before), self.errors(after)
        return old**2 / before.valid / (old + new)


ARTICLE = Settings(method="descent", decay=20.0, k=150.0, prior=0.0, split_by_position=True, root_of_sum=True)


@dataclass(frozen=True)
class Gain:
    """By how much the error on games not learned from fell, and its standard error, paired game by game.

    `folds` is how many parts of the games were kept aside in turn: 1 for the validation set alone.
    """

    decrease: float
    error: float
    folds: int = 1


@dataclass(frozen=True)
class Fitted:
    """A fit: the point at its start and at its end (rounded), the sums at its start, what might move, all its steps."""

    start: FitParameters
    end: FitParameters
    before: Sums
    problem: FitProblem
    steps: list[Step]
    interrupted: bool


@dataclass(frozen=True)
class Learned:
    """What came out: the point at the start and at the end (rounded), the sums at both, and whether to use it.

    `spread` is the standard error of each weight, float64[terms]; 0 for weights that were frozen; it is from so many
    `resamplings`, or a formula. `steps` are all that the fit reported.
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

    @property
    def accepted(self) -> bool:
        """Whether the validation error fell, and beyond doubt."""
        return self.after.valid < self.before.valid and self.gain.decrease > ACCEPTED_Z * self.gain.error


@dataclass
class _Keeper(FitCallback):
    """Keeps every step for when the fit is interrupted, and passes them on."""

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
    """The rows with a fifth of the games from this number on, or of all positions, held out.

    Raises LearnError where they cannot teach.
    """
    holdout = choose_holdout(rows.rows_of_games(), rows.results, settings.seed, settings.split_by_position, from_game)
    is_validation = holdout.rows(rows.game)
    if settings.split_by_position:
        check_holdout(len(rows), int(np.count_nonzero(is_validation)))
    return sample_of(rows, is_validation, settings.decay, settings.target, settings.even_stages)


def learn(
    sample: Samples, weights: np.ndarray, settings: Settings, callback: FitCallback, terms: Sequence[Term] = TERMS
) -> Learned:
    """Fit the weights that may move, and judge the fit; Ctrl-C ends the fit and keeps the best so far.

    Columns of the sample, `weights` and `terms` belong together.
    """
    return judge(sample, fit(sample, weights, settings, callback, terms), settings, callback)


def fit(
    sample: Samples, weights: np.ndarray, settings: Settings, callback: FitCallback, terms: Sequence[Term] = TERMS
) -> Fitted:
    """Fit K, then the weights that may move, and round them; Ctrl-C ends it and keeps the best so far.

    Raises LearnError where two values of a weight would have to become one.
    """
    weights = start_of(weights, settings.phases, len(terms))
    start = FitParameters(weights, 1 / settings.k) if settings.k else fit_k(sample, weights, settings.loss)
    before = gather(sample, start, settings.loss, products=False)
    problem = problem_of(sample, weights, settings, terms)
    keeper = _Keeper(callback)
    keeper.stepped(Step(start, before))
    interrupted = False
    try:
        best = METHODS[settings.method](sample, start, problem, keeper)
    except KeyboardInterrupt:
        interrupted, best = True, keeper.steps[-1].parameters
    return Fitted(start, _round(best, problem), before, problem, keeper.steps, interrupted)


def judge(sample: Samples, fitted: Fitted, settings: Settings, callback: FitCallback) -> Learned:
    """How a fit does on games not learned from, and how sure its weights are; Ctrl-C leaves a formula for the latter.

    Where the validation set leaves a doubt, or is small, all games are kept aside in turn.
    """
    start, end, problem, interrupted = fitted.start, fitted.end, fitted.problem, fitted.interrupted
    after = gather(sample, end, problem.loss)
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
    return Learned(start, end, fitted.before, after, gain, spread, resamplings, problem, fitted.steps, interrupted)


def start_of(weights: np.ndarray, phases: int | None, terms: int) -> np.ndarray:
    """The weights that learning starts from with so many phases; raises LearnError."""
    if phases == 1 and phases_of(weights, terms) == 2:
        raise LearnError("the weights have two phases, and one cannot be learned from there: name others by --weights")
    return in_two_phases(weights, terms) if phases == 2 else weights


def problem_of(sample: Samples, weights: np.ndarray, settings: Settings, terms: Sequence[Term] = TERMS) -> FitProblem:
    """What the settings let move.

    Where all may move that decide the scale, the value of a pawn among them, K keeps the value that fits the weights at
    the start: so scores go on to mean what they meant, which is what the search is made for.
    """
    phases = phases_of(weights, len(terms))
    moving = np.arange(settings.first - 1, min(settings.last, len(terms)))
    if settings.names:
        moving = np.flatnonzero([term.name in settings.names for term in terms])
    free = np.concatenate([moving + phase * len(terms) for phase in range(phases)])
    bounds = np.tile(np.array([term.bounds for term in terms], dtype=np.float64), (phases, 1))
    prior = prior_spread(len(sample.games(is_validation=False))) if settings.prior is None else settings.prior
    spread = prior * sizes(weights, np.tile(_usual_sizes(terms), phases)) if prior else None
    return FitProblem(free, bounds, settings.k is None and PAWN_TERM not in moving, weights, settings.loss, spread)


def _usual_sizes(terms: Sequence[Term]) -> np.ndarray:
    """The size of each term's weight in the file that comes with Merino; 0 for a term that it does not have."""
    largest = np.max(np.abs(halves(defaults(), len(TERMS))), axis=0)
    usual = {term.name: float(size) for term, size in zip(TERMS, largest, strict=True)}
    return np.array([usual.get(term.name, 0.0) for term in terms])


def _round(parameters: FitParameters, problem: FitProblem) -> FitParameters:
    """Whole centipawns, within bounds."""
    weights = parameters.weights.copy()
    rounded = np.rint(weights[problem.free])
    weights[problem.free] = np.clip(
        rounded, np.ceil(problem.bounds[problem.free, 0]), np.floor(problem.bounds[problem.free, 1])
    )
    return FitParameters(weights + 0.0, parameters.inverse_k)  # no -0


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
    """The gain over all games, each part of them judged by a fit to the others; the validation set is one part.

    A fifth of the games often cannot tell what all of them can. However the weights were fitted, Gauss-Newton fits
    here: all methods come to the same place.
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
