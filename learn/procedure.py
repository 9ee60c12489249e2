"""The procedure of `learn`, from files of games to weights in use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from pathlib import Path

import numpy as np

from merino.inner.core.common.files import held, write_together
from merino.inner.core.common.html import table_of
from merino.inner.core.common.work import RemoteExecutor
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.registry import TermSet
from merino.inner.eval.linear.weights import load_any, note_of_k
from merino.inner.formats.pgn_games import Fault
from merino.inner.formats.sources import find_files, name_of
from merino.inner.learn.asking import moves_to_rank, on_scale_of, own_evaluation, read_options
from merino.inner.learn.choosing import Chosen, choose
from merino.inner.learn.errors import AS_THEY_WERE, LearnError, standing
from merino.inner.learn.fitting import Fits, fit_all
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
from merino.inner.learn.judged import Judged, RunFiles, files_of
from merino.inner.learn.learning import Learned, Settings, start_of
from merino.inner.learn.loss_and_gradient import Samples
from merino.inner.learn.playing_on import play_on
from merino.inner.learn.ranking import rank_figure
from merino.inner.learn.record import record_of
from merino.inner.learn.remote_reading import read_rows_remotely
from merino.inner.learn.report import Ranks, Summary, summarise
from merino.inner.learn.request import Events, LearnRequest, Say
from merino.inner.learn.run_log import RunLog, StepLog
from merino.inner.learn.source import PositionSource
from merino.inner.match.prove import GAIN, StrengthTest

SHOWN_FAULTS = 5
ENOUGH_GAMES = 500  # measured: with a teacher, they bring four fifths of the fall of the error that 20,000 bring


@dataclass(frozen=True)
class LearnResult:
    """The result of a request: what was done with the new weights, the summary (None for --use), and other files."""

    outcome: InstallOutcome
    summary: Summary | None = None
    record: Path | None = None
    csv: Path | None = None

    def _repr_html_(self) -> str:
        """What Jupyter shows: what was done, the errors, and the weights that changed."""
        done = escape(f"{self.outcome.verdict}. {self.outcome.state}")
        if self.summary is None:
            return f"<p>{done}</p>"
        found = self.summary
        errors = ("Error before", "after", "fall (95%)"), [_errors(found)]
        changed = [(line.name, round(line.old), round(line.new), _CLEAR[line.clear]) for line in found.weights]
        weights = table_of(("Weight", "Before", "After", "Clear"), [row for row in changed if row[1] != row[2]])
        return f"<p>{found.games:,} games, {found.positions:,} positions: {done}</p>{table_of(*errors)}{weights}"


_CLEAR = {True: "yes", False: "no", None: ""}


def _errors(found: Summary) -> tuple[str, str, str]:
    return f"{found.valid_before:.6f}", f"{found.valid_after:.6f}", f"{found.gain:.6f} ± {1.96 * found.gain_error:.6f}"


def learn_from_files(
    request: LearnRequest,
    events: Events,
    trial: StrengthTest = GAIN,
    command: str = "merino learn",
    executor: RemoteExecutor | None = None,
) -> LearnResult:
    """Learn new weights from games, and put them in use if they are better and pass their match.

    Four stages, each of which makes one value for the next: positions are read, weights fitted to them, the fit is
    judged on games kept apart, and what is accepted is installed if it passes its match.

    `trial` is that match, unless the request asks for another; `command` is the name of `learn` in hints. Lines for
    the user go to `events` and, except in a dry run, to `learning.log`. Ctrl-C ends the fit or the match and keeps the
    best so far. `executor` has the workers that keep the rows and play the match, None for this process; the result is
    the same. Raises WeightsError, WorkError if the workers are gone, and LearnError (a SourceError), whose message
    says in which state the files are; FileInUseError if another run learns
    into the same file.
    """
    began, files = time.perf_counter(), files_of(request)
    with RunLog(events.say) as log, standing(AS_THEY_WERE), ExitStack() as stack:
        events = replace(events, say=log)
        files.check(request)
        if not request.dry_run:
            stack.enter_context(held(files.weights.target))  # another learn would save these new values as the old ones
        terms, weights = load_any(files.weights.source)
        request = replace(request, settings=request.settings.of_set(terms))
        old = start_of(weights, request.settings.phases, len(terms))
        if request.play_on is not None:
            request = play_on(request, own_evaluation(old, terms), events, executor)
        fits = _read_and_fit(request, terms, old, files, log, events, executor)
        heats = GAIN.heats if request.prove else trial.heats
        callback = StepLog(events, request.settings, terms)
        chosen = choose(fits, request, heats if files.plays_match(request) else None, events, callback, executor)
        judged = _judged(chosen, fits, request, files, began)
        judged.tell(log)
        outcome = _install(judged, trial, command, events, executor)
        with standing(outcome.state or AS_THEY_WERE):
            write_together(judged.report(outcome))
        if files.record is not None:
            log(f"Record in '{files.record}'; to draw it:")
            log(f"    merino plot '{files.record}'")
    return LearnResult(outcome, judged.summary_with(outcome), files.record, files.csv)


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


def _read_and_fit(
    request: LearnRequest,
    terms: TermSet,
    old: np.ndarray,
    files: RunFiles,
    log: RunLog,
    events: Events,
    executor: RemoteExecutor | None,
) -> Fits:
    """The first two stages. The positions as read are dropped here, so that workers can free them."""
    options = read_options(request, old, terms)
    positions = _read(request, options, events, executor)
    request = on_scale_of(request, options)

    def report(sample: Samples) -> None:
        _report_sample(sample, replace(request.settings, target=request.targets[0]), files.weights, log)
        if not request.dry_run:
            log.open(files.weights.target.parent / "learning.log")

    if not files.plays_match(request):
        request = replace(request, choice=replace(request.choice, targets=()))  # nothing could compare them
    return fit_all(
        positions,
        request,
        old,
        StepLog(events, request.settings, terms),
        report,
        terms,
        moves_to_rank(request, find_files(request.files)),
    )


def _read(
    request: LearnRequest, options: ReadOptions, events: Events, executor: RemoteExecutor | None
) -> PositionSource:
    """The first stage; raises LearnError."""
    if executor is not None and request.settings.method == "descent":
        raise LearnError(
            "--method descent needs all rows in one process; with --cluster use --method gauss-newton or adam, "
            "which reach the same weights"
        )
    paths = find_files(request.files)
    positions: PositionSource
    if executor is None:
        positions = read_rows(paths, options, events)
    else:
        positions = read_rows_remotely(paths, options, events, executor)
    events.say(f"Games: {positions.games}")
    _report_faults(positions.faults, events.say)
    if positions.games < ENOUGH_GAMES:
        events.say(
            f"{positions.games} games are too few to learn from safely: about {ENOUGH_GAMES} would do. What they teach "
            "is used only if it wins a match."
        )
    return positions


def _report_faults(faults: Sequence[tuple[Path, Fault]], say: Say) -> None:
    if faults:
        say(f"{len(faults)} games could not be read and are left out:")
        for path, fault in faults[:SHOWN_FAULTS]:
            say(f"  {name_of(path)}, {fault}")
        if len(faults) > SHOWN_FAULTS:
            say(f"  and {len(faults) - SHOWN_FAULTS} more")


def _report_sample(sample: Samples, settings: Settings, paths: WeightsPaths, say: Say) -> None:
    """Report the two sets and the settings of the fit."""
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
        of = "scores fit the results at" if settings.target.k is None else "its own scale is"
        say(f"Target: {settings.target.describe()}; {of} K = {sample.score_k:.1f} centipawns")
    say("Start optimization...")


def _judged(chosen: Chosen, fits: Fits, request: LearnRequest, files: RunFiles, began: float) -> Judged:
    """The way that was chosen, with all that there is to report of it."""
    way = chosen.way
    learned = replace(way.learned, interrupted=True) if chosen.interrupted else way.learned
    seconds = time.perf_counter() - began - chosen.seconds
    summary = summarise(way.sample, learned, way.settings, fits.games, seconds, fits.terms)
    record = None
    if files.record is not None:
        record = record_of(way.sample, learned, way.settings, summary, request.files, fits.terms)
    own = replace(request, settings=way.settings)
    summary = replace(summary, tried=chosen.tried, ranks=_ranks(fits, learned))
    return Judged(own, fits.terms, files, learned, summary, record)


def _ranks(fits: Fits, learned: Learned) -> Ranks | None:
    """How old and new weights rank the moves of the fits."""
    if fits.moves is None:
        return None
    ends = (learned.start.weights, learned.end.weights)
    old, new = (rank_figure(fits.moves, LinearEvaluation(each, terms=fits.terms)) for each in ends)
    return Ranks(fits.moves.positions, old, new)


def _install(
    judged: Judged, trial: StrengthTest, command: str, events: Events, executor: RemoteExecutor | None
) -> InstallOutcome:
    """The last stage: new weights play the old ones and are put in use, or are left, which is then explained."""
    request = judged.request
    if not judged.learned.accepted or request.dry_run:
        return _leave(judged, events.say)
    new, paths = judged.learned.end.weights, judged.files.weights
    text = text_with(paths.source, new, _header(judged), judged.terms)
    candidate = Candidate(request, paths, judged.learned.start.weights, new, text.encode(), judged.terms)
    return candidate.try_and_install(trial, command, events, judged.report, judged.learned.interrupted, executor)


def _leave(judged: Judged, say: Say) -> InstallOutcome:
    """Write no new weights, and say why."""
    if judged.learned.accepted:
        say("Better, but this is a dry run: nothing is written, and no match is played.")
        return InstallOutcome(Verdict.DRY_RUN)
    if judged.summary.is_worse:
        say("Not accepted: on games not learned from, the error got worse. The weights stay as they were.")
    else:
        say("Not accepted: on games not learned from, the gain is not beyond doubt. The weights stay as they were.")
    say(
        f"What may help: more games than these {judged.summary.games}, best Merino's own (merino selfplay 5000 writes "
        "some), fewer terms, or a stronger pull to the old weights (--prior 0.1)."
    )
    return InstallOutcome(Verdict.NOT_BETTER)


def _header(judged: Judged) -> list[str]:
    """The origin of the weights, for the top of their file."""
    settings, summary, source = judged.request.settings, judged.summary, judged.files.weights.source
    names = ", ".join(name_of(Path(name)) for name in judged.request.files)
    return [
        f"{LEARNED} {datetime.now():%Y-%m-%d %H:%M} from {summary.games} games of {names}, starting at {source.name}",
        f"terms {settings.moving}, {settings.method}, decay {settings.decay or 'off'}, "
        f"target {settings.target.name}, seed {settings.seed}, {note_of_k(judged.learned.end.k)}",
        f"validation error {summary.valid_before:.6f} -> {summary.valid_after:.6f}, "
        f"fall {summary.gain:.6f} +- {summary.gain_error:.6f}",
    ]
