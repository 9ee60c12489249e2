"""The words of a command line that stands within a text."""

from __future__ import annotations

import shlex
import sys


def words_of(text: str) -> list[str]:
    """The words, with quotes as in a shell; raises ValueError for a quote that does not end.

    On Windows a backslash is part of a path, elsewhere it takes the next character as it is.
    """
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    if sys.platform == "win32":
        lexer.escape = ""
    return list(lexer)
