"""The procedure of `learn`, from files of games to weights in use.

The files of a run are checked before the work. New weights are tried in a match and put in use, or left next to the
old ones, which are kept. Lines for the user also go to a log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from html import escape
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from merino.core.common.files import (
    WEIGHTS,
    check_writable,
    held,
    is_folder,
    is_there,
    open_to_append,
    overwritten,
    read_user_file,
    real_path,
    user_path,
    write_fault,
    write_together,
    write_whole,
)
from merino.core.common.sealed import as_json
from merino.core.common.text import as_word, html_table
from merino.eval.families import find_net
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import column_names, phases_of
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.weights import (
    LEARNED,
    SHIPPED,
    active_file,
    as_mapping,
    load_any,
    note_of_k,
    own_file,
    render,
    rewrite,
)
from merino.formats.sources import find_files, name_of
from merino.learn.errors import AS_THEY_WERE, LearnError, standing
from merino.learn.fitting import FitCallback, fit_all
from merino.learn.judging import Judged, judge_fit
from merino.learn.loss_and_gradient import Step
from merino.learn.reading import read, with_random_moves_of
from merino.learn.report import Summary
from merino.learn.request import Events, LearnRequest, Say, Settings, Task
from merino.learn.sample import FitParameters
from merino.match.players import OwnPlayer
from merino.match.prove import GAIN, STRONGER, Proof, StrengthTest, offer, prove

RECORD_NAME = "learning.json"
COLUMNS = 80
COMMAND = " " * 4  # begins a line to copy, which is never broken
_WORD = re.compile(r"(?:(?<!\w)'[^']*'|\S)+(?: \+- \S+)?")  # a quoted name is one word, and a number with its error
EARLIER = "The comments below are older than these values."
_OUR_COMMENTS = re.compile(
    rf"^# {LEARNED} \d{{4}}-\d\d-\d\d \d\d:\d\d from \d+ games of .*\n(?:# terms .*\n)?"
    rf"(?:# validation error \d.*\n)?(?:# {re.escape(EARLIER)}\r?\n)?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class WeightsPaths:
    """The file that weights come from, and the one for new weights. `takes_effect`: the file `target` is in use."""

    source: Path
    target: Path
    takes_effect: bool

    @property
    def old(self) -> Path:
        """The file that keeps the old weights: `target` with the ending .old, added if it has that already."""
        path = self.target
        return path.with_name(path.name + ".old") if path.suffix == ".old" else path.with_suffix(".old")

    @property
    def beside(self) -> Path:
        """The file of new weights during their match, and after it if they do not pass."""
        return self.target.with_name(f"{self.target.stem}.new{self.target.suffix}")

    def check_writable(self) -> None:
        """Check before the work that the weights can be written after it; raises LearnError.

        The user's data folder is made if it is not there, but no folder that somebody named.
        """
        if is_folder(self.target):
            raise LearnError(f"'{self.target}' is a folder, not a weights file")
        try:
            if self.target == own_file().absolute():
                self.target.parent.mkdir(parents=True, exist_ok=True)
            check_writable(self.target)
        except OSError as error:
            raise _no_place(self.target, error) from error

    def check_beside(self) -> None:
        """Raise LearnError if the file `beside` exists and was not written by `learn`."""
        if is_there(self.beside) and LEARNED not in text_of(self.beside):
            raise LearnError(f"'{self.beside}' is in the way: learn did not write it; give it another name")


@dataclass(frozen=True)
class RunFiles:
    """The files of a run: the weights, and the record, None if it is not wanted.

    `compares` says whether a match decides about new weights before they are written. A run that `is_dry` writes none.
    `read` are the files that it learns from.
    """

    weights: WeightsPaths
    record: Path | None
    compares: bool
    is_dry: bool
    read: tuple[Path, ...] = ()

    def check(self) -> None:
        """Raise LearnError or OSError if one could not be written after the work, or would replace what is read.

        New weights alone may replace those that they were learned from, as these are then kept as the old ones.
        """
        if not self.is_dry:
            self.weights.check_writable()
        if self.compares:
            self.weights.check_beside()
        paths, reports = self.weights, [] if self.record is None else [self.record]
        for path in reports:
            check_writable(path)
        others = [*([] if self.is_dry else [paths.old]), *([paths.beside] if self.compares else []), *reports]
        new = [] if self.is_dry else [paths.target]
        fault = overwritten([*new, *others], self.read) or overwritten(others, [paths.source])
        if fault is not None:
            raise LearnError(fault)


def files_of(request: LearnRequest) -> RunFiles:
    """The files that a request names, or that it leaves to their usual places; raises LearnError."""
    paths = weights_paths(request.weights, request.out)
    record = None if request.dry_run else paths.target.parent / RECORD_NAME
    if request.record:
        record = named_path(request.record)
    compares = request.plays_match and paths.takes_effect and not request.dry_run
    return RunFiles(paths, record, compares, request.dry_run, _read_by(request))


def _read_by(request: LearnRequest) -> tuple[Path, ...]:
    """The games of a request, and the net of its teacher; raises SourceError and EvaluationError."""
    nets = [find_net(request.teacher)] if request.teacher and request.settings.target.needs_scores else []
    return (*find_files(request.files), *nets)


def weights_paths(weights: str | None, out: str | None = None) -> WeightsPaths:
    """The files for learning from `weights`, None for the active file of the user.

    New weights go to `out`, or replace the old ones; those that come with Merino stay, and new ones go to the user's.
    """
    source = active_file(weights).absolute()
    usual = own_file() if file_at(source).parent == SHIPPED else source
    target = named_path(out).absolute() if out else usual.absolute()
    in_use = {file_at(path) for path in (usual, source, active_file())}
    return WeightsPaths(source, target, file_at(target) in in_use)


def file_at(path: Path) -> Path:
    """The file that a path leads to, through links; raises LearnError."""
    try:
        return real_path(path)
    except NotADirectoryError as error:
        raise _no_place(path, error) from error
    except OSError as error:
        raise LearnError(f"'{path}': {error.strerror}") from error


def _no_place(path: Path, error: OSError) -> LearnError:
    """That a file cannot lie where it should."""
    reason = "it is no folder" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
    if isinstance(error, FileNotFoundError):
        reason = "there is no such folder"
    return LearnError(f"nothing can be written into '{path.parent}': {reason}")


def named_path(name: str | Path) -> Path:
    """The path that a user means; raises LearnError."""
    try:
        return user_path(name)
    except OSError as error:
        raise LearnError(f"'{name}': {error.strerror}") from error


def text_of(path: Path) -> str:
    """The text of a weights file with its own line ends."""
    return read_user_file(path, WEIGHTS).decode(errors="replace")


class RunLog:
    """Passes lines on and copies them to a log, once it is opened; earlier lines are included.

    A context manager, which closes the log.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._waiting: list[str] = []
        self._log: TextIO | None = None

    def __call__(self, text: str) -> None:
        """Write a line, folded if it is long."""
        for line in fold(text):
            self._say(line)
            if self._log is None:
                self._waiting.append(line)
            else:
                self._write(line + "\n")

    def open(self, path: Path) -> None:
        """Append to the log at `path` from now on; if that fails, say so and go on without a log."""
        try:
            self._log = TextIOWrapper(open_to_append(path), "utf-8", "backslashreplace")  # names may be any bytes
        except OSError as error:
            self._say(f"No log is kept: {write_fault(error, path)}")
            return
        self._write("".join(line + "\n" for line in self._waiting))

    def close(self) -> None:
        """Close the log, if there is one."""
        if self._log is not None:
            with suppress(OSError):  # lines that could not be written were reported before
                self._log.close()
            self._log = None

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, text: str) -> None:
        if self._log is None:
            return
        try:
            self._log.write(text)
            self._log.flush()
        except OSError as error:
            name = self._log.name
            self.close()
            self._say(f"The log ends here: {write_fault(error, name)}")


