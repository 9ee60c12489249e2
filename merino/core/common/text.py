"""Text: words of a command line, text as a part of one line, mistyped names; tables of results and their pictures.

Imports nothing heavy.
"""

import io
import shlex
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from merino.core.common import about
from merino.core.common.errors import MerinoError

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
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


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


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line of heads; what is in its cells is text."""
    return f"<table>{_row(heads, 'th')}{''.join(_row(row, 'td') for row in rows)}</table>"


def side_by_side(picture: str, text: str) -> str:
    """A picture, and the text about it on its right, both in HTML."""
    return f'<div style="display: flex; gap: 1em"><div>{picture}</div><div>{text}</div></div>'


def _row(cells: Iterable[object], tag: str) -> str:
    from html import escape  # noqa: PLC0415 (not on the way to uciok)

    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows in columns: the first `left` of them to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [
        [cell.ljust(width) if number < left else cell.rjust(width) for number, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in rows)
    ]
    return ["  ".join(row) for row in padded]


ENDINGS = (".png", ".svg")
# Of lines in a picture, which the colour-blind tell apart, too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
GREY = "#555555"
SETTINGS = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "svg.hashsalt": "merino",  # so that the same games give the same file
    "text.parse_math": False,  # names of players and files may have dollar signs
}
_DOTS_PER_INCH = 160


class PictureError(MerinoError):
    """A picture that cannot be drawn; the message says why."""


def load_matplotlib() -> tuple[Any, ModuleType]:
    """The class of figures, which draws without a screen, and the module of settings.

    Raises PictureError if matplotlib is not installed.
    """
    try:
        import matplotlib as style  # noqa: PLC0415 (heavy, and an extra)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise PictureError(about.needs("plots", "a picture")) from error
    return Figure, style


def saved(figure: Any, ending: str) -> bytes:
    """The bytes of a figure in the format of an ending, one of ENDINGS."""
    content = io.BytesIO()
    kind = ending.lstrip(".")
    figure.savefig(content, format=kind, dpi=_DOTS_PER_INCH, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()
