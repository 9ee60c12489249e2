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
although the prior keeps it there.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from merino.core.common.work import in_order
from merino.eval.linear import phases, registry
from merino.eval.linear.registry import TERMS, Term
from merino.eval.linear.weights import defaults
from merino.learn import positions, reading
from merino.learn import sample as samples
from merino.learn.request import DESCENT, SILENT, Events, Settings
from merino.learn.sample import TRAIN, Detail, FitParameters, Sample, Sums, gather

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


class Trace:
    """The steps of a fit, so that one that is interrupted has a result, with a line for each in `events`.

    A line has the number of the step, both errors, the time and the change.
    """

    def __init__(self, events: Events, settings: Settings, names: Sequence[str]) -> None:
        self.events, self._settings, self.names = events, settings, names
        self.steps: list[Step] = []

    def stepped(self, step: Step) -> None:
        """Record a step; a method begins with a pass at the start, which is none."""
        before, now = self.steps[-1].parameters if self.steps else None, step.parameters
        is_same = before and before.inverse_k == now.inverse_k and np.array_equal(before.weights, now.weights)
        if is_same and step.cycle is None:
            return
        changed = f"K = {now.k:.1f}"
        if step.term is not None:
            changed = f"[{step.cycle}.{step.term + 1}] {now.weights[step.term] + 0.0:g}"
        elif before is not None and step.cycle is None:
            change = now.weights - before.weights
            index = int(np.argmax(np.abs(change)))
            if abs(change[index]) >= 0.05:
                changed = f"{self.names[index]} {change[index]:+.1f}"
        train, valid = step.sums.errors(self._settings.root_of_sum)
        self.events.detail(f"{len(self.steps)} {train:.12f} {valid:.12f} {datetime.now():%Y-%m-%d %H:%M:%S} {changed}")
        self.steps.append(step)
        self.events.stepped(step)


@dataclass(frozen=True)
class FitProblem:
    """The free weights, their bounds and the prior.

    `free` are the indices of the weights that may move, `bounds` is float64[weights, 2]. `spread`, float64[weights], is
    the prior's standard deviation of each weight about its `start`, in centipawns; None for no prior. `centring` is the
    matrix of `centring_of`, None where no table is to be centred: weights times it score the same. `names` has
    those of the weights.
    """

    free: np.ndarray
    bounds: np.ndarray
    fit_k: bool
    start: np.ndarray
    spread: np.ndarray | None = None
    centring: np.ndarray | None = None
    names: Sequence[str] = ()

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
        directions[self.free, np.arange(len(self.free))] = parameters.inverse_k / positions.FEATURE_SCALE
        directions[:, -1] = parameters.weights / positions.FEATURE_SCALE
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


def problem_of(sample: Sample, weights: np.ndarray, terms: Sequence[Term], settings: Settings) -> FitProblem:
    """The problem of a fit from `weights`, in which the terms may move that the settings name.

    If the value of a pawn may move, and so the scale of all weights, K keeps the value that fits the weights at the
    start, as one that is known does: scores keep their meaning, on which the margins of the search depend.
    """
    prior = prior_spread(sample) if settings.prior is None else settings.prior
    of = terms if isinstance(terms, registry.TermSet) else TERMS
    largest = np.max(np.abs(phases.halves(defaults(of), len(of))), axis=0)  # of the weights that come with Merino
    usual = {term.name: float(size) for term, size in zip(of, largest, strict=True)}
    number = phases.phases_of(weights, len(terms))
    names = phases.column_names(terms, number)
    moving = np.arange(settings.first - 1, min(settings.last or len(terms), len(terms)))
    if settings.names:
        moving = np.flatnonzero([term.name in settings.names for term in terms])
    free = np.concatenate([moving + phase * len(terms) for phase in range(number)])
    bounds = np.tile(np.array([term.bounds for term in terms], dtype=np.float64), (number, 1))
    usual_sizes = np.tile([usual.get(term.name, 0.0) for term in terms], number)
    sizes = np.maximum(np.maximum(np.abs(weights), usual_sizes), MIN_SIZE)
    fits_k, centring = settings.k is None and PAWN_TERM not in moving, centring_of(sample, terms, number, free)
    return FitProblem(free, bounds, fits_k, weights, prior * sizes if prior else None, centring, names)


