"""The nearest known name to one that was mistyped. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable

MIN_LIKENESS = 0.6  # share of letters in common, from 0 to 1
MAX_WORD = 60  # letters that are compared; nobody mistypes a longer name


def nearest(word: str, known: Iterable[str], count: int = 1, likeness: float = MIN_LIKENESS) -> list[str]:
    """Up to `count` known names similar to `word`, the most similar first; case does not matter."""
    from difflib import get_close_matches  # noqa: PLC0415 (only after a mistake; not on the way to uciok)

    by_lower_case = {name.lower(): name for name in known}
    found = get_close_matches(word[:MAX_WORD].lower(), list(by_lower_case), n=count, cutoff=likeness)
    return [by_lower_case[name] for name in found]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question to append to an error message: "; did you mean 'perft'?", or nothing."""
    found = nearest(word, known)
    return f"; did you mean '{found[0]}'?" if found else ""
