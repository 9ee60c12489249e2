"""The report of `learn`: its summary, each weight before and after, and the record that `merino plot` draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merino.core.common.sealed import finite, from_json
from merino.core.common.text import counted
from merino.core.common.user_files import STATE, faults_named, read_user_file
from merino.eval.linear.phases import column_names, phases_of
from merino.eval.linear.registry import TERMS, Term
from merino.eval.material import FULL_BOARD
from merino.learn.calibration import calibration
from merino.learn.errors import LearnError
from merino.learn.gain import Learned
from merino.learn.loss_and_gradient import Samples, carrier_counts
from merino.learn.ranking import RankFigure
from merino.learn.sample import Sample, Span
from merino.learn.scale import rated_games
from merino.learn.settings import Settings
from merino.learn.uncertainty import IdleTerm

CONFIDENCE = 1.96  # standard errors on each side of a 95% interval
RARE_GAMES = 100  # a term that is not 0 in fewer games is flagged
ALIKE = 0.8  # correlation above which two terms cannot be told apart well
FROZEN = "frozen"
DROPPED = "left out"
HELD = (FROZEN, DROPPED)  # flags of weights that did not move
FORMAT = "merino learning record 1"


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
    """A way to learn that played heats: in words, by target and share of the step, and its result with 95% error."""

    way: str
    target: str
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
    """How old and new weights rank moves in so many positions; see `learn.ranking`."""

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
    `rated_games` have the ratings of both players, None if these do not count; 100 points of rating are worth
    `hundred_points` centipawns. `tried` are the ways to learn that were compared by heats, and `ranks` says how the
    weights rank moves, if it was measured. `dropped` are the terms that tell nothing and so have weights of 0.
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
    resamplings: int
    seconds: float
    reading_seconds: float
    weights: tuple[WeightLine, ...]
    verdict: str = ""
    written: str | None = None
    in_use: bool = False
    match: dict[str, Any] | None = None
    rated_games: int | None = None
    hundred_points: float = 0.0
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
    sample: Samples,
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
        resamplings=learned.resamplings,
        seconds=seconds.total,
        reading_seconds=seconds.reading,
        rated_games=rated_games(sample) if settings.ratings else None,
        hundred_points=100 * learned.start.per_point * learned.start.k,
        weights=_lines(sample, learned, terms),
        dropped=learned.dropped,
    )


def _lines(sample: Samples, learned: Learned, terms: Sequence[Term]) -> tuple[WeightLine, ...]:
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


def _twins(sample: Samples, learned: Learned, names: Sequence[str]) -> list[list[str]]:
    """For each weight, the free weights whose features correlate with its own."""
    step = max(1, sample.size // 25_000)
    features, stages = _every_row(sample, step)
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
    """Every `step`-th row of the whole sample that is in a share."""
    chosen = slice(span.first + -span.rows_before % step, span.last, step)
    return sample.features[chosen].copy(), sample.stage[chosen].copy()  # views would come to life too late


def _every_row(sample: Samples, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and stages of every `step`-th row: int16[n, terms] and uint8[n]."""
    features, stages = zip(*sample.each(partial(_rows_of_share, step)), strict=True)
    return np.concatenate(features), np.concatenate(stages)


def record_of(
    sample: Samples,
    learned: Learned,
    settings: Settings,
    summary: Summary,
    files: Sequence[str],
    terms: Sequence[Term] = TERMS,
    has_strays: bool = False,
) -> dict[str, Any]:
    """All that there is to draw of a run, as plain data.

    Where the sample has strays, of which results say nothing, there is no calibration: its lists are empty.
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
            name: [] if has_strays else [asdict(each) for each in calibration(sample, end)]
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
