"""The types of the options of `learn`: what their words mean, or why they mean nothing."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from merino.inner.app.console.command_line import positive
from merino.inner.learn.targets import BLEND, RESULT, SEARCH, Target

ALL_OF_A_GAME = "all"


def number_or(word: str, low: float) -> Callable[[str], float | None]:
    """A type: a number from `low` on, or None for `word`."""

    def read(text: str) -> float | None:
        if text == word:
            return None
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not low <= value < 1e9:
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is neither a number from {low:g} on nor '{word}'")
        return value

    return read


def target(text: str) -> Target:
    """A type: what to predict."""
    kind, equals, share = text.partition("=")
    if text in (RESULT, SEARCH):
        return Target(1.0 if text == RESULT else 0.0)
    if kind != BLEND or not equals:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not one of {RESULT}, {SEARCH} and {BLEND}=X")
    try:
        number = float(share)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{BLEND}=X needs an X from 0 to 1, not '{share[:40]}'")
    return Target(number)


def prior(text: str) -> float:
    """A type: the pull toward the old weights, 0 for off."""
    return number_or("off", 0.001)(text) or 0.0


def per_game(text: str) -> int | str:
    """A type: a number of positions, or the word for all of them."""
    return text if text == ALL_OF_A_GAME else positive(text)
