"""Tables in HTML, as notebooks show results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table_of(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line of heads; what is in its cells is text."""
    return f"<table>{_row(heads, 'th')}{''.join(_row(row, 'td') for row in rows)}</table>"


def _row(cells: Iterable[object], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
