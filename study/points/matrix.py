"""The vectors as a file of rows, five differences and the result: written for other programs, and read back.

Plain text, as Medvedev's program writes it, has six numbers a row and nothing else. CSV (`.csv`) and JSON (`.json`)
name the columns and add the number of the game, which plain text lacks.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from merino.inner.formats.sources import SourceError
from merino.inner.study.points.vectors import DRAW, PIECES, Vectors

COLUMNS = (*PIECES, "result", "game")
_NUMBERS = len(COLUMNS) - 1  # in a row of plain text
_MAX_PIECES = 64  # pieces of a kind on a board


def render_matrix(vectors: Vectors, ending: str) -> str:
    """The text of the file: CSV or JSON by `ending`, else plain."""
    table = np.column_stack([vectors.differences, vectors.outcomes, vectors.game + np.int32(1)])
    if ending == ".json":
        return json.dumps({"columns": COLUMNS, "rows": table.tolist()}) + "\n"
    text = io.StringIO()
    if ending == ".csv":
        np.savetxt(text, table, fmt="%d", delimiter=",", header=",".join(COLUMNS), comments="")
    else:
        np.savetxt(text, table[:, :_NUMBERS], fmt="%2d")
    return text.getvalue()


def is_matrix(text: bytes, ending: str) -> bool:
    """Whether a file has vectors instead of games: by its ending, or by six integers in its first row."""
    first = next((line for line in io.BytesIO(text[:4096]) if line.strip()), b"").split()
    return ending in (".csv", ".json") or len(first) == _NUMBERS and all(_is_integer(word) for word in first)


def read_matrix(path: Path, text: bytes, ending: str) -> Vectors:
    """The vectors that `render_matrix` wrote; raises SourceError with the row at fault.

    Plain text does not show where games begin. A normal game begins with level material, so the rows from one level
    balance to the next with the same result count as a game; sometimes this is only part of one.
    """
    rows = list(_json_rows(path, text) if ending == ".json" else _text_rows(text))
    for number, row in rows:
        _check(path, number, row, len(rows[0][1]))
    if not rows:
        raise SourceError(f"'{path}' holds no row of a matrix")
    table = np.array([[int(word) for word in row] for _, row in rows])
    differences, results = table[:, : len(PIECES)].astype(np.int8), table[:, len(PIECES)].astype(np.int8)
    knows_games = table.shape[1] == len(COLUMNS)
    begins = np.ones(len(table), dtype=bool)
    if knows_games:
        begins[1:] = np.diff(table[:, -1]) != 0
    else:
        begins[1:] = (np.diff(results) != 0) | ~differences[1:].any(axis=1)
    game = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    return Vectors(differences, game, results[begins], knows_games)


def _text_rows(text: bytes) -> Iterable[tuple[int, list[str]]]:
    """The words of each row that is not empty, and its number; a line of names at the top is left out."""
    for number, line in enumerate(text.decode("latin-1").splitlines(), 1):
        words = line.replace(",", " ").split()
        if words and (number > 1 or words != list(COLUMNS)):
            yield number, words


def _json_rows(path: Path, text: bytes) -> Iterable[tuple[int, list[str]]]:
    try:
        content = json.loads(text)
        return [(number, [str(word) for word in row]) for number, row in enumerate(content["rows"], 1)]
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f'\'{path}\' is not a matrix in JSON, an object with "columns" and "rows"') from error


def _check(path: Path, number: int, row: list[str], width: int) -> None:
    if len(row) not in (_NUMBERS, len(COLUMNS)) or len(row) != width or not all(_is_integer(word) for word in row):
        found = " ".join(row)[:40]
        raise SourceError(f"'{path}', row {number}: five differences and a result are expected, not '{found}'")
    *differences, result = (int(word) for word in row[:_NUMBERS])
    if not 0 <= result <= 2 * DRAW or any(abs(difference) > _MAX_PIECES for difference in differences):
        raise SourceError(f"'{path}', row {number}: results are 0, 1 or 2 and differences at most {_MAX_PIECES}")


def _is_integer(word: str | bytes) -> bool:
    digits = word.lstrip("-" if isinstance(word, str) else b"-")  # type: ignore[arg-type]
    return digits.isdigit() and len(word) - len(digits) <= 1 and len(digits) < 10
