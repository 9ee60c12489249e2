"""Tables in plain text, as comma-separated values, and in HTML as notebooks show results."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from html import escape


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line of heads; what is in its cells is text."""
    return f"<table>{_row(heads, 'th')}{''.join(_row(row, 'td') for row in rows)}</table>"


def beside(picture: str, told: str) -> str:
    """A picture, and beside it what is told of it, both in HTML."""
    return f'<div style="display: flex; gap: 1em"><div>{picture}</div><div>{told}</div></div>'


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