class StepLog(FitCallback):
    """A line for each step: its number, both errors, the time and the change; and progress in between."""

    def __init__(self, events: Events, settings: Settings, terms: TermSet = TERMS) -> None:
        self._events, self._settings, self._terms = events, settings, terms
        self._last: FitParameters | None = None
        self._number = 0

    def stepped(self, step: Step) -> None:
        """Write the line of a step."""
        train, valid = self._settings.errors(step.sums)
        time = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        self._events.say(f"{self._number} {train:.12f} {valid:.12f} {time} {self._moved(step)}".rstrip())
        self._events.stepped(step)
        self._number += 1
        self._last = step.parameters

    def _moved(self, step: Step) -> str:
        if step.term is not None:
            return f"[{step.cycle}.{step.term + 1}] {step.parameters.weights[step.term] + 0.0:g}"
        if self._last is None or step.cycle is not None:
            return f"K = {step.parameters.k:.1f}"
        change = step.parameters.weights - self._last.weights
        index = int(np.argmax(np.abs(change)))
        if abs(change[index]) < 0.05:
            return f"K = {step.parameters.k:.1f}"
        return f"{self._names(step.parameters)[index]} {change[index]:+.1f}"

    def _names(self, parameters: FitParameters) -> list[str]:
        return column_names(self._terms, phases_of(parameters.weights, len(self._terms)))

    def trying(self, term: int, parameters: FitParameters) -> None:
        """Show the weight that the fit works on."""
        names = self._names(parameters)
        self._events.say(f"Parameter {term + 1} of {len(names)}: {names[term]} = {parameters.weights[term] + 0.0:g}")

    def progressed(self, what: str, done: float) -> None:
        """Show the progress of some work."""
        self._events.progressed(what, done)


