"""The reader of every command line of `merino`: its help, and what it says of a mistake, are alike everywhere."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import NoReturn

from engine.common.command import UsageError


class Parser(argparse.ArgumentParser):
    """Reads a command line; what is wrong with it is a UsageError, and `-h` or `--help` prints what it takes."""

    # mypy has overloads for callers that bring their own namespace.
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """What argparse reads, but an option that does not exist is complained of before anything that is missing."""
        words = sys.argv[1:] if args is None else list(args)
        for word in takewhile(self._is_ours, words):
            if re.match("--?[a-zA-Z]", word) and not self._begins_an_option(word.partition("=")[0]):
                self.error(f"unrecognized arguments: {word}")
        return super().parse_known_args(words, namespace)

    def _is_ours(self, word: str) -> bool:
        """Whether a word, and not only those before it, is for this parser, and not for one of its commands."""
        return word != "--" and (self._subparsers is None or word.startswith("-"))

    def _begins_an_option(self, word: str) -> bool:
        return any(option.startswith(word) for option in self._option_string_actions)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError, with the way to help."""
        raise UsageError(f"{self.prog.removeprefix('merino ')}: {message}; '{self.prog} -h' tells more")


def above_zero(text: str) -> int:
    """A whole number above 0, for `type=` of an option."""
    if not text.isdecimal() or not 0 < int(text[:12]) < 10**9:
        raise argparse.ArgumentTypeError(f"'{text[:20]}' is no whole number above 0")
    return int(text)
