"""The procedure of `learn`, from files of games to weights in use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from merino.inner.core.common.files import check_writable, held, write_together
from merino.inner.core.common.sealed import as_json
from merino.inner.core.common.work import RemoteExecutor
from merino.inner.eval.linear.phases import simplest
from merino.inner.eval.linear.registry import TERMS
from merino.inner.eval.linear.weights import load, note_of_k
from merino.inner.formats.pgn_games import Fault
from merino.inner.formats.sources import find_files, name_of
from merino.inner.learn.errors import AS_THEY_WERE, LearnError, standing
from merino.inner.learn.inputs import ReadOptions, read_rows
from merino.inner.learn.installing import (
    LEARNED,
    Candidate,
    InstallOutcome,
    Verdict,
    WeightsPaths,
    named_path,
    text_with,
    use,
    weights_paths,
)
from merino.inner.learn.learning import Learned, Settings, fit, judge, split, start_of
from merino.inner.learn.passes import Samples
from merino.inner.learn.positions import Rows
from merino.inner.learn.record import RECORD_NAME, record_of
from merino.inner.learn.remote_reading import read_rows_remotely
from merino.inner.learn.remote_sample import RemoteRows, remote_split
from merino.inner.learn.report import Summary, summarise
from merino.inner.learn.request import Events, LearnRequest, Say
from merino.inner.learn.rescoring import Rescore
from merino.inner.learn.run_log import RunLog, StepLog
from merino.inner.learn.sample import FitParameters
from merino.inner.learn.tables import as_csv, render
from merino.inner.match.prove import NOT_WEAKER, StrengthTest

SHOWN_FAULTS = 5


@dataclass(frozen=True)
class LearnResult:
    """The result of a request: what was done with the new weights, the summary (None for --use), and other files."""

    outcome: InstallOutcome
    summary: Summary | None = None
    record: Path | None = None
    csv: Path | None = None


def learn_from_files(
    request: LearnRequest,
    events: Events,
    trial: StrengthTest = NOT_WEAKER,
    command: str = "merino learn",
    executor: RemoteExecutor | None = None,
) -> LearnResult:
    """Learn new weights from games, and put them in use if they are better and pass their match.

    `trial` is that match, unless the request asks for another; `command` is the name of `learn` in hints. Lines for
    the user go to `events` and, except in a dry run, to `learning.log`. Ctrl-C ends the fit or the match and keeps the
    best so far. `executor` has the workers that keep the rows and play the match, None for this process; the result is
    the same. Raises WeightsError, WorkError if the workers are gone, and LearnError (a SourceError), whose message
    says in which state the files are; FileInUseError if another run learns
    into the same file.
    """
    began, paths, settings = time.perf_counter(), weights_paths(request.weights, request.out), request.settings
    with RunLog(events.say) as log, standing(AS_THEY_WERE), ExitStack() as stack:
        events = replace(events, say=log)
        record, csv = _checked(request, paths)
        if not request.dry_run:
            stack.enter_context(held(paths.target))  # another learn would save these new values as the old ones
        old = start_of(load(paths.source), settings.phases, len(TERMS))
        if executor is not None and settings.method == "descent":
            raise LearnError(
                "--method descent needs all rows in one process; with --cluster use --method gauss-newton or adam, "
                "which reach the same weights"
            )
        sample, games = _sample_of(request, old, paths, events, executor)
        if not request.dry_run:
            log.open(paths.target.parent / "learning.log")
        callback = StepLog(events, settings)
        learned = judge(sample, fit(sample, old, settings, callback), settings, callback)
        summary = summarise(sample, learned, settings, games, time.perf_counter() - began)
        _report_result(learned, summary, settings, log)
        report = _RunFiles(sample, learned, summary, request, record, csv)
        if learned.accepted and not request.dry_run:
            candidate = _candidate(request, paths, old, learned, summary, events, report.contents)
            outcome = candidate.try_and_install(trial, command, learned.interrupted, executor)
        else:
            outcome = _leave(learned, summary, log)
        with standing(outcome.state or AS_THEY_WERE):
            write_together(report.contents(outcome))
        if record is not None:
            log(f"Record in '{record}'; to draw it:")
            log(f"    merino plot '{record}'")
    return LearnResult(outcome, _report_of(summary, outcome), record, csv)


def use_weights(file: str, weights: str | None, say: Say) -> LearnResult:
    """Replace the file `weights`, None for the one in use, by `file` without learning; lines for the user go to `say`.

    Raises LearnError and WeightsError.
    """
    with RunLog(say) as log, standing(AS_THEY_WERE):
        paths = weights_paths(weights)
        paths.check_writable()
        with held(paths.target):
            target = use(named_path(file).absolute(), paths, log)
    return LearnResult(InstallOutcome(Verdict.NO_MATCH, target, True))


def _checked(request: LearnRequest, paths: WeightsPaths) -> tuple[Path | None, Path | None]:
    """The files of the record and of the table, if they are wanted.

    Raises LearnError or OSError if one of them, or the weights, could not be written after the work.
    """
    if not request.dry_run:
        paths.check_writable()
        if request.plays_match and paths.takes_effect:
            paths.check_beside()
    record = None if request.dry_run else paths.target.parent / RECORD_NAME
    if request.record:
        record = named_path(request.record)
    csv = named_path(request.csv) if request.csv else None
    for path in (record, csv):
        if path is not None:
            check_writable(path)
    return record, csv


def _sample_of(
    request: LearnRequest, weights: np.ndarray, paths: WeightsPaths, events: Events, executor: RemoteExecutor | None
) -> tuple[Samples, int]:
    """The sample and the number of games. The rows as read are dropped here, so that workers can free them."""
    rows, games = _read(request, weights, events, executor)
    return _split(rows, request.settings, paths, events.say), games


def _read(
    request: LearnRequest, weights: np.ndarray, events: Events, executor: RemoteExecutor | None
) -> tuple[Rows | RemoteRows, int]:
    """The rows of all files, and the number of games; unreadable games are reported."""
    faults = list[tuple[Path, Fault]]()
    options = ReadOptions(
        request.selection,
        weights,
        keep_fen=request.keep_fen and not request.dry_run,
        needs_scores=request.settings.target.needs_scores,
        rescore=None if request.rescore is None else Rescore(request.rescore, simplest(weights, len(TERMS))),
    )
    rows: Rows | RemoteRows
    files = find_files(request.files)
    if executor is None:
        rows, games = read_rows(files, options, events.say, faults, events.progressed)
    else:
        rows, games = read_rows_remotely(files, options, events.say, faults, executor, events.progressed)
    events.say(f"Games: {games}")
    _report_faults(faults, events.say)
    return rows, games


def _report_faults(faults: Sequence[tuple[Path, Fault]], say: Say) -> None:
    if faults:
        say(f"{len(faults)} games could not be read and are left out:")
        for path, fault in faults[:SHOWN_FAULTS]:
            say(f"  {name_of(path)}, {fault}")
        if len(faults) > SHOWN_FAULTS:
            say(f"  and {len(faults) - SHOWN_FAULTS} more")


def _split(rows: Rows | RemoteRows, settings: Settings, paths: WeightsPaths, say: Say) -> Samples:
    """The sample, split into training and validation set; reports this and the settings of the fit."""
    sample: Samples
    if isinstance(rows, Rows):
        sample = split(rows, settings)
    else:
        by_position, target = settings.split_by_position, settings.target
        sample = remote_split(rows, settings.seed, by_position, settings.decay, target, settings.even_stages)
    validation = sample.validation_rows
    say(f"Training set: {sample.size - validation}")
    say(f"Validation set: {validation}")
    by = "position" if settings.split_by_position else "game"
    say(
        f"Weights: '{paths.source}'; terms {settings.moving} may move"
        + (", each with a value for the middlegame and one for the endgame" if settings.phases == 2 else "")
    )
    say(f"Method: {settings.method}, {settings.loss} error; split by {by}, seed {settings.seed}")
    if settings.target.needs_scores:
        say(f"Target: {settings.target.describe()}; scores fit the results at K = {sample.score_k:.1f} centipawns")
    say("Start optimization...")
    return sample


def _report_result(learned: Learned, summary: Summary, settings: Settings, say: Say) -> None:
    if learned.interrupted:
        say("Interrupted: the best so far is kept.")
    for line in render(summary, settings.root_of_sum):
        say(line)


def _leave(learned: Learned, summary: Summary, say: Say) -> InstallOutcome:
    """Write no new weights, and say why."""
    if learned.accepted:
        say("Better, but this is a dry run: nothing is written, and no match is played.")
        return InstallOutcome(Verdict.DRY_RUN)
    if summary.is_worse:
        say("Not accepted: on games not learned from, the error got worse. The weights stay as they were.")
    else:
        say("Not accepted: on games not learned from, the gain is not beyond doubt. The weights stay as they were.")
    say(
        f"What may help: more games than these {summary.games}, best Merino's own (merino selfplay 5000 writes some), "
        "fewer terms, or a stronger pull to the old weights (--prior 0.1)."
    )
    return InstallOutcome(Verdict.NOT_BETTER)


def _candidate(
    request: LearnRequest,
    paths: WeightsPaths,
    old: np.ndarray,
    learned: Learned,
    summary: Summary,
    events: Events,
    report: Callable[[InstallOutcome], Mapping[Path, bytes]],
) -> Candidate:
    """The new weights, and the text of their file."""
    new = learned.end.weights
    text = text_with(paths.source, new, _header(request, paths.source, learned.end, summary))
    return Candidate(request, paths, old, new, text, events, report)


def _header(request: LearnRequest, source: Path, end: FitParameters, summary: Summary) -> list[str]:
    """The origin of the weights, for the top of their file."""
    settings = request.settings
    names = ", ".join(name_of(Path(name)) for name in request.files)
    return [
        f"{LEARNED} {datetime.now():%Y-%m-%d %H:%M} from {summary.games} games of {names}, starting at {source.name}",
        f"terms {settings.moving}, {settings.method}, decay {settings.decay or 'off'}, "
        f"target {settings.target.name}, seed {settings.seed}, {note_of_k(end.k)}",
        f"validation error {summary.valid_before:.6f} -> {summary.valid_after:.6f}, "
        f"fall {summary.gain:.6f} +- {summary.gain_error:.6f}",
    ]


class _RunFiles:
    """The record and the table of a run, as far as they are wanted."""

    def __init__(
        self,
        sample: Samples,
        learned: Learned,
        summary: Summary,
        request: LearnRequest,
        record: Path | None,
        csv: Path | None,
    ) -> None:
        self._sample, self._learned, self._summary, self._request = sample, learned, summary, request
        self._record, self._csv = record, csv
        self._made: tuple[InstallOutcome, dict[Path, bytes]] | None = None

    def contents(self, outcome: InstallOutcome) -> dict[Path, bytes]:
        """The files, once it is known what becomes of the new weights."""
        if self._made is None or self._made[0] != outcome:
            self._made = outcome, self._files(_report_of(self._summary, outcome))
        return self._made[1]

    def _files(self, summary: Summary) -> dict[Path, bytes]:
        found: dict[Path, bytes] = {}
        if self._record is not None:
            request = self._request
            found[self._record] = as_json(
                record_of(self._sample, self._learned, request.settings, summary, request.files)
            )
        if self._csv is not None:
            found[self._csv] = as_csv(summary).encode()
        return found


def _report_of(summary: Summary, outcome: InstallOutcome) -> Summary:
    """The summary with the verdict on the new weights."""
    written = None if outcome.written is None else str(outcome.written)
    return replace(summary, verdict=str(outcome.verdict), written=written, in_use=outcome.in_use, match=outcome.match)