def prior_spread(sample: Sample) -> float:
    """The default prior: the deviation of a weight in units of its size.

    It grows with the root of the number of training games, so the pull fades twice: against the loss, and by itself.
    """
    return SPREAD * float(np.sqrt(len(sample.games(is_validation=False)) / SPREAD_AT))


def centring_of(sample: Sample, terms: Sequence[Term], number: int, free: np.ndarray) -> np.ndarray | None:
    """The matrix that centres the tables of weights, float64[weights, weights]; None where there is none to centre.

    A table is centred in a phase in which all its weights may move, and those that take what it has in common; `free`
    are the indices of the weights that may move.
    """
    places = {each.name: at for each, at in registry.to_read(terms)}
    tables = [
        each for each, _ in registry.to_read(terms) if isinstance(each, registry.TermTable) and each.counts is not None
    ]
    if not tables:
        return None
    found, counts = np.eye(number * len(terms)), samples.carrier_counts(sample, number)[:, 0].astype(np.float64)
    for table in tables:
        takes_it = places.get(table.counts or "")
        if table.counts and takes_it is None:
            continue  # a derived set may lack the term
        for first in range(0, number * len(terms), len(terms)):
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


def gauss_newton(
    sample: Sample, start: FitParameters, problem: FitProblem, trace: Trace | None = None, known: Step | None = None
) -> FitParameters:
    """The parameters that minimise the objective within bounds exactly.

    A large sample is first fitted on a part, whose steps are not recorded; this saves most of the time. It goes
    on from the last step of another fit that is `known`, unless that stayed where it began.
    """
    if known is not None and len(known.sums.products):
        return approach(sample, known.parameters, problem, trace.stepped if trace else SILENT.stepped, known=known.sums)
    *parts, whole = samples.strides(sample)
    for stride in parts:
        start = approach(sample, start, problem, stride=stride, tolerance=ROUGH_TOLERANCE)
    return approach(sample, start, problem, trace.stepped if trace else SILENT.stepped, whole)


def approach(
    sample: Sample,
    parameters: FitParameters,
    problem: FitProblem,
    stepped: Callable[[Step], object] = SILENT.stepped,
    stride: int = 1,
    tolerance: float = TOLERANCE,
    known: Sums | None = None,
) -> FitParameters:
    """Gauss-Newton on every `stride`-th block, starting at `parameters`, until a step would gain next to nothing.

    The products take most of the time of a pass. They are kept as long as steps keep what they promise, so those of the
    sums that are `known` at the start may be of other parameters or other games.
    """
    damping = 1e-6
    sums = known or gather(sample, parameters, Detail.PRODUCTS, stride)
    best, matrix = problem.objective(sums, parameters, stride), problem.matrix(sums, parameters, stride)
    stepped(Step(parameters, sums))
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
        else:
            found = replace(found, products=sums.products)
        best, parameters, sums, damping = best - fall, candidate, found, damping / 4
        stepped(Step(parameters, sums))
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


class _RowScores:
    """The scores of all rows, float64[n], and of the rows in which the term of one weight is not 0 all that counts."""

    def __init__(self, sample: Sample, weights: np.ndarray) -> None:
        self._sample, self._phases = sample, len(weights) // sample.terms
        self._scores = samples.scores_of(sample, weights).astype(np.float64)
        cuts = np.linspace(0, sample.size, SHARES + 1).astype(np.int64)
        self._spans = [slice(*cuts[share : share + 2]) for share in range(SHARES)]
        self._picked: list[tuple[np.ndarray, ...]] = []

    def pick(self, column: int) -> None:
        """Select a weight by its index."""
        phase, term = divmod(column, self._sample.terms)
        shares = phases.shares_of_phases(self._phases)[phase]

        def work(span: slice) -> tuple[np.ndarray, ...]:
            found = np.flatnonzero(self._sample.features[span, term]) + span.start
            counts = self._sample.features[found, term] / positions.FEATURE_SCALE * shares[self._sample.stage[found]]
            return found, counts, *self._sample.targets(found), self._sample.is_validation[found]

        self._picked = list(in_order(work, self._spans))

    def losses(self, inverse_k: float, change: float) -> np.ndarray:
        """The summed loss of the selected rows by set, float64[2], with the weight changed by `change`."""

        def work(picked: tuple[np.ndarray, ...]) -> np.ndarray:
            found, counts, labels, weights, sides = picked
            predicted = 1 / (1 + np.exp(-inverse_k * (self._scores[found] + change * counts)))
            return np.bincount(sides, weights * (predicted - labels) ** 2, 2)

        return np.sum(list(in_order(work, self._picked)), axis=0)

    def shift(self, change: float) -> None:
        """Apply a change of the selected weight to all scores."""
        for found, counts, *_ in self._picked:
            self._scores[found] += change * counts


