"""What notebooks show, as HTML: the result of a search, and the report of a position, each next to its board."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import chess
import chess.svg

from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.text import html_table, side_by_side

SIZE = 260  # pixels of the board
MIN_SHOWN = 0.05  # centipawns of a term


def searched_as_html(position: Position | None, values: Mapping[str, object], line: tuple[int, ...]) -> str:
    """A table of values by their heads, with the line, next to the board with its first move.

    Without a position the table alone.
    """
    if position is None:
        return _table(values, " ".join(Move(move).uci() for move in line))
    board = chess.Board(position.fen(), chess960=True)
    table = _table(values, board.variation_san(chess.Move.from_uci(Move(move).uci(True)) for move in line))
    arrows = [chess.svg.Arrow(Move(move).from_square, Move(move).to_square) for move in line[:1]]
    return side_by_side(chess.svg.board(chess.BaseBoard(board.board_fen()), arrows=arrows, size=SIZE), table)


def _table(values: Mapping[str, object], line: str) -> str:
    cells = {**values, "Line": line or "no legal move"}
    return html_table(list(cells), [list(cells.values())])


def report_as_html(
    fen: str, score: str, summary: Sequence[str], terms: Iterable[tuple[str, float, float, float]]
) -> str:
    """The sentences and the table of terms next to the board.

    A term is its name, and centipawns of White, of Black and net; none that is 0 is shown.
    """
    board = chess.svg.board(chess.BaseBoard(fen.split(maxsplit=1)[0]), size=SIZE)
    said = f"<p><b>{score}</b> {escape(' '.join(summary))}</p>"
    rows = [
        (name, f"{white:.1f}", f"{black:.1f}", f"{net:+.1f}")
        for name, white, black, net in terms
        if abs(net) >= MIN_SHOWN
    ]
    table = html_table(("Term", "White cp", "Black cp", "Net"), rows) if rows else ""
    return side_by_side(board, f"{said}{table}")
