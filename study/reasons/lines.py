"""The kind of mistake that a move is, from the lines that a search found in a position and after the move."""

from __future__ import annotations

from collections.abc import Sequence

from merino.inner.core.board.bitboard import WHITE
from merino.inner.core.board.game import Position
from merino.inner.engine.notation.san import as_chess_move, board_of
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.reasons.ends import end_after
from merino.inner.study.reasons.mistakes import Mistake, mistake_of
from merino.inner.study.reasons.placing import ThreeEnds
from merino.inner.study.reasons.winning import FoundLine
from merino.inner.study.words.telling import in_terms

LineAndMate = tuple[Sequence[int], int | None]  # a line, and the moves to mate for the side that begins it, or None


def mistake_in(
    position: Position, played: int, better: LineAndMate, reply: LineAndMate, evaluation: Evaluation
) -> Mistake:
    """The kind of mistake that `played` is in `position`, beside the line `better`; `reply` is the line after it.

    The terms are those of the evaluation, or of its account around the position.
    """
    after = position.copy()
    after.push(played)
    best, own = _found(position, *better), _found(after, *reply)
    move = as_chess_move(played, position.chess960)
    if best.settled is None or own.settled is None:
        return mistake_of(move, best, own, {})
    by_terms = in_terms(position.record, evaluation)
    lines = ((), (played, *reply[0][: own.settled]), better[0][: best.settled])
    before, here, there = (end_after(position, moves, by_terms) for moves in lines)
    mover = position.turn == WHITE
    lost = {name: there.lead(name, mover) - here.lead(name, mover) for name in there.terms}
    return mistake_of(move, best, own, lost, ThreeEnds(before, here, there, mover).costs())


def _found(position: Position, moves: Sequence[int], mate: int | None) -> FoundLine:
    return FoundLine(board_of(position), tuple(as_chess_move(move, position.chess960) for move in moves), mate)