def descent(sample: Sample, start: FitParameters, problem: FitProblem, trace: Trace) -> FitParameters:
    """The point where no step of a single weight helps, or the validation error has stopped falling."""
    parameters, sums, names = start, gather(sample, start), trace.names
    for cycle in range(1, 1000):
        valid, row_scores = sums.valid, _RowScores(sample, parameters.weights)
        for number, term in enumerate(problem.free.tolist()):
            trace.events.progressed(f"Cycle {cycle}", number / len(problem.free))
            before = parameters.weights[term] + 0.0
            trace.events.detail(f"Parameter {term + 1} of {len(names)}: {names[term]} = {before:g}")
            parameters, sums = _move(row_scores, Step(parameters, sums, term, cycle), problem, trace)
        if problem.fit_k:
            parameters = samples.fit_k(sample, parameters.weights, parameters.inverse_k)
            sums = gather(sample, parameters)
            trace.stepped(Step(parameters, sums, cycle=cycle))
        if sums.valid >= valid:
            break
    return parameters


def _move(row_scores: _RowScores, at: Step, problem: FitProblem, trace: Trace) -> tuple[FitParameters, Sums]:
    """Step the weight of `at` up or down while that helps: the parameters and sums afterwards."""
    parameters, sums, term = at.parameters, at.sums, at.term or 0
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
            trace.stepped(Step(parameters, sums, term, at.cycle))
        if parameters.weights[term] != first:
            break
    row_scores.shift(parameters.weights[term] - first)
    return parameters, sums


@dataclass(frozen=True)
class Fitted:
    """A fit: parameters at the start and at the end (rounded), sums at the start, the problem, and all steps."""

    start: FitParameters
    end: FitParameters
    before: Sums
    problem: FitProblem
    steps: list[Step]
    interrupted: bool


def fit_all(data: reading.TrainingData, events: Events) -> tuple[Settings, Fitted]:
    """The fit with the pull whose weights predict the validation set best, and its settings.

    The error against results alone says too little for that: they get the usual pull. `events` follow the first fit.
    Ctrl-C ends a fit and keeps the best so far. Raises LearnError.
    """
    request, settings = data.request, data.request.settings
    best = first = fit(data.sample, data.start, settings, data.terms, events)
    if settings.prior is not None or first.interrupted or not settings.target.needs_scores:
        return settings, best
    least, usual = gather(data.sample, first.end).valid, prior_spread(data.sample)
    for factor in request.choice.pulls:
        other = replace(request.settings, prior=factor * usual)
        fitted = fit(data.sample, data.start, other, data.terms, alike=first)
        if (found := gather(data.sample, fitted.end).valid) < least:
            settings, best, least = other, fitted, found
        if fitted.interrupted:
            return settings, replace(best, interrupted=True)
    return settings, best


def fit(
    sample: Sample,
    weights: np.ndarray,
    settings: Settings,
    terms: Sequence[Term] = TERMS,
    events: Events = SILENT,
    alike: Fitted | None = None,
) -> Fitted:
    """Fit K, then the free weights, and round them; Ctrl-C ends the fit and keeps the best so far.

    One that is `alike` but for the pull, of the same method, gives K and where to begin.
    """
    if alike is None:
        start = FitParameters(weights, 1 / settings.k) if settings.k else samples.fit_k(sample, weights)
        before = gather(sample, start)
    else:
        start, before = alike.start, alike.before
    problem = problem_of(sample, weights, terms, settings)
    trace, interrupted = Trace(events, settings, problem.names), False
    trace.stepped(Step(start, before))
    try:
        if settings.method == DESCENT:
            best = descent(sample, start, problem, trace)
        else:
            best = gauss_newton(sample, start, problem, trace, alike.steps[-1] if alike else None)
    except KeyboardInterrupt:
        interrupted, best = True, trace.steps[-1].parameters
    return Fitted(start, problem.rounded(best), before, problem, trace.steps, interrupted)
