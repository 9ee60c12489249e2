"""Text within text: the words of a command line, what may be anything as a part of one line, and numbers of things."""

from __future__ import annotations

import shlex
import sys

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
