"""The parser of every `merino` command line: help and error messages look alike in all commands."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from merino.core.common.command import UsageError
from merino.core.common.errors import number_of
from merino.core.common.files import user_path
from merino.core.common.text import did_you_mean

MAX_NUMBER = 10**9
HELP_COLUMN = 26
OUTPUT = "output"  # title of the last group of options
Found = TypeVar("Found")


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError for a bad command line, and suggests the nearest option.

    `examples` are complete command lines, printed at the end of the help after `notes`.
    """

    def __init__(self, *, examples: Sequence[str] = (), notes: str = "", **settings: Any) -> None:
        settings.setdefault("formatter_class", _formatter)
        super().__init__(**settings)
        self.examples, self.notes = tuple(examples), notes
        self._positionals.title = "arguments"
        # argparse takes -5 for a number, but -5,10 for an option.
        self._negative_number_matcher = re.compile(r"-\d[\d.,-]*$|-\.\d+$")
        self._named_groups: dict[str, argparse._ArgumentGroup] = {}
        self.other_spellings: dict[str, str] = {}  # accepted in addition to what the help shows

    def group(self, title: str) -> argparse._ArgumentGroup:
        """The group of options with this title; the same object at each call."""
        if title not in self._named_groups:
            self._named_groups[title] = self.add_argument_group(title)
        return self._named_groups[title]

    def also_accept(self, other: str, action: argparse.Action) -> None:
        """Accept another name of an option, for instance an older one; the help does not show it."""
        self._option_string_actions[other] = action
        self.other_spellings[other] = action.option_strings[0]

    def also_accept_form(self, other: str, shown: argparse.Action, **settings: Any) -> None:
        """The same for an option with different arguments: `settings` are those of `add_argument`."""
        self.add_argument(other, dest=shown.dest, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **settings)
        self.other_spellings[other] = shown.option_strings[0]

    def shown_options(self) -> dict[str, list[tuple[str, str]]]:
        """What the help shows, by title of group: each option with its value, and its sentence."""
        formatter = self._get_formatter()
        return {
            group.title or "": [
                (formatter._format_action_invocation(action), formatter._expand_help(action))
                for action in group._group_actions
                if action.option_strings and action.help not in (None, argparse.SUPPRESS) and action.dest != "help"
            ]
            for group in sorted(self._action_groups, key=lambda group: group.title == OUTPUT)
        }

    def format_usage(self) -> str:
        """The arguments by name, the options as one word."""
        return f"usage: {self._short_usage()}\n"

    def _short_usage(self) -> str:
        if self.usage is not None:
            return self.usage
        formatter = self._get_formatter()
        formatter.add_usage(None, self._get_positional_actions(), [], prefix="")
        return f"{formatter.format_help().strip()} [options]"

    def format_help(self) -> str:
        """Usage, description, arguments and options, then notes and examples."""
        self._action_groups.sort(key=lambda group: group.title == OUTPUT)  # which comes last
        usage, self.usage = self.usage, self._short_usage().replace("%", "%%")
        try:
            parts = [super().format_help().rstrip()]
        finally:
            self.usage = usage
        if self.notes:
            formatter = self._get_formatter()
            formatter.add_text(self.notes)
            parts.append(formatter.format_help().rstrip())
        if self.examples:
            title = "examples" if len(self.examples) > 1 else "example"
            parts.append("\n".join([f"{title}:", *(f"  {line}" for line in self.examples)]))
        return "\n\n".join(parts) + "\n"

    # mypy has overloads for callers that bring their own namespace.
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As in argparse, but an unknown option is reported before a missing argument."""
        words = sys.argv[1:] if args is None else list(args)
        for word in takewhile(self._is_ours, words):
            name = word.partition("=")[0]
            if re.match("--?[a-zA-Z]", word) and not self._begins_an_option(name):
                self.error(f"there is no option '{name[:40]}'{did_you_mean(name, self._visible_options())}")
        return super().parse_known_args(words, namespace)

    def _is_ours(self, word: str) -> bool:
        """Whether this word is for this parser, not for a subcommand."""
        return word != "--" and (self._subparsers is None or word.startswith("-"))

    def _begins_an_option(self, word: str) -> bool:
        return any(option.startswith(word) for option in self._option_string_actions)

    def _visible_options(self) -> list[str]:
        shown = (action for action in self._actions if action.help is not argparse.SUPPRESS)
        return [name for action in shown for name in action.option_strings]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that is not among the choices, with the nearest one."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value), names)
            raise argparse.ArgumentError(action, f"'{str(value)[:40]}' is not one of {', '.join(names)}{hint}")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError, with a pointer to the help."""
        message = message.replace("the following arguments are required:", "missing:")
        message = re.sub(r"^unrecognized arguments: (.*)$", r"unexpected: \1", message)
        hint = "" if "did you mean" in message else f"; see '{self.prog} -h'"
        raise UsageError(f"{self.prog.removeprefix('merino ')}: {message}{hint}")


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=HELP_COLUMN)


