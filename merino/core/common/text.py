"""Text within text: words of a command line, text as a part of one line, numbers of things, and mistyped names.

Imports nothing heavy.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable

_CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")


def words_of(text: str) -> list[str]:
    """The words, with quotes as in a shell; raises ValueError for a quote that does not end.

    On Windows a backslash is part of a path, elsewhere it takes the next character as it is.
    """
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    if sys.platform == "win32":
        lexer.escape = ""
    return list(lexer)


def as_word(text: object) -> str:
    """The text in quotes as one word of a command to copy, for any shell; on Windows for its command prompt too."""
    if sys.platform == "win32":
        return f'"{text}"'  # a quotation mark that no path has there
    escaped = str(text).replace("'", "'\"'\"'")
    return f"'{escaped}'"


def in_one_line(text: str) -> str:
    """The text in characters that print and that any file takes: line ends, controls and the like as escapes."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def without_controls(text: str) -> str:
    """The text with blanks for control characters, which a terminal might obey; all other characters stay."""
    return text.translate(_CONTROLS)


def counted(number: int, noun: str) -> str:
    """A number of things: "1 game", "2 games", "0 inaccuracies"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{number} {noun}s"


def rounded(value: float, sign: str = "-", digits: int = 1) -> str:
    """A number with so many digits; what rounds to nothing is never "-0"."""
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}"


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
