"""A report as HTML, as Jupyter shows it: the board with its sentences, and the table of terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import chess
import chess.svg

from merino.inner.core.common.tables import beside, html_table
from merino.inner.engine.search.limits import pawns

SIZE = 260  # pixels of the board
MIN_SHOWN = 0.05  # centipawns of a term


def html_of(fen: str, score_cp: float, summary: Sequence[str], terms: Iterable[tuple[str, float, float, float]]) -> str:
    """The report in one element. A term is its name, and centipawns of White, of Black and net; none that is 0."""
    board = chess.svg.board(chess.BaseBoard(fen.split(maxsplit=1)[0]), size=SIZE)
    said = f"<p><b>{pawns(score_cp)}</b> {escape(' '.join(summary))}</p>"
    rows = [
        (name, f"{white:.1f}", f"{black:.1f}", f"{net:+.1f}")
        for name, white, black, net in terms
        if abs(net) >= MIN_SHOWN
    ]
    table = html_table(("Term", "White cp", "Black cp", "Net"), rows) if rows else ""
    return beside(board, f"{said}{table}")
