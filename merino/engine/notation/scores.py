"""Scores and lines of a search as people read them, from White's side."""

from __future__ import annotations

import chess

from merino.core.board.bitboard import BLACK, WHITE
from merino.engine.notation.san import san_line
from merino.engine.search.limits import Line, Score, pawns

COUNT_WIDTH = 5  # of a number of nodes
_BOUND_MARKS = {"": "", "lowerbound": "!", "upperbound": "?"}


def score_text(score: Score, turn: int) -> str:
    """A score for the side `turn` as seen from White: "+0.35" in pawns, "+M3" for a mate in three by White."""
    mate = score.mate
    if mate is None:
        return pawns(score if turn == WHITE else -score)
    is_for_white = (mate > 0) == (turn == WHITE)
    return f"{'+' if is_for_white else '-'}M{abs(mate)}"


def line_text(line: Line, board: chess.Board, is_narrow: bool = False) -> str:
    """Depth, score from White's side, time, nodes and the moves expected; "!" and "?" mark a rise and a fall."""
    score = score_text(line.score, WHITE if board.turn else BLACK) + _BOUND_MARKS[line.bound]
    moves, seconds, nodes = san_line(board, line.pv), line.time_ms / 1000, _count(line.nodes)
    if is_narrow:
        return f"{line.depth:2} {score:>7} {seconds:5.1f} s {nodes:>5}  {moves}"
    return f"depth {line.depth:2}  {score:>7}  {seconds:5.1f} s  {nodes:>6} nodes  {moves}"


def _count(nodes: int) -> str:
    """A number of nodes in at most COUNT_WIDTH characters."""
    if nodes < 10_000:
        return str(nodes)
    if nodes < 1_000_000:
        return f"{nodes / 1000:.0f}k"
    forms = ((1e6, ".1f", "M"), (1e6, ".0f", "M"), (1e9, ".1f", "G"))
    texts = [f"{nodes / unit:{form}}{letter}" for unit, form, letter in forms]
    return next((text for text in texts if len(text) <= COUNT_WIDTH), f"{nodes / 1e9:.0f}G")
