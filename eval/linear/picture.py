"""A table of weights as a picture in text: half a board for squares, rows and columns for pairs, or a single row.

How its cells are called says which: `c4` is a square, `rook_loose` a row and a column, `7` a column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from merino.inner.eval.linear.registry import TermTable

_SQUARE = re.compile(r"[a-h][1-8]")
_INDENT, _ROW_WIDTH, _CELL, MAX_COLUMNS = " " * 6, 10, 5, 10  # characters, and cells in a line


def picture(table: TermTable, values: np.ndarray) -> list[str]:
    """The cells of a table, middlegame and endgame below each other where they differ; `values` is float64[cells, 2].

    A cell that the table lacks is a dot.
    """
    same = bool((values[:, 0] == values[:, 1]).all())
    rows, columns, places = _shape(table.cells)
    found: list[str] = []
    for phase, title in ((0, ""),) if same else ((0, "middlegame"), (1, "endgame")):
        for first in range(0, len(columns), MAX_COLUMNS):
            shown = columns[first : first + MAX_COLUMNS]
            head = title if first == 0 else ""
            found.append(f"{_INDENT}{head:{_ROW_WIDTH}}" + "".join(f"{name:>{_width(shown)}}" for name in shown))
            for row in rows:
                cells = (places.get((row, column)) for column in shown)
                told = ("." if place is None else f"{round(values[place, phase]) + 0}" for place in cells)
                found.append(f"{_INDENT}{row:{_ROW_WIDTH}}" + "".join(f"{text:>{_width(shown)}}" for text in told))
    return found


def _width(columns: Sequence[str]) -> int:
    """The characters of a column."""
    return max(_CELL, *(len(name) + 1 for name in columns))


def _shape(cells: Sequence[str]) -> tuple[list[str], list[str], dict[tuple[str, str], int]]:
    """The names of rows and columns as they are drawn, and which cell stands where."""
    parts = [_parts(cell) for cell in cells]
    places = {part: index for index, part in enumerate(parts)}
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*parts, strict=True))
    if all(_SQUARE.fullmatch(cell) for cell in cells):
        rows.reverse()  # the own back rank is below
    return rows, columns, places


def _parts(cell: str) -> tuple[str, str]:
    """The row and the column of a cell."""
    if _SQUARE.fullmatch(cell):
        return cell[1], cell[0]
    row, _, column = cell.partition("_")
    return (row, column) if column else ("", row)
