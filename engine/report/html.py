"""A report as HTML, as Jupyter shows it: the board with its sentences, and the table of terms."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import chess
import chess.svg

from merino.inner.engine.notation.scores import pawns

if TYPE_CHECKING:
    from merino.inner.engine.report.schema import PositionReport

SIZE = 260  # pixels of the board
MIN_SHOWN = 0.05  # centipawns of a term


def html_of(report: PositionReport) -> str:
    """The report in one element. Terms that make no difference are left out."""
    board = chess.svg.board(chess.BaseBoard(report.fen.split(maxsplit=1)[0]), size=SIZE)
    said = f"<p><b>{pawns(report.static.score_cp)}</b> {escape(' '.join(report.summary))}</p>"
    terms = [term for term in report.terms if abs(term.net_cp) >= MIN_SHOWN]
    rows = [
        _row((term.name, f"{term.white_cp:.1f}", f"{term.black_cp:.1f}", f"{term.net_cp:+.1f}"), "td") for term in terms
    ]
    head = _row(("Term", "White cp", "Black cp", "Net"), "th")
    table = f"<table>{head}{''.join(rows)}</table>" if rows else ""
    return f'<div style="display: flex; gap: 1em"><div>{board}</div><div>{said}{table}</div></div>'


def _row(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
