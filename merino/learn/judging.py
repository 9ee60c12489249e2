"""The stage that judges: a fit is judged on games kept apart, matches find how much of its step to take, and a report.

The gain is the fall of the error on those games, with a game as the unit. A lower error does not predict strength:
between the whole step from the old weights to the new ones and parts of it, heats of short matches decide. The gain of
a share of the step is a curve through what the shares that played have gained, and its top is taken.

The report is a summary, also as text, and the record that `merino plot` draws.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merino.core.common import files, sealed, text
from merino.eval.linear import family, registry
from merino.eval.linear.phases import column_names, phases_of
from merino.formats.sources import LeftOut
from merino.learn import fitting, reading
from merino.learn import sample as samples
from merino.learn.fitting import ACCEPTED_Z, FitProblem, Fitted
from merino.learn.request import SILENT, Events, LearnError, LearnRequest, Settings
from merino.learn.sample import FitParameters, Sample, Sums
from merino.match import prove, statistics
from merino.match.players import OwnPlayer
from merino.match.report import duration, signed

WHOLE = 1.0
# Of `expected_gain`: the Elo if the whole error were gone, and its power; the least that is expected, and what is sure;
# and by how many trials of starts, games and their number (docs/lab/learning.md).
ELO_OF_ALL, POWER, LEAST_ELO, SURE_ELO, TRIALS = 1000.0, 1.75, 18.0, 60.0, 36
MOST_NAMED = 3  # weights in the sentence on what changed
# A share s of a step gains a * s - b * s**2. What a and b are before any game, and the deviations from that, are from
# heats of ten runs, from weak weights and from good ones (docs/lab/learning.md).
RISE, BEND = statistics.score_of(100.0) - 0.5, statistics.score_of(90.0) - 0.5
RISE_SPREAD, BEND_SPREAD = statistics.score_of(100.0) - 0.5, statistics.score_of(50.0) - 0.5
CURVE = np.arange(2, 21) / 20  # the candidate shares
RARE_GAMES = 100  # a term that is not 0 in fewer games is flagged
FROZEN = "frozen"  # the flag of weights that did not move
FORMAT = "merino learning record 1"


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


def learn(
    sample: Sample,
    weights: np.ndarray,
    settings: Settings,
    terms: Sequence[registry.Term] = registry.TERMS,
    events: Events = SILENT,
) -> Learned:
    """Fit the free weights and judge the fit; Ctrl-C ends the fit and keeps the best so far.

    `weights` and `terms` are in the order of the columns of the sample. Raises LearnError if weights of two phases
    would have to become weights of one.
    """
    start = reading.start_of(weights, settings.phases, len(terms))
    return judge(sample, fitting.fit(sample, start, settings, terms, events), settings)


@dataclass(frozen=True)
class WeightLine:
    """A weight, or its value in the phase that its name ends with: before, after, 95% interval, and warnings.

    `positions` and `games` are those of the training set in which its term is not 0. `clear` says whether the change is
    significant, that is, whether the interval excludes the old weight; None if nothing changed. `table` is the name of
    the table that it is a cell of, None for a term that stands alone.
    """

    name: str
    old: float
    new: float
    low: float
    high: float
    positions: int
    games: int
    clear: bool | None
    flags: tuple[str, ...]
    table: str | None = None

    @property
    def clear_word(self) -> str:
        """Whether the change is significant, in a table."""
        return {True: "yes", False: "no", None: ""}[self.clear]


@dataclass(frozen=True)
class Tried:
    """A share of the step that played heats: in words, as a number, and its result with 95% error."""

    way: str
    share: float
    games: int
    elo: float
    elo_error: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The results of a run, for people and programs. `target` describes in words what the errors are measured against.

    `games` and `positions` are those of both sets. `gain` is the fall of the displayed error on validation games,
    `gain_error` its standard error, paired by game, and `folds` the number of parts in cross-validation, 1 for the
    validation set alone. `verdict` says what was done with the new weights, `written` is their file, if there is one,
    `in_use` says whether they replaced the old ones, and `match` is the result of their match, if there was one.
    `tried` are the shares of the step that were compared by heats. `expected_elo` is what such games should gain, see
    `expected_gain`. `left_out` is what `LeftOut.as_json` gives.
    """

    games: int
    positions: int
    train_games: int
    train_positions: int
    valid_games: int
    valid_positions: int
    k_before: float
    k: float
    train_before: float
    train_after: float
    valid_before: float
    valid_after: float
    gain: float
    gain_error: float
    folds: int
    accepted: bool
    interrupted: bool
    method: str
    target: str
    seconds: float = 0.0
    reading_seconds: float = 0.0
    weights: tuple[WeightLine, ...]
    verdict: str = ""
    written: str | None = None
    in_use: bool = False
    match: dict[str, Any] | None = None
    tried: tuple[Tried, ...] = ()
    expected_elo: float | None = None
    left_out: dict[str, Any] = field(default_factory=lambda: LeftOut().as_json())

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`; an infinite Elo is null."""
        tried = [
            asdict(each) | {name: sealed.finite(getattr(each, name)) for name in ("elo", "elo_error")}
            for each in self.tried
        ]
        return asdict(self) | {"installed": self.in_use, "tried": tried, "ranks": None} | self.left_out


def judge(sample: Sample, fitted: Fitted, settings: Settings) -> Learned:
    """The gain of a fit on validation games, and the standard errors of its weights.

    If the gain is not significant, or the games are few, it is measured by cross-validation.
    """
    start, end, problem = fitted.start, fitted.end, fitted.problem
    after = samples.gather(sample, end, samples.Detail.PRODUCTS)
    gain = _gain(_error_decreases(sample, start, end))
    in_doubt = (
        gain.decrease <= ACCEPTED_Z * gain.error
        or len(sample.games(False)) + len(sample.games(True)) <= fitting.FEW_GAMES
    )
    if gain.decrease > 0 and in_doubt and not fitted.interrupted and not settings.split_by_position:
        gain = _cross_validated(sample, start, end, problem, settings.seed, after.products)
    return Learned(**vars(fitted), after=after, gain=gain, spread=sandwich_errors(sample, end, problem, after))


def sandwich_errors(sample: Sample, parameters: FitParameters, problem: FitProblem, sums: Sums) -> np.ndarray:
    """Standard errors of the weights at an optimum, float64[weights], by the sandwich formula clustered by game.

    `sums` must be those at `parameters`, with products. Frozen weights get 0. Formula: K.-Y. Liang and S. Zeger (1986).
    """
    free, size = problem.free, len(problem.free) + problem.fit_k
    inverse = np.linalg.pinv(problem.matrix(sums, parameters)[:size, :size])
    products = samples.products_by_game(sample, parameters, problem.directions(parameters)[:, :size])
    spread = np.zeros(len(free)) if problem.spread is None else problem.spread[free]
    held_back = np.append(problem.ridge(sums) * spread, 0.0)[:size]  # the part of the variance due to the prior
    covariance = (inverse @ (products + np.diag(held_back**2)) @ inverse)[: len(free), : len(free)]
    if problem.centring is not None:
        centring = problem.centring[np.ix_(free, free)]
        covariance = centring @ covariance @ centring.T
    errors = np.zeros(len(problem.bounds))
    errors[free] = np.sqrt(np.maximum(np.diag(covariance), 0))
    return errors


def part_of_step(sample: Sample, learned: Learned, share: float) -> Learned:
    """The same fit with only this share of its step from the start, rounded; its gain is on the validation set."""
    start, end = learned.start, learned.end
    between = learned.problem.rounded(replace(end, weights=start.weights + share * (end.weights - start.weights)))
    gain = _gain(_error_decreases(sample, start, between))
    after, spread = samples.gather(sample, between), share * learned.spread
    return replace(learned, end=between, after=after, gain=gain, spread=spread)


def _error_decreases(sample: Sample, start: FitParameters, end: FitParameters) -> np.ndarray:
    """The decrease of the summed validation error, and the weight, of each validation game: float64[games, 2]."""
    old, new = samples.errors_by_game(sample, start), samples.errors_by_game(sample, end)
    has_rows = old[:, 1] > 0
    return np.column_stack([(old - new)[has_rows, 0], old[has_rows, 1]])


def _gain(decreases: np.ndarray, folds: int = 1) -> Gain:
    sample_weight = decreases[:, 1].sum()
    decrease = decreases[:, 0].sum() / sample_weight
    residual = decreases[:, 0] - decrease * decreases[:, 1]
    count = len(decreases)
    error = np.sqrt((residual**2).sum() * count / max(1, count - 1)) / sample_weight
    return Gain(float(decrease), float(error), folds)


def _cross_validated(
    sample: Sample, start: FitParameters, end: FitParameters, problem: FitProblem, seed: int, products: np.ndarray
) -> Gain:
    """The gain by cross-validation: each part of the games is judged by a fit to the others.

    The validation set is one of the parts. All games together often show a gain that a fifth of them cannot. The fits
    are by Gauss-Newton, whatever the method: all methods have the same optimum. They begin where the fit to all ends,
    with its `products`, as those of other games are much the same.
    """
    decreases = [_error_decreases(sample, start, end)]
    games = np.random.default_rng(seed).permutation(sample.games(is_validation=False))
    for part in np.array_split(games, round(1 / samples.VALIDATION_SHARE) - 1):
        if len(part):
            fold = sample.with_validation(part)
            sums = replace(samples.gather(fold, end, samples.Detail.GRADIENT), products=products)
            fitted = problem.rounded(fitting.approach(fold, end, problem, known=sums))
            decreases.append(_error_decreases(fold, start, fitted))
    return _gain(np.concatenate(decreases), len(decreases))


class Way(NamedTuple):
    """A share of the step of a fit, judged."""

    share: float
    learned: Learned

    @property
    def name(self) -> str:
        """The share in words."""
        return f"{self.share:.0%} of the step"


@dataclass(frozen=True)
class Judged:
    """The fit that answers a request with these settings, its summary, and its record, if one is wanted."""

    request: LearnRequest
    terms: registry.TermSet
    learned: Learned
    summary: Summary
    record: dict[str, Any] | None

    def report(self, events: Events) -> None:
        """Report the result: what changed, and in detail all weights and errors."""
        for line in render(self.summary, self.request.settings.root_of_sum):
            events.detail(line)
        if self.learned.interrupted:
            events.say("Interrupted: the best so far is kept.")
        events.say(_changes(self.summary.weights, self.terms))


def judge_fit(
    data: reading.TrainingData,
    settings: Settings,
    fitted: Fitted,
    heats: prove.Heats | None,
    events: Events,
    wants_record: bool,
) -> Judged:
    """The fit, or the best part of its step by heats, if there are any, with all that there is to report of it."""
    learned, tried = judge(data.sample, fitted, settings), tuple[Tried, ...]()
    seconds = time.perf_counter() - data.began
    request, terms = replace(data.request, settings=settings), data.terms
    expected = expected_gain(learned, request)
    if not learned.interrupted:
        events.say(_predicted(data.games, expected))
    if heats is not None and learned.accepted and not learned.interrupted and (expected != 0 or request.prove):
        events.say("Matches of a minute or two decide.")
        ways = _with_shares(data.sample, learned, request.choice.shares)
        if len(ways) > 1:
            learned, tried = _by_heats(ways, data, heats, events)
    summary = replace(
        summarise(data.sample, learned, settings, terms),
        games=data.games,
        seconds=seconds,
        reading_seconds=data.seconds,
        tried=tried,
        expected_elo=expected,
        left_out=data.left_out.as_json(),
    )
    record = record_of(data.sample, learned, summary, request, terms) if wants_record else None
    return Judged(request, terms, learned, summary, record)


def expected_gain(learned: Learned, request: LearnRequest) -> float | None:
    """The Elo that the fit of such games should gain by earlier trials, 0 for none; None where nothing is known of it.

    A teacher's scores and random-move positions let the error predict strength: the gain grows with the part of the
    error that is gone on games kept apart (docs/lab/learning.md).
    """
    if not request.has_random_moves:
        return None
    elo = ELO_OF_ALL * max(learned.gain.decrease / learned.before.valid, 0.0) ** POWER
    return elo if learned.accepted and elo >= LEAST_ELO else 0.0


def _predicted(games: int, expected: float | None) -> str:
    """What is expected of the games, in a sentence."""
    teaches = f"What {text.counted(games, 'game')} can teach these weights:"
    if expected is None:
        return f"{teaches} only a match shows it, as results alone predict strength badly."
    gain = "no gain is to be expected"
    if expected:
        gain = (
            f"some {expected:.0f} Elo are to be expected" if expected >= SURE_ELO else "a small gain at most, to 40 Elo"
        )
    return f"{teaches} {gain}, by {TRIALS} trials of other games and weights."


def _changes(lines: Sequence[WeightLine], terms: registry.TermSet) -> str:
    """What would change, the largest changes that are no noise with the first clause on their terms."""
    changed = sum(line.clear is not None for line in lines)
    clear = [
        (abs(line.new - line.old), line, term) for line, term in zip(lines, cycle(terms), strict=False) if line.clear
    ]
    said = f"What they would change: {changed} of {len(lines)} weights, {len(clear) or 'none'} by more than noise"
    named = [
        f"{re.split('[.,:;]', term.sentence)[0]} ({line.name}) {line.old + 0.0:g} to {line.new + 0.0:g}"
        for _, line, term in sorted(clear, key=itemgetter(0), reverse=True)[:MOST_NAMED]
    ]
    return f"{said}, most of all: {'; '.join(named)}." if named else f"{said}."


def _with_shares(sample: Sample, learned: Learned, shares: Sequence[float]) -> list[Way]:
    """The whole step and those of the shares that are accepted, too."""
    ways = [Way(WHOLE, learned)] + [Way(each, part_of_step(sample, learned, each)) for each in shares if each != WHOLE]
    return [way for way in ways if way.learned.accepted]


def _by_heats(
    ways: Sequence[Way], data: reading.TrainingData, heats: prove.Heats, events: Events
) -> tuple[Learned, tuple[Tried, ...]]:
    """The share of the step that gains most by heats against the old weights, and what was tried."""
    games, control, say, terms = heats.games(len(ways)), heats.time_control, events.detail, data.terms
    say(
        f"{len(ways)} shares of the step are compared in {games} games against the old weights, {control} a move; "
        "after each round the better half plays on."
    )
    began = time.perf_counter()
    players = [OwnPlayer(way.name, family.LinearEvaluation(way.learned.end.weights, terms=terms)) for way in ways]
    old = OwnPlayer("the old weights", family.LinearEvaluation(ways[0].learned.start.weights, terms=terms))
    about, threads = belief([way.share for way in ways]), data.request.concurrency
    found = prove.play_heats(players, old, heats, about, events.match_state, threads)
    elos = [statistics.estimate(pairs) for pairs in found.pairs]
    tried = tuple(
        Tried(way.name, way.share, 2 * int(pairs.sum()), elo.elo, elo.elo_error)
        for way, pairs, elo in zip(ways, found.pairs, elos, strict=True)
    )
    for each in tried:
        if each.games:
            say(f"  {each.way}: {each.games} games, Elo {signed(each.elo, each.elo_error)}")
    best = ways[found.best] if found.interrupted else _top_of_curve(data.sample, ways, found.pairs, ways[found.best])
    say(f"The best after {duration(time.perf_counter() - began)}, by the games of all shares: {best.name}.")
    learned = replace(best.learned, interrupted=True) if found.interrupted else best.learned
    return learned, tried


def _top_of_curve(sample: Sample, ways: Sequence[Way], pairs: Sequence[np.ndarray], best: Way) -> Way:
    """The share that is expected to gain most after these games, or `best` if its error does not fall."""
    gains = prove.expected_gains(pairs, belief([*(way.share for way in ways), *CURVE.tolist()]))
    share = float(CURVE[np.argmax(gains[len(ways) :])])
    whole = next(way for way in ways if way.share == WHOLE)
    if share == WHOLE:
        return whole
    found = Way(share, part_of_step(sample, whole.learned, share))
    return found if found.learned.accepted else best


def belief(shares: Sequence[float]) -> prove.Belief:
    """The gains that shares of a step are believed to have before any game."""
    share = np.array(shares)
    spread = RISE_SPREAD**2 * np.outer(share, share) + BEND_SPREAD**2 * np.outer(share**2, share**2)
    return prove.Belief(RISE * share - BEND * share**2, spread)


def summarise(
    sample: Sample, learned: Learned, settings: Settings, terms: Sequence[registry.Term] = registry.TERMS
) -> Summary:
    """The summary of a fit to a sample; it took no time, and all games with positions are counted."""
    errors = [sums.errors(settings.root_of_sum) for sums in (learned.before, learned.after)]
    (train_before, valid_before), (train_after, valid_after) = errors
    validation, train_games, valid_games = sample.validation_rows, len(sample.games(False)), len(sample.games(True))
    scale = 1.0
    if settings.root_of_sum:  # a difference of roots is that of the squares divided by the sum of the roots
        scale = valid_before**2 / learned.before.valid / (valid_before + valid_after)
    return Summary(
        games=len(sample.results),
        positions=sample.size,
        train_games=train_games,
        train_positions=sample.size - validation,
        valid_games=valid_games,
        valid_positions=validation,
        k_before=learned.start.k,
        k=learned.end.k,
        train_before=train_before,
        train_after=train_after,
        valid_before=valid_before,
        valid_after=valid_after,
        gain=scale * learned.gain.decrease,
        gain_error=scale * learned.gain.error,
        folds=learned.gain.folds,
        accepted=learned.accepted,
        interrupted=learned.interrupted,
        method=settings.method,
        target=settings.target.describe(),
        weights=tuple(_lines(sample, learned, terms)),
    )


def _lines(sample: Sample, learned: Learned, terms: Sequence[registry.Term]) -> Iterator[WeightLine]:
    phases = phases_of(learned.end.weights, len(terms))
    names = column_names(terms, phases)
    counts = samples.carrier_counts(sample, phases)
    for index, name in enumerate(names):
        term, is_free = terms[index % len(terms)], index in learned.problem.free
        old, new = float(learned.start.weights[index]), float(learned.end.weights[index])
        width = statistics.Z_95 * float(learned.spread[index])
        positions, games = (int(count) for count in counts[index])
        remarks = {
            FROZEN: not is_free,
            "at its bound": is_free and new in term.bounds,
            f"rare: {text.counted(games, 'game')}": is_free and games < RARE_GAMES,
            "sign against its meaning": is_free and term.sign * new < 0,
        }
        flags = tuple(flag for flag, holds in remarks.items() if holds)
        clear, table = None if new == old else abs(new - old) >= width, term.table.name if term.table else None
        yield WeightLine(name, old, new, new - width, new + width, positions, games, clear, flags, table)


def record_of(
    sample: Sample,
    learned: Learned,
    summary: Summary,
    request: LearnRequest,
    terms: Sequence[registry.Term] = registry.TERMS,
) -> dict[str, Any]:
    """All that there is to draw of a run, as plain data."""
    began, phases = learned.steps[0].at, phases_of(learned.end.weights, len(terms))
    groups, steps = [term.group.title for term in terms] * phases, []
    for step in learned.steps:
        train, valid = step.sums.errors(request.settings.root_of_sum)
        weights = [round(float(weight), 3) for weight in step.parameters.weights]
        found = {"seconds": round(step.at - began, 3), "train": train, "valid": valid, "k": step.parameters.k}
        steps.append(found | {"weights": weights})
    return {
        "format": FORMAT,
        "files": list(request.files),
        "settings": asdict(request.settings),
        "summary": summary.as_json(),
        "terms": [{"name": name, "group": g} for name, g in zip(column_names(terms, phases), groups, strict=True)],
        "free": [int(index) for index in learned.problem.free],
        "steps": steps,
    }


def load_record(path: Path) -> dict[str, Any]:
    """Read a record; raises LearnError."""
    with files.faults_named(path, "a record of a run of learn", LearnError):
        record = sealed.from_json(files.read_user_file(path, files.STATE), str(path))
        if record.get("format") != FORMAT:
            raise ValueError(f'its "format" is not {FORMAT!r}')
    return record


_ROW = "{:24} {:>6} {:>6} {:>14} {:>5} {:>9} {:>6}".format  # of a table of weights
_ERROR_ROW = "{:20} {:>7} {:>10} {:>10} {:>10} {:>10}".format


def render(summary: Summary, root_of_sum: bool = False) -> list[str]:
    """The summary as lines of text; rows of tables have at most COLUMNS characters, other lines are for `fold`."""
    lines, remarks = ["", _ROW("term", "before", "after", "95% interval", "clear", "positions", "games")], list[str]()
    alone = [line for line in summary.weights if line.table is None]
    for line in alone:
        interval = FROZEN if FROZEN in line.flags else f"{round(line.low)} .. {round(line.high)}"
        values = f"{line.old + 0.0:g}", f"{line.new + 0.0:g}", interval
        lines.append(_ROW(line.name, *values, line.clear_word, line.positions, line.games))
        if flags := [flag for flag in line.flags if flag != FROZEN]:
            remarks.append(f"  {line.name}: {', '.join(flags)}")
    if cells := len(summary.weights) - len(alone):
        lines.append(f"{cells} cells of tables: --json and learning.json have them.")
    lines.append("")
    lines.append("95% interval: a game counts as one observation.")
    lines.append("Clear: whether the change is larger than its noise. Positions and games: training set.")
    kind = "root of the weighted sum over positions" if root_of_sum else "mean"
    lines += [*remarks, "", f"Error, {kind}: White's points predicted against {summary.target}."]
    lines.append(_ERROR_ROW("", "games", "positions", "before", "after", "fall"))
    for name, games, positions, *errors in (
        ("Training set", summary.train_games, summary.train_positions, summary.train_before, summary.train_after),
        ("Validation set", summary.valid_games, summary.valid_positions, summary.valid_before, summary.valid_after),
    ):
        before, after = errors
        shown = (f"{error:.6f}" for error in (before, after, before - after + 0.0))
        lines.append(_ERROR_ROW(name, games, positions, *shown))
    return [*lines, "", *_findings(summary)]


def _findings(summary: Summary) -> list[str]:
    times = summary.gain / summary.gain_error if summary.gain_error else 0.0
    aside = "the validation set"
    if summary.folds > 1:
        aside = f"games kept aside, each of {summary.folds} parts in turn (the validation set alone leaves a doubt),"
    return [
        f"On {aside} the error fell by {summary.gain + 0.0:.6f} +- {summary.gain_error:.6f}: "
        f"{times:.1f} standard errors (paired by game; {ACCEPTED_Z:g} are asked for).",
        f"K = {summary.k_before:.1f} centipawns on the old weights, {summary.k:.1f} on the new ones. "
        f"{summary.reading_seconds:.1f} s to read, {summary.seconds - summary.reading_seconds:.1f} s to fit and judge.",
    ]
