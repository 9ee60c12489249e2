"""The report of `learn`: its summary, also as text, and the record that `merino plot` draws.

Calibration: positions predicted to be worth 70% of the points should score 70%.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merino.core.common.files import STATE, faults_named, read_user_file
from merino.core.common.sealed import finite, from_json
from merino.core.common.text import counted
from merino.core.compiled.jit import entry
from merino.eval.linear.phases import SUFFIXES, column_names, phases_of
from merino.eval.linear.registry import TERMS, Term
from merino.eval.material import FULL_BOARD
from merino.learn.errors import LearnError
from merino.learn.fitting import ACCEPTED_Z, FEW_GAMES, IdleTerm, Learned
from merino.learn.loss_and_gradient import carrier_counts, scales_of, score_of
from merino.learn.request import Settings
from merino.learn.rescoring import RankFigure
from merino.learn.sample import FitParameters, Sample, Span

CONFIDENCE = 1.96  # standard errors on each side of a 95% interval
RARE_GAMES = 100  # a term that is not 0 in fewer games is flagged
ALIKE = 0.8  # correlation above which two terms cannot be told apart well
FROZEN = "frozen"
DROPPED = "left out"
HELD = (FROZEN, DROPPED)  # flags of weights that did not move
FORMAT = "merino learning record 1"
ENDGAME = "in the endgame"
BINS = 20
MAX_ROWS = 500_000  # to find the edges of the bins; of a larger sample, evenly spaced rows


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


class Seconds(NamedTuple):
    """How long a run took: until its games were read, and in all."""

    reading: float
    total: float


@dataclass(frozen=True)
class Ranks:
    """How old and new weights rank moves in so many positions; see `learn.rescoring`."""

    positions: int
    old: RankFigure
    new: RankFigure


@dataclass(frozen=True)
class Summary:
    """The results of a run, for people and programs. `target` describes in words what the errors are measured against.

    `games` and `positions` are those of both sets. `gain` is the fall of the displayed error on validation games,
    `gain_error` its standard error, paired by game, and `folds` the number of parts in cross-validation, 1 for the
    validation set alone. `verdict` says what was done with the new weights, `written` is their file, if there is one,
    `in_use` says whether they replaced the old ones, and `match` is the result of their match, if there was one.
    `tried` are the shares of the step that were compared by heats, and `ranks` says how the weights rank moves, if it
    was measured. `dropped` are the idle terms, which have weights of 0.
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
    seconds: float
    reading_seconds: float
    weights: tuple[WeightLine, ...]
    verdict: str = ""
    written: str | None = None
    in_use: bool = False
    match: dict[str, Any] | None = None
    tried: tuple[Tried, ...] = ()
    ranks: Ranks | None = None
    dropped: tuple[IdleTerm, ...] = ()

    @property
    def is_worse(self) -> bool:
        """Whether the new weights predict games kept aside worse than the old ones."""
        return self.gain < 0 or self.valid_after > self.valid_before

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`; an infinite Elo is null."""
        tried = [
            asdict(each) | {name: finite(getattr(each, name)) for name in ("elo", "elo_error")} for each in self.tried
        ]
        return asdict(self) | {"installed": self.in_use, "tried": tried}


def summarise(
    sample: Sample,
    learned: Learned,
    settings: Settings,
    games: int,
    seconds: Seconds,
    terms: Sequence[Term] = TERMS,
) -> Summary:
    """The summary of a run over `games` games."""
    (train_before, valid_before), (train_after, valid_after) = map(settings.errors, (learned.before, learned.after))
    validation = sample.validation_rows
    scale = settings.gain_scale(learned.before, learned.after)
    return Summary(
        games=games,
        positions=sample.size,
        train_games=len(sample.games(False)),
        train_positions=sample.size - validation,
        valid_games=len(sample.games(True)),
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
        seconds=seconds.total,
        reading_seconds=seconds.reading,
        weights=_lines(sample, learned, terms),
        dropped=learned.dropped,
    )


def _lines(sample: Sample, learned: Learned, terms: Sequence[Term]) -> tuple[WeightLine, ...]:
    phases = phases_of(learned.end.weights, len(terms))
    names = column_names(terms, phases)
    twins, counts = _twins(sample, learned, names), carrier_counts(sample, phases)
    lines, dropped = [], {each.name for each in learned.dropped}
    for index, name in enumerate(names):
        term = terms[index % len(terms)]
        old, new = float(learned.start.weights[index]), float(learned.end.weights[index])
        width = CONFIDENCE * float(learned.spread[index])
        positions, games = (int(count) for count in counts[index])
        if (term.table or term).name in dropped:
            flags: tuple[str, ...] = (DROPPED,)
        elif index in learned.problem.free:
            flags = (*_oddities(term, new, games), *(f"hard to tell from {other}" for other in twins[index]))
        else:
            flags = (FROZEN,)
        clear = None if new == old else abs(new - old) >= width
        interval, table = (new - width, new + width), term.table.name if term.table else None
        lines.append(WeightLine(name, old, new, *interval, positions, games, clear, flags, table))
    return tuple(lines)


def _oddities(term: Term, new: float, games: int) -> list[str]:
    flags = []
    if new in term.bounds:
        flags.append("at its bound")
    if games < RARE_GAMES:
        flags.append(f"rare: {counted(games, 'game')}")
    if term.sign * new < 0:
        flags.append("sign against its meaning")
    return flags


def _twins(sample: Sample, learned: Learned, names: Sequence[str]) -> list[list[str]]:
    """For each weight, the free weights whose features correlate with its own."""
    step = max(1, sample.size // 25_000)
    features, stages = map(np.concatenate, zip(*sample.each(partial(_rows_of_share, step)), strict=True))
    part = features.astype(np.float32)
    if len(names) > sample.terms:
        share = (stages[:, None] / FULL_BOARD).astype(np.float32)
        part = np.hstack([part * share, part * (1 - share)])
    deviation = part.std(axis=0)
    seen = [int(index) for index in learned.problem.free if deviation[index] > 0]
    correlation = np.corrcoef(part[:, seen].T) if len(seen) > 1 else np.eye(len(seen))
    twins: list[list[str]] = [[] for _ in names]
    for row, column in zip(*np.nonzero(np.triu(np.abs(correlation) > ALIKE, 1)), strict=True):
        twins[seen[row]].append(names[seen[column]])
        twins[seen[column]].append(names[seen[row]])
    return twins


def _rows_of_share(step: int, sample: Sample, span: Span) -> tuple[np.ndarray, np.ndarray]:
    """Every `step`-th row of the whole sample that is in a share: features, int16[n, terms], and stages, uint8[n]."""
    chosen = slice(span.first + -span.first % step, span.last, step)
    return sample.features[chosen].copy(), sample.stage[chosen].copy()  # views would come to life too late


def record_of(
    sample: Sample,
    learned: Learned,
    settings: Settings,
    summary: Summary,
    files: Sequence[str],
    terms: Sequence[Term] = TERMS,
    has_random_moves: bool = False,
) -> dict[str, Any]:
    """All that there is to draw of a run, as plain data.

    Where the sample has random-move positions, which have no result, there is no calibration: its lists are empty.
    """
    ends = {"before": learned.start, "after": learned.end}
    began, phases = learned.steps[0].at, phases_of(learned.end.weights, len(terms))
    groups = [term.group.title for term in terms] * phases
    steps = []
    for step in learned.steps:
        train, valid = settings.errors(step.sums)
        weights = [round(float(weight), 3) for weight in step.parameters.weights]
        steps.append(
            {
                "seconds": round(step.at - began, 3),
                "train": train,
                "valid": valid,
                "k": step.parameters.k,
                "weights": weights,
            }
        )
    return {
        "format": FORMAT,
        "files": list(files),
        "settings": asdict(settings),
        "summary": summary.as_json(),
        "terms": [{"name": name, "group": g} for name, g in zip(column_names(terms, phases), groups, strict=True)],
        "free": [int(index) for index in learned.problem.free],
        "steps": steps,
        "calibration": {
            name: [] if has_random_moves else [asdict(each) for each in calibration(sample, end)]
            for name, end in ends.items()
        },
    }


def load_record(path: Path) -> dict[str, Any]:
    """Read a record; raises LearnError."""
    with faults_named(path, "a record of a run of learn", LearnError):
        record = from_json(read_user_file(path, STATE), str(path))
        if record.get("format") != FORMAT:
            raise ValueError(f'its "format" is not {FORMAT!r}')
    return record


@dataclass(frozen=True)
class Bin:
    """Positions with similar predictions: the means of prediction and result, and the number of positions.

    `error` is the standard error of the mean result, clustered by game.
    """

    predicted: float
    scored: float
    error: float
    positions: int


def _predicted_of_share(parameters: FitParameters, step: int, sample: Sample, span: Span) -> np.ndarray:
    """Predictions for the validation rows of a share, taking every `step`-th row of the whole sample."""
    rows = np.arange(span.first, span.last)
    chosen = sample.is_validation[span.first : span.last] & (rows % step == 0)
    return _predictions(sample, span, parameters)[chosen]


def _binned(
    parameters: FitParameters, edges: np.ndarray, means: np.ndarray | None, sample: Sample, span: Span
) -> np.ndarray:
    """Sums over the validation rows of a share, by bin: weight, weight times prediction, weight times result, rows.

    If `means` has the mean result of each bin: the sums of the squared residuals of games instead.
    """
    rows = np.flatnonzero(sample.is_validation[span.first : span.last]) + span.first
    predicted = _predictions(sample, span, parameters)[rows - span.first]
    place, bins = np.searchsorted(edges, predicted), len(edges) + 1
    weight = sample.sample_weight[sample.to_end[rows]].astype(np.float64)
    label = sample.results[sample.game[rows]].astype(np.float64)
    if means is None:
        sums = [np.bincount(place, each, bins) for each in (weight, weight * predicted, weight * label)]
        return np.array([*sums, np.bincount(place, minlength=bins).astype(np.float64)])
    code = place * (span.last_game - span.first_game) + sample.game[rows] - span.first_game
    by_game = np.bincount(code, weight * (label - means[place]), bins * (span.last_game - span.first_game))
    return np.sum(by_game.reshape(bins, -1) ** 2, axis=1)


@entry
def _predict(sample, scales, inverse_k, first, last, predicted):
    for row in range(first, last):
        score = score_of(sample.features[row], scales[sample.stage[row]])
        predicted[row - first] = 1 / (1 + math.exp(-inverse_k * score))


def _predictions(sample: Sample, span: Span, parameters: FitParameters) -> np.ndarray:
    """The prediction for each row of a share, float64[n]."""
    found = np.empty(span.last - span.first)
    scales = scales_of(parameters.weights, sample.terms)
    _predict(sample, scales, parameters.inverse_k, span.first, span.last, found)
    return found


def calibration(sample: Sample, parameters: FitParameters) -> list[Bin]:
    """The validation set in bins of equal size, by ascending prediction; without those that weigh nothing."""
    step = max(1, sample.size // MAX_ROWS)
    seen = np.concatenate(list(sample.each(partial(_predicted_of_share, parameters, step))))
    edges = np.quantile(seen, np.linspace(0, 1, BINS + 1)[1:-1])
    weight, predicted, points, rows = np.sum(list(sample.each(partial(_binned, parameters, edges, None))), axis=0)
    means = points / np.where(weight, weight, 1.0)
    squares = np.sum(list(sample.each(partial(_binned, parameters, edges, means))), axis=0)
    return [
        Bin(
            float(predicted[number] / weight[number]),
            float(means[number]),
            float(np.sqrt(squares[number]) / weight[number]),
            int(rows[number]),
        )
        for number in np.flatnonzero(weight)
    ]


def render(summary: Summary, root_of_sum: bool = False) -> list[str]:
    """The summary as lines of text; rows of tables have at most COLUMNS characters, other lines are for `fold`."""
    alone = [line for line in summary.weights if line.table is None]
    lines = ["", _head("term", "95% interval"), *(_row(line) for line in _pairs(alone)), *_tables(summary.weights), ""]
    if any(line.name.endswith(SUFFIXES[1]) for line in summary.weights):
        lines.append("The first value of a term is that of the middlegame; positions count for the nearer phase.")
    lines.append("95% interval: a game counts as one observation.")
    lines.append("Clear: whether the change is larger than its noise. Positions and games: training set.")
    remarks = [(line.name, [flag for flag in line.flags if flag not in HELD]) for line in alone]
    lines += [f"  {name}: {', '.join(flags)}" for name, flags in remarks if flags]
    return [*lines, "", *_errors(summary, root_of_sum), "", *_findings(summary)]


def _pairs(weights: Sequence[WeightLine]) -> list[WeightLine]:
    """The weights in the order of the terms, with both values of a weight together."""
    places = {line.name.removesuffix(SUFFIXES[0]): place for place, line in enumerate(weights)}
    return sorted(weights, key=lambda line: places[line.name.removesuffix(SUFFIXES[0]).removesuffix(SUFFIXES[1])])


def _row(line: WeightLine) -> str:
    held = next((flag for flag in line.flags if flag in HELD), None)
    interval = held or f"{round(line.low)} .. {round(line.high)}"
    change = f"{line.new - line.old:+g}" if line.new != line.old else ""
    name = f"  {ENDGAME}" if line.name.endswith(SUFFIXES[1]) else line.name.removesuffix(SUFFIXES[0])
    return (
        f"{name:20} {line.old + 0.0:6g} {line.new + 0.0:6g} {change:>6} {interval:>14} {line.clear_word:>5} "
        f"{line.positions:9} {line.games:6}"
    )


def _head(name: str, middle: str) -> str:
    """The head of a table of weights; its first column and the fifth are called so."""
    return f"{name:20} {'before':>6} {'after':>6} {'change':>6} {middle:>14} {'clear':>5} {'positions':>9} {'games':>6}"


def _tables(weights: Sequence[WeightLine]) -> list[str]:
    """A row for each table and phase, if there are any: means over its cells without their signs."""
    cells = dict[tuple[str, str], list[WeightLine]]()
    for line in _pairs(weights):
        if line.table is not None:
            phase = ENDGAME if line.name.endswith(SUFFIXES[1]) else ""
            cells.setdefault((line.table, phase), []).append(line)
    if not cells:
        return []
    return ["", _head("table, mean size", "cells"), *(_table_row(*of, lines) for of, lines in cells.items())]


def _table_row(table: str, phase: str, cells: Sequence[WeightLine]) -> str:
    """The row of the cells of a table in a phase; positions and games are those of the cell that is seen most."""
    before, after, change = (
        sum(abs(value) for value in values) / len(cells)
        for values in zip(*((line.old, line.new, line.new - line.old) for line in cells), strict=True)
    )
    clear = sum(line.clear is True for line in cells)
    positions, games = max(line.positions for line in cells), max(line.games for line in cells)
    return (
        f"{f'  {phase}' if phase else table:20} {before:6.1f} {after:6.1f} {change:6.1f} {len(cells):14} {clear:5} "
        f"{positions:9} {games:6}"
    )


def _errors(summary: Summary, root_of_sum: bool) -> list[str]:
    kind = "root of the weighted sum over positions" if root_of_sum else "mean"
    train = summary.train_games, summary.train_positions, summary.train_before, summary.train_after
    valid = summary.valid_games, summary.valid_positions, summary.valid_before, summary.valid_after
    return [
        f"Error, {kind}: White's points predicted against {summary.target}.",
        f"{'':20} {'games':>7} {'positions':>10} {'before':>10} {'after':>10} {'fall':>10}",
        _error_row("Training set", *train),
        _error_row("Validation set", *valid),
    ]


def _error_row(name: str, games: int, positions: int, before: float, after: float) -> str:
    return f"{name:20} {games:7} {positions:10} {before:10.6f} {after:10.6f} {before - after + 0.0:10.6f}"


def _findings(summary: Summary) -> list[str]:
    fell = "fell" if summary.gain >= 0 else "rose"
    times = abs(summary.gain) / summary.gain_error if summary.gain_error else 0.0
    aside = "the validation set"
    if summary.folds > 1:
        aside = f"games kept aside, each of {summary.folds} parts in turn (the validation set alone leaves a doubt),"
    lines = [
        f"On {aside} the error {fell} by {abs(summary.gain):.6f} +- {summary.gain_error:.6f}: "
        f"{times:.1f} standard errors (paired by game; {ACCEPTED_Z:g} are asked for).",
        f"K = {summary.k_before:.1f} centipawns on the old weights, {summary.k:.1f} on the new ones. "
        f"{summary.reading_seconds:.1f} s to read, {summary.seconds - summary.reading_seconds:.1f} s to fit and judge.",
    ]
    if summary.ranks is not None:
        old, new = summary.ranks.old, summary.ranks.new
        lines.append(
            f"Moves ranked in {summary.ranks.positions} positions of the games: the one that a net finds best is first "
            f"in {100 * new.first:.1f}% (old weights {100 * old.first:.1f}%), the mean of 1 / rank is "
            f"{new.reciprocal_rank:.3f} (old {old.reciprocal_rank:.3f}). It predicts strength better "
            "than the error against results."
        )
    if summary.dropped:
        found = ", ".join(f"{term.name} ({term.evidence:.1f} of {term.needed:.1f})" for term in summary.dropped)
        lines.append(
            f"Left out, with weights of 0, as these games show no effect of them: {found}. In brackets the evidence of "
            "the fit with all terms, and what chance alone exceeds one time in twenty."
        )
    if summary.games < FEW_GAMES:
        lines.append(f"{summary.games} games are few: take what they teach with caution below {FEW_GAMES}.")
    return lines
