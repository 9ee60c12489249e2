"""Threats: what the other side would win if it were to move now."""

from __future__ import annotations

from dataclasses import dataclass

import chess

from merino.inner.core.board.game import Position
from merino.inner.engine.notation.san import as_chess_move, board_of
from merino.inner.engine.notation.scores import score_text
from merino.inner.engine.search.limits import Limits
from merino.inner.study.analyser import Analyser
from merino.inner.study.reasons.winning import FoundLine, win_by


@dataclass(frozen=True)
class Threat:
    """What the other side threatens: its move, coordinates, and a sentence with the line.

    `score`, White's, and `depth` are those of the search in which it was its turn.
    """

    move: str
    sentence: str
    score: str
    depth: int


def threat_in(position: Position, analyser: Analyser, limits: Limits) -> Threat | None:
    """What the other side would win if it were to move; None if nothing, or in check."""
    board = board_of(position)
    if board.is_check() or not position.legal_moves:
        return None
    board.push(chess.Move.null())
    passed = Position(board.fen(), position.chess960)
    if not passed.legal_moves:
        return None
    for found in analyser(passed, limits):
        moves = tuple(as_chess_move(move, position.chess960) for move in found.pv)
        mate = found.score.mate
        line = FoundLine(board_of(passed), moves, mate if mate and mate > 0 else None)
        said = _sentence(line, "White" if passed.turn == 0 else "Black")
        return Threat(moves[0].uci(), said, score_text(found.score, passed.turn), found.depth) if said else None
    return None


def _sentence(line: FoundLine, side: str) -> str | None:
    if line.mate:
        return f"{side} threatens mate in {line.mate}: {line.text}."
    win = win_by(line, line.gain)
    return f"{side} threatens {line.board.san(line.moves[0])}: {win.sentence} ({line.text})." if win else None