def fold(text: str) -> list[str]:
    """A line as lines of at most COLUMNS, broken between words; a word that is longer stays whole.

    The lines after the first are indented by as much as that, if it is, and two more; a line that begins like a COMMAND
    stays as it is.
    """
    if len(text) <= COLUMNS or text.startswith(COMMAND):
        return [text]
    indent = len(text) - len(text.lstrip())
    after = " " * (indent + 2 if indent else 0)
    lines = [""]
    for match in _WORD.finditer(text):
        gap = text[: match.start()] if not lines[0] else re.split(r"\S", text[: match.start()])[-1]
        if lines[0] and len(lines[-1] + gap + match[0]) > COLUMNS:
            lines.append(after + match[0])
        else:
            lines[-1] += gap + match[0]
    return lines


@dataclass(frozen=True)
class LearnRun:
    """What the stages share: files, callbacks, the match that decides about new weights, and the command for hints."""

    files: RunFiles
    events: Events
    trial: StrengthTest
    command: str


class Verdict(StrEnum):
    """The decision about new weights, and its reason."""

    NOT_BETTER = "not better"  # the error did not fall significantly
    DRY_RUN = "dry run"
    STOPPED = "stopped"  # the fit was interrupted, so no match was played
    NO_MATCH = "no match"  # not wanted, or the weights in use do not change
    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    INTERRUPTED = "interrupted"  # the match


@dataclass(frozen=True)
class InstallOutcome:
    """The result for new weights: their file, if they were written, and whether they are in use now."""

    verdict: Verdict
    written: Path | None = None
    in_use: bool = False
    match: dict[str, Any] | None = None  # see `Proof.as_json`

    @property
    def state(self) -> str:
        """Where the new weights are, in words; "" if they were not written."""
        return f"the new weights are in '{self.written}'" if self.written else ""


