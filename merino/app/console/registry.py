"""The table of console commands, filled by `@command`, and readers of their arguments.

A reader raises UsageError for a wrong argument, which says what was expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from merino.app.console import command_line
from merino.core.board.bitboard import SQUARE_NAMES
from merino.core.common.command import CommandError, UsageError
from merino.core.common.errors import number_of
from merino.core.common.text import did_you_mean, words_of
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import load_evaluation

MAX_MINUTES = 10_000  # of the base time of a clock

Action = Callable[[Any, str], int | None]  # takes the session and the rest of the line; an exit code ends the console


class Section(Enum):
    """A heading of `help`."""

    PLAY = "Playing"
    LIMITS = "Thinking time"
    POSITION = "Position"
    EXPLAIN = "Analysis and explanations"
    FILES = "Files"
    ENGINE = "Engine"
    LEAVE = "Help and exit"


class ConsoleCommand(NamedTuple):
    """One command. One that `ends_game` ends or leaves the current game, so it must be typed in full."""

    name: str
    section: Section
    arguments: str
    aliases: tuple[str, ...]
    sentence: str  # the first sentence of the docstring
    details: str  # what follows it
    run: Action
    ends_game: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    @property
    def usage(self) -> str:
        """Name and arguments: "undo [N]"."""
        return f"{self.name} {self.arguments}".rstrip()


COMMANDS: list[ConsoleCommand] = []


def command(
    name: str, section: Section, arguments: str = "", aliases: tuple[str, ...] = (), ends_game: bool = False
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Register the decorated function as a command, whose docstring is what `help` shows.

    Without `arguments` the command takes none, and the function is given the session alone.
    """

    def register(run: Callable[..., int | None]) -> Callable[..., int | None]:
        sentence, _, details = (run.__doc__ or "").partition("\n")

        def without_arguments(session: Any, text: str) -> int | None:
            if text:
                raise UsageError(f"expected no argument, found '{text[:40]}'")
            return run(session)

        action = run if arguments else without_arguments
        details = " ".join(details.split())
        COMMANDS.append(ConsoleCommand(name, section, arguments, aliases, sentence, details, action, ends_game))
        return run

    return register


def by_name(word: str) -> ConsoleCommand | None:
    """The command with exactly this name or alias, in any case."""
    return next((entry for entry in COMMANDS if word.lower() in entry.names), None)


def by_prefix(word: str) -> list[ConsoleCommand]:
    """The commands whose name begins with `word`; if there is none, those with such an alias."""
    named = [entry for entry in COMMANDS if entry.name.startswith(word.lower())]
    return named or [entry for entry in COMMANDS if any(alias.startswith(word.lower()) for alias in entry.aliases)]


def whole_number(text: str, what: str, low: int, high: int, default: int | None = None) -> int:
    """The whole number in `text`; for an empty text `default`, if there is one."""
    if not text and default is not None:
        return default
    if not text.isascii() or not text.isdigit() or not low <= (found := number_of(text)) <= high:
        raise UsageError(f"{what} must be a whole number from {low} to {high}")
    return found


def number(text: str, what: str, low: float, high: float) -> float:
    """The number in `text`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise UsageError(f"{what} must be a number from {low:g} to {high:g}")
    return value


def minutes(text: str) -> float:
    """Minutes as "5", "0.5" or "5:30", as in the XBoard protocol."""
    whole, colon, seconds = text.partition(":")
    total = number(whole, "the base time in minutes", 0, MAX_MINUTES)
    total += number(seconds, "the seconds of the base time", 0, 59) / 60 if colon else 0
    if total > MAX_MINUTES:
        raise UsageError(f"the base time must be at most {MAX_MINUTES} minutes")
    return total


def words_in(text: str) -> list[str]:
    """The words, with quotes as in a shell."""
    try:
        return words_of(text)
    except ValueError as error:
        raise UsageError(f"a quotation mark is missing in {text[:60]}") from error


def file_name(text: str) -> str:
    """The name of a file, which may be in quotation marks."""
    name = text.strip().strip("\"'")
    if not name:
        raise UsageError("expected the name of a file")
    return name


def file_path(text: str) -> Path:
    """The file of this name, which may be in quotation marks; `~` is the home folder."""
    return command_line.file_path(file_name(text))


def evaluation_in(text: str) -> Evaluation:
    """The evaluation in the file of this name, or of one that comes with Merino; raises CommandError."""
    try:
        return load_evaluation(file_path(text))
    except EvaluationError as error:
        raise CommandError(str(error)) from error


def square(text: str) -> int:
    """The square of this name, 0 for a1 to 63 for h8."""
    if text.lower() not in SQUARE_NAMES:
        raise UsageError(f"'{text[:40]}' is not a square")
    return SQUARE_NAMES.index(text.lower())


def choice(text: str, choices: tuple[str, ...]) -> str:
    """One of a few words, which may be shortened."""
    found = [word for word in choices if text and word.startswith(text.lower())]
    if len(found) != 1:
        raise UsageError(f"expected one of {', '.join(choices)}{did_you_mean(text, choices)}")
    return found[0]
