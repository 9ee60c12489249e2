"""The output of `learn` while it runs: lines for the user and the log, and its progress."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np

from merino.inner.core.common.files import write_fault
from merino.inner.core.common.user_files import open_to_append
from merino.inner.eval.linear.phases import column_names, phases_of
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.learn.fit import FitCallback, Step
from merino.inner.learn.request import Events, Say
from merino.inner.learn.sample import FitParameters
from merino.inner.learn.settings import Settings

COLUMNS = 80
COMMAND = " " * 4  # begins a line to copy, which is never broken
_WORD = re.compile(r"(?:(?<!\w)'[^']*'|\S)+(?: \+- \S+)?")  # a quoted name is one word, and a number with its error


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
            self._log = TextIOWrapper(open_to_append(path), "utf-8")
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