def text_with(source: Path, weights: np.ndarray, header: Iterable[str], terms: TermSet = TERMS) -> str:
    """The text of the file of new weights: that of `source` with its comments, the new values, and `header` on top.

    The comments of a file that comes with Merino describe its own values and are left out, as is an older header.
    """
    if file_at(source).parent == SHIPPED:
        return render(as_mapping(weights, terms), header, terms)
    text = _OUR_COMMENTS.sub("", text_of(source))
    return rewrite(text, weights, [*header, EARLIER] if "#" in text else header, terms)


def replace_weights(paths: WeightsPaths, content: bytes, say: Say, report: Mapping[Path, bytes] | None = None) -> None:
    """Replace the weights, keep the old file and write the report; raises OSError, and then changes nothing.

    The weights come last: once they are new, all is done, and until then the same command does it again. If they are
    new already, the old file that is kept stays: it has the values from before them.
    """
    replaced = paths.target if is_there(paths.target) else paths.source
    kept: dict[Path, bytes] = {}
    if paths.takes_effect or is_there(paths.target):
        old = read_user_file(replaced, WEIGHTS)
        if old != content:
            kept[paths.old] = old
    write_together({**kept, **(report or {}), paths.target: content})
    for path in kept:
        say(f"Old values saved in file '{path}'")
    say(f"New values in file '{paths.target}'")


def install(judged: Judged, run: LearnRun) -> InstallOutcome:
    """Put new weights in use if they pass their match, or at once if none is wanted; else leave them apart.

    If the fit was interrupted, no match is played. Raises OSError, and LearnError once a file has been written.
    """
    paths = run.files.weights
    if not judged.learned.accepted or run.files.is_dry:
        return _change_nothing(judged, run.events.say)
    header = _header(judged, paths.source)
    text = text_with(paths.source, judged.learned.end.weights, header, judged.task.terms)
    new = _Installing(judged, run, text.encode())
    if not run.files.compares:
        return new.install_at_once()
    write_whole(paths.beside, new.content)
    with standing(f"the new weights are in '{paths.beside}', and not in use"):
        return new.leave_beside(Verdict.STOPPED) if judged.learned.interrupted else new.install_if_they_pass()


def _change_nothing(judged: Judged, say: Say) -> InstallOutcome:
    """Write no new weights, and say why."""
    if judged.learned.accepted:
        say("Better, but this is a dry run: no weights are written, and no match is played.")
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


def _header(judged: Judged, source: Path) -> list[str]:
    """The origin of the weights, which were learned from those in `source`, for the top of their file."""
    request, summary = judged.task.request, judged.summary
    settings, names = request.settings, ", ".join(name_of(Path(name)) for name in request.files)
    return [
        f"{LEARNED} {datetime.now():%Y-%m-%d %H:%M} from {summary.games} games of {names}, starting at {source.name}",
        f"terms {settings.moving}, {settings.method}, decay {settings.decay or 'off'}, "
        f"target {settings.target.name}, seed {settings.seed}, {note_of_k(judged.learned.end.k)}",
        f"validation error {summary.valid_before:.6f} -> {summary.valid_after:.6f}, "
        f"fall {summary.gain:.6f} +- {summary.gain_error:.6f}",
    ]


def summary_with(judged: Judged, outcome: InstallOutcome) -> Summary:
    """The summary with the verdict on the new weights."""
    written = None if outcome.written is None else str(outcome.written)
    verdict, match = str(outcome.verdict), outcome.match
    return replace(judged.summary, verdict=verdict, written=written, in_use=outcome.in_use, match=match)


def reports(judged: Judged, outcome: InstallOutcome, files: RunFiles) -> dict[Path, bytes]:
    """The record, if it is wanted, once it is known what becomes of the new weights."""
    if files.record is None or judged.record is None:
        return {}
    return {files.record: as_json(judged.record | {"summary": summary_with(judged, outcome).as_json()})}


