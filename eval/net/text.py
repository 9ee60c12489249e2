"""What an evaluation without terms says of a position, as text: its score, the value of each piece, and the terms'."""

from __future__ import annotations

import numpy as np

from engine.board.bitboard import EMPTY, KING, PIECE_LETTERS
from eval.evaluation import Evaluation

CELL = 8  # columns


def render_by_pieces(evaluation: Evaluation, terms: Evaluation, record: np.ndarray) -> str:
    """The text for POSITION[1]: values are those by removal, for the owner; scores White's; all in pawns."""
    turn = -1 if record[0]["side"] else 1
    score, other = (turn * int(each.scores(record)[0]) / 100 for each in (evaluation, terms))
    board, values = record[0]["board"], evaluation.removals(record)[0]
    lines = [evaluation.name, "", "value of each piece for its owner, in pawns"]
    for rank in range(7, -1, -1):
        squares = range(8 * rank, 8 * rank + 8)
        lines.append(f"{rank + 1} " + "".join(_cell(int(board[square]), int(values[square])) for square in squares))
    lines.append("  " + "".join(f"{file:^{CELL}}" for file in "abcdefgh").rstrip())
    return "\n".join(
        [*(line.rstrip() for line in lines), "", f"score for White {score:+.2f}; by the terms {other:+.2f}"]
    )


def _cell(piece: int, value: int) -> str:
    if piece == EMPTY:
        return f"{'.':^{CELL}}"
    letter = PIECE_LETTERS[piece]
    return f"{letter:^{CELL}}" if piece & 7 == KING else f"{f'{letter} {value / 100:.2f}':^{CELL}}"
