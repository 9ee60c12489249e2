"""What a run of `learn` works with and shares between its stages: its files, checked before the work, and its output.

The output is lines for the user and the log, and the progress.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np

from merino.core.common.files import check_writable, open_to_append, overwritten, write_fault
from merino.core.common.user_files import WEIGHTS, is_folder, is_there, read_user_file, real_path, user_path
from merino.eval.families import find_net
from merino.eval.linear.phases import column_names, phases_of
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.weights import LEARNED, SHIPPED, active_file, own_file
from merino.formats.sources import find_files
from merino.learn.errors import LearnError
from merino.learn.minimisers import FitCallback, Step
from merino.learn.request import Events, LearnRequest, Say
from merino.learn.sample import FitParameters
from merino.learn.settings import Settings
from merino.match.prove import GAIN, STRONGER, Heats, StrengthTest

RECORD_NAME = "learning.json"
COLUMNS = 80
COMMAND = " " * 4  # begins a line to copy, which is never broken
_WORD = re.compile(r"(?:(?<!\w)'[^']*'|\S)+(?: \+- \S+)?")  # a quoted name is one word, and a number with its error


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
    """The files of a run: the weights, and record and table, None if they are not wanted.

    `compares` tells whether a match decides about new weights before they are written. A run that `is_dry` writes none.
    `read` are the files that it learns from.
    """

    weights: WeightsPaths
    record: Path | None
    csv: Path | None
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
        paths, reports = self.weights, [path for path in (self.record, self.csv) if path is not None]
        for path in reports:
            check_writable(path)
        others = [*([] if self.is_dry else [paths.old]), *([paths.beside] if self.compares else []), *reports]
        new = [] if self.is_dry else [paths.target]
        fault = overwritten([*new, *others], self.read) or overwritten(others, [paths.source])
        if fault is not None:
            raise LearnError(fault)


@dataclass(frozen=True)
class LearnRun:
    """What the stages of a run share, beside what each hands to the next.

    `trial` is the match that decides about new weights, `heats` are the matches before it that choose among candidates,
    None where none are wanted. `command` is the name of `learn` in hints.
    """

    files: RunFiles
    events: Events
    trial: StrengthTest
    heats: Heats | None
    command: str

    @classmethod
    def of(
        cls,
        request: LearnRequest,
        events: Events,
        trial: StrengthTest,
        command: str,
    ) -> LearnRun:
        """The run of a request, by `trial` unless the request asks for another match; raises LearnError."""
        files = files_of(request)
        heats = (GAIN if request.prove else trial).heats if files.compares else None
        return cls(files, events, STRONGER if request.prove else trial, heats, command)


def files_of(request: LearnRequest) -> RunFiles:
    """The files that a request names, or that it leaves to their usual places; raises LearnError."""
    paths = weights_paths(request.weights, request.out)
    record = None if request.dry_run else paths.target.parent / RECORD_NAME
    if request.record:
        record = named_path(request.record)
    compares = request.plays_match and paths.takes_effect and not request.dry_run
    csv = named_path(request.csv) if request.csv else None
    return RunFiles(paths, record, csv, compares, request.dry_run, _read_by(request))


def _read_by(request: LearnRequest) -> tuple[Path, ...]:
    """The games of a request, and the net of its teacher; raises SourceError and EvaluationError."""
    nets = [find_net(request.teacher)] if request.teacher and request.needs_scores else []
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
