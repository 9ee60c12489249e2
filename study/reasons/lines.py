"""The kind of mistake that a move is, from the lines that a search found in a position and after the move."""

from __future__ import annotations

from collections.abc import Sequence

from merino.inner.core.board.bitboard import WHITE
from merino.inner.core.board.game import Position
from merino.inner.engine.notation.san import as_chess_move, board_of
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.reasons.ends import differences, end_after
from merino.inner.study.reasons.mistakes import Mistake, mistake_of
from merino.inner.study.reasons.winning import FoundLine
from merino.inner.study.words.telling import in_terms

LineAndMate = tuple[Sequence[int], int | None]  # a line, and the moves to mate for the side that begins it, or None


def mistake_in(
    position: Position, played: int, better: LineAndMate, reply: LineAndMate, evaluation: Evaluation
) -> Mistake | None:
    """The kind of mistake that `played` is in `position`, beside the line `better`; `reply` is the line after it.

    None where nothing is seen. The terms are those of the evaluation, or of its account around the position.
    """
    after = position.copy()
    after.push(played)
    best, own = _found(position, *better), _found(after, *reply)
    lost, pieces = {}, []
    if best.settled is not None and own.settled is not None:
        by_terms = in_terms(position.record, evaluation)
        lines = (better[0][: best.settled], (played, *reply[0][: own.settled]))
        there, here = (end_after(position, moves, by_terms) for moves in lines)
        sign = 1 if position.turn == WHITE else -1
        lost = {name: sign * (cp - here.terms[name]) for name, cp in there.terms.items()}
        pieces = differences(here, there)
    return mistake_of(as_chess_move(played, position.chess960), best, own, lost, pieces)


def _found(position: Position, moves: Sequence[int], mate: int | None) -> FoundLine:
    return FoundLine(board_of(position), tuple(as_chess_move(move, position.chess960) for move in moves), mate)
