"""Why one move and not another: the lines of both compared at their ends, by what is exchanged, by piece, by term."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import chess

from merino.inner.core.board.game import Position
from merino.inner.engine.report.schema import MoveReport, PositionReport
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.reasons.ends import LineEnd, PieceDifference, Reasons, differences, end_of, told
from merino.inner.study.words.telling import in_terms

NAMED_PIECES = 3


def why(report: PositionReport, position: Position, evaluation: Evaluation) -> Reasons:
    """Sentences on why one of the two searched moves of a report of the legal `position` is better than the other.

    Empty unless both have lines. The terms are those of the evaluation, or of its account around the position.
    """
    first, second = report.moves
    if first.score is None or second.score is None:
        return Reasons(())
    better, other = (first, second) if first.rank <= second.rank else (second, first)
    by_terms = in_terms(position.record, evaluation)
    ends = [end_of(position, _line_of(report, move), by_terms) for move in (better, other)]
    pieces = tuple(differences(*ends))
    sentences = (_verdict(better, other), _exchanges(better, other, *ends), *_pieces(better, other, pieces))
    return Reasons(sentences, pieces)


def _line_of(report: PositionReport, move: MoveReport) -> tuple[str, ...]:
    line = report.line_of(move)
    return line.moves if line else (move.uci,)


def _verdict(better: MoveReport, other: MoveReport) -> str:
    assert better.score and other.score
    if better.score.text == other.score.text:
        return f"The search finds {better.san} and {other.san} equally good ({better.score.text})."
    return f"The search prefers {better.san}: {better.score.text} against {other.score.text} after {other.san}."


def _exchanges(better: MoveReport, other: MoveReport, best_end: LineEnd, other_end: LineEnd) -> str:
    """What the two lines exchange: "In the line of Rc1 White has a knight for a bishop, in that of Bc4 ..."."""
    first, second = best_end.balance, other_end.balance
    if first == second:
        return f"In both lines {first}."
    return f"In the line of {better.san} {first}; in that of {other.san} {second}."


def _pieces(better: MoveReport, other: MoveReport, differing: Sequence[PieceDifference]) -> Iterator[str]:
    """The pieces on the board at both ends that differ most in value, with where they stand and by which terms."""
    for each in told(differing, NAMED_PIECES):
        elsewhere = f" (on {chess.square_name(each.there)} with {other.san})" if each.here != each.there else ""
        yield f"With {better.san}, {each.name}{elsewhere} {each.worth}."