@dataclass(frozen=True)
class _Installing:
    """New weights before the decision whether to use them, and the content of their file."""

    judged: Judged
    run: LearnRun
    content: bytes

    @property
    def say(self) -> Say:
        return self.run.events.say

    @property
    def paths(self) -> WeightsPaths:
        return self.run.files.weights

    @property
    def request(self) -> LearnRequest:
        return self.judged.task.request

    def install_if_they_pass(self) -> InstallOutcome:
        """Put the weights, which are in the file `beside`, in use if they pass their match."""
        beside = self.paths.beside
        proof = self._play(beside)
        verdict, match = _verdict_of(proof), proof.as_json((beside.name, self.paths.source.name))
        if verdict is not Verdict.PASSED:
            return self.leave_beside(verdict, match)
        outcome = InstallOutcome(verdict, self.paths.target, True, match)
        replace_weights(self.paths, self.content, self.say, reports(self.judged, outcome, self.run.files))
        with standing(outcome.state):
            beside.unlink(missing_ok=True)
            if self.run.trial is not STRONGER:
                self._offer(self.paths.target)
        return outcome

    def install_at_once(self) -> InstallOutcome:
        """Write them without a match, or with one that decides nothing because the weights in use do not change."""
        target, in_use = self.paths.target, self.paths.takes_effect
        outcome = InstallOutcome(Verdict.NO_MATCH, target, in_use)
        replace_weights(self.paths, self.content, self.say, reports(self.judged, outcome, self.run.files))
        with standing(outcome.state):
            if not in_use:
                self.say("Nothing in use changes.")
            if self.request.prove:
                proof = self._play(target)
                match = proof.as_json((target.name, self.paths.source.name))
                return replace(outcome, verdict=_verdict_of(proof), match=match)
            self._offer(target)
        return outcome

    def leave_beside(self, verdict: Verdict, match: dict[str, Any] | None = None) -> InstallOutcome:
        """Leave them in the file `beside`, and say why and how to use them; `match` is the result of their match."""
        beside, target = self.paths.beside, self.paths.target
        why = {
            Verdict.STOPPED: "learning was interrupted, and no match has shown what they are worth",
            Verdict.FAILED: "the match does not show that they gain on the old ones, although their error is lower",
            Verdict.UNDECIDED: "so many games do not decide whether they gain on the old ones",
            Verdict.INTERRUPTED: "the match was interrupted before it was settled",
        }[verdict]
        self.say(f"Not installed: {why}.")
        self.say(f"The new weights are in file '{beside}'; those in use stay as they were.")
        self.say("To use the new ones at once:")
        where = f" --weights '{target}'" if self.request.weights or self.request.out else ""
        self.say(f"    {self.run.command} --use '{beside}'{where}")
        if verdict is Verdict.FAILED:
            self.say("Merino's own games may teach it more: merino selfplay 5000 writes some to learn from.")
        else:
            self.say("The match that goes on until it is settled:")
            self.say(f"    {offer(beside, self.paths.source)}")
        return InstallOutcome(verdict, beside, False, match)

    def _play(self, new: Path) -> Proof:
        trial, terms, learned = self.run.trial, self.judged.task.terms, self.judged.learned
        time_control, most = trial.time_control, trial.most_games
        self.say("A lower error is not yet more strength: a match of the new weights against the old decides.")
        self.say(
            f"It takes {most} games at most, {time_control} a move: {trial.takes}. Ctrl-C ends it, --no-match skips it."
        )
        players = (
            OwnPlayer(new.name, LinearEvaluation(learned.end.weights, terms=terms)),
            OwnPlayer(self.paths.source.name, LinearEvaluation(learned.start.weights, terms=terms)),
        )
        return prove(*players, trial, self.say, self.run.events.match_state, self.request.concurrency)

    def _offer(self, new: Path) -> None:
        """Suggest the match that would show more strength."""
        old = self.paths.old if self.paths.target.samefile(self.paths.source) else self.paths.source
        self.say("A lower error is not yet more strength; this match proves it, or not:")
        self.say(f"    {offer(new, old)}")


