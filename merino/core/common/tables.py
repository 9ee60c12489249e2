"""Results shown: tables in plain text, as comma-separated values and in HTML, and pictures by matplotlib."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from html import escape
from types import ModuleType
from typing import Any

from merino.core.common.errors import MerinoError


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line of heads; what is in its cells is text."""
    return f"<table>{_row(heads, 'th')}{''.join(_row(row, 'td') for row in rows)}</table>"


def side_by_side(picture: str, text: str) -> str:
    """A picture, and the text about it on its right, both in HTML."""
    return f'<div style="display: flex; gap: 1em"><div>{picture}</div><div>{text}</div></div>'


def _row(cells: Iterable[object], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """The rows as comma-separated values, a line each."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows in columns: the first `left` of them to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [
        [cell.ljust(width) if number < left else cell.rjust(width) for number, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in rows)
    ]
    return ["  ".join(row) for row in padded]


ENDINGS = (".png", ".svg")
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
        raise PictureError(
            "a picture needs matplotlib: install it (pip install matplotlib) or Merino with its extra 'plots'"
        ) from error
    return Figure, style


def saved(figure: Any, ending: str) -> bytes:
    """The bytes of a figure in the format of an ending, one of ENDINGS."""
    content = io.BytesIO()
    kind = ending.lstrip(".")
    figure.savefig(content, format=kind, dpi=_DOTS_PER_INCH, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()
