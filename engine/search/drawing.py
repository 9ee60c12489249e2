"""A searched position as HTML, as notebooks show the result of a search: the board with the best move, and the line."""

from __future__ import annotations

from collections.abc import Mapping

import chess
import chess.svg

from merino.inner.core.board.game import Position
from merino.inner.core.board.move import Move
from merino.inner.core.common.tables import beside, html_table

SIZE = 260  # pixels of the board


def html_of(position: Position | None, told: Mapping[str, object], line: tuple[int, ...]) -> str:
    """A table of what is told by its heads, with the line, beside the board; without a position the table alone."""
    if position is None:
        return _table(told, " ".join(Move(move).uci() for move in line))
    board = chess.Board(position.fen(), chess960=True)
    table = _table(told, board.variation_san([board.parse_uci(Move(move).uci(True)) for move in line]))
    arrows = [chess.svg.Arrow(Move(move).from_square, Move(move).to_square) for move in line[:1]]
    drawn = chess.svg.board(chess.BaseBoard(board.board_fen()), arrows=arrows, size=SIZE)
    return beside(drawn, table)


def _table(told: Mapping[str, object], line: str) -> str:
    cells = {**told, "Line": line or "no legal move"}
    return html_table(list(cells), [list(cells.values())])