def _verdict_of(proof: Proof) -> Verdict:
    if proof.verdict:
        return Verdict.PASSED if proof.verdict == "H1" else Verdict.FAILED
    return Verdict.INTERRUPTED if proof.interrupted else Verdict.UNDECIDED


@dataclass(frozen=True)
class LearnResult:
    """The result of a request: what was done with the new weights, the summary (None for --use), and the record."""

    outcome: InstallOutcome
    summary: Summary | None = None
    record: Path | None = None

    def _repr_html_(self) -> str:
        """What Jupyter shows: what was done, the errors, and the weights that changed."""
        done = escape(f"{self.outcome.verdict}. {self.outcome.state}")
        if self.summary is None:
            return f"<p>{done}</p>"
        found = self.summary
        errors = ("Error before", "after", "fall (95%)"), [_errors(found)]
        changed = [(line.name, round(line.old), round(line.new), line.clear_word) for line in found.weights]
        weights = html_table(("Weight", "Before", "After", "Clear"), [row for row in changed if row[1] != row[2]])
        return f"<p>{found.games:,} games, {found.positions:,} positions: {done}</p>{html_table(*errors)}{weights}"


def _errors(found: Summary) -> tuple[str, str, str]:
    return f"{found.valid_before:.6f}", f"{found.valid_after:.6f}", f"{found.gain:.6f} ± {1.96 * found.gain_error:.6f}"


def learn_from_files(
    request: LearnRequest,
    events: Events,
    trial: StrengthTest = GAIN,
    command: str = "merino learn",
) -> LearnResult:
    """Learn new weights from games, and put them in use if they are better and pass their match.

    Four stages, each of which makes one value for the next: games are read, weights fitted to them, the fit judged on
    games kept apart, and what is accepted is installed if it passes its match.

    `trial` is that match, unless the request asks for another; `command` is the name of `learn` in hints. Lines for the
    user go to `events` and, except in a dry run, to `learning.log`. Ctrl-C ends the fit or the match and keeps the best
    so far. Raises WeightsError, LearnError (a SourceError), whose message says in which state the files are, and
    FileInUseError if another run learns into the same file.
    """
    with RunLog(events.say) as log, standing(AS_THEY_WERE), ExitStack() as stack:
        files, events = files_of(request), replace(events, say=log)
        heats = (GAIN if request.prove else trial).heats if files.compares else None
        run = LearnRun(files, events, STRONGER if request.prove else trial, command)
        files.check()
        if not request.dry_run:
            stack.enter_context(held(files.weights.target))  # another learn would save these new values as the old ones
        request = with_random_moves_of(find_files(request.files), request, log)
        data = read(Task.of(request, *load_any(files.weights.source)), events)
        data.tell(files.weights.source, log)
        if not request.dry_run:
            log.open(files.weights.target.parent / "learning.log")
        best = fit_all(data, StepLog(events, data.task.request.settings, data.task.terms))
        judged = judge_fit(best, heats, events, files.record is not None)
        judged.tell(log)
        outcome = install(judged, run)
        with standing(outcome.state or AS_THEY_WERE):
            write_together(reports(judged, outcome, files))
        if files.record is not None:
            log(f"Record in '{files.record}'; to draw it:")
            log(f"    merino plot {as_word(files.record)}")
    return LearnResult(outcome, summary_with(judged, outcome), files.record)


def use_weights(file: str, weights: str | None, say: Say) -> LearnResult:
    """Replace the file `weights`, None for the one in use, by `file` without learning; lines for the user go to `say`.

    Raises LearnError and WeightsError.
    """
    with RunLog(say) as log, standing(AS_THEY_WERE):
        paths = weights_paths(weights)
        paths.check_writable()
        with held(paths.target):
            asked = named_path(file).absolute()
            load_any(asked)
            if file_at(asked) == file_at(paths.target):
                raise LearnError(f"'{asked}' is the file in use")
            replace_weights(paths, read_user_file(asked, WEIGHTS), log)
    return LearnResult(InstallOutcome(Verdict.NO_MATCH, paths.target, True))