class KeyValues(argparse.Action):
    """An option such as `--resign movecount=3 score=600`: each of `keys` once, in any order, stored as a dict.

    Plain values are accepted too, in the order `plain`. Each value is read by `kind`.
    """

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        *,
        keys: Sequence[str],
        plain: Sequence[str],
        kind: Callable[[str], float],
        **settings: Any,
    ) -> None:
        super().__init__(option_strings, dest, nargs=len(keys), **settings)
        self._keys, self._plain, self._kind = tuple(keys), tuple(plain), kind

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Store the dict; raises ArgumentError."""
        pairs = [word.partition("=") for word in values]
        if not any(equals for _, equals, _ in pairs):
            pairs = [(key, "=", value) for key, value in zip(self._plain, values, strict=True)]
        if {key for key, _, _ in pairs} != set(self._keys):
            wanted = " ".join(f"{key}=N" for key in self._keys)
            raise argparse.ArgumentError(self, f"expected {wanted}, found '{' '.join(values)[:60]}'")
        try:
            setattr(namespace, self.dest, {key: self._kind(value) for key, _, value in pairs})
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error


def file_path(text: str) -> Path:
    """A file or folder; `~` is the home folder. Raises UsageError without one."""
    try:
        return user_path(text)
    except OSError as error:
        raise UsageError(f"'{text[:60]}': {error.strerror}") from error


def whole(low: int, high: int = MAX_NUMBER) -> Callable[[str], int]:
    """A type of option: a whole number from `low` to `high`."""
    words = f"from {low} to {high}" if high < MAX_NUMBER else f"from {low} on" if low != 1 else "above 0"

    def read(text: str) -> int:
        if text.isdecimal() and number_of(text) > max(high, MAX_NUMBER):
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is more than {high}")
        if not text.isdecimal() or not low <= (found := number_of(text)) <= high:
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number {words}")
        return found

    return read


def number(low: float, high: float, unit: str = "") -> Callable[[str], float]:
    """A type of option: a number from `low` to `high`, of these units."""
    words = f"{f'of {unit} ' if unit else ''}from {low:.15g} to {high:.15g}"
    return _numbers(words, lambda value: low <= value <= high)


def as_read_by(read: Callable[[str], Found]) -> Callable[[str], Found]:
    """A type of option: what `read` makes of a text, or why it makes nothing of it, by its ValueError."""

    def checked(text: str) -> Found:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


def _numbers(words: str, is_allowed: Callable[[float], bool]) -> Callable[[str], float]:
    """A type of option: one of the finite numbers that are allowed, described by `words`."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not is_allowed(value) or value == float("inf"):
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number {words}".rstrip())
        return value

    return read


positive, natural = whole(1), whole(0)
any_number = _numbers("", lambda value: value > float("-inf"))
number_above_zero = _numbers("above 0", lambda value: value > 0)
hours = _numbers("of hours above 0", lambda value: 0 < value < 1e6)
share = _numbers("from 0 to below 1", lambda value: 0 <= value < 1)
share_above_zero = _numbers("above 0 and below 1", lambda value: 0 < value < 1)
scale = number(1, 1e6)  # K in centipawns
