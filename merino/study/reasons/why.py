"""Why one move and not another, and what a line leads to: ends of lines compared by exchanges, by piece and by term."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import chess

from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.engine.report.schema import MoveReport, PositionReport
from merino.eval.evaluation import Evaluation
from merino.study.reasons.ends import (
    LineEnd,
    PieceDifference,
    Reasons,
    along,
    differences,
    end_of,
    told,
    told_plies,
)
from merino.study.reasons.motifs import drawing
from merino.study.words.telling import in_terms

NAMED_PIECES = 3
NAMED_OF_A_LINE = 2
MAX_NAMED_PLIES = 2  # of a line whose moves are named; of a longer one only the last


def why(report: PositionReport, position: Position, evaluation: Evaluation) -> Reasons:
    """Sentences on why one of the two searched moves of a report of the legal `position` is better than the other.

    Empty unless both have lines. Each line is followed to its last position in which no piece can be won at once; what
    a line that mates or ends in a draw makes of the pieces is no reason. The terms are those of the evaluation, or of
    its account around the position.
    """
    first, second = report.moves
    if first.score is None or second.score is None:
        return Reasons(())
    better, other = (first, second) if first.rank <= second.rank else (second, first)
    mates = _mates(better, other, position.turn == WHITE)
    if ends_of_game := (*mates, *_draws(report, position, (better, other))):
        return Reasons((_verdict(better, other), *ends_of_game))
    lines = [_settled_line(report, position, move) for move in (better, other)]
    if not all(lines):
        return Reasons((_verdict(better, other),))
    by_terms = in_terms(position.record, evaluation)
    ends = [end_of(position, line, by_terms) for line in lines]
    pieces = tuple(differences(*ends))
    sentences = (_verdict(better, other), _exchanges(better, other, *ends), *_pieces(better, other, pieces))
    return Reasons(sentences, pieces)


def _settled_line(report: PositionReport, position: Position, move: MoveReport) -> tuple[str, ...]:
    """The line of a move, as far as it can be counted."""
    moves = _line_of(report, move)
    return moves[: told_plies(along(position, moves)[1])]


def _line_of(report: PositionReport, move: MoveReport) -> tuple[str, ...]:
    """The moves of a line, coordinates, of which the move itself is the first."""
    line = report.line_of(move)
    return line.moves if line else (move.uci,)


def _verdict(better: MoveReport, other: MoveReport) -> str:
    assert better.score and other.score
    if better.score.text == other.score.text:
        return f"The search finds {better.san} and {other.san} equally good ({better.score.text})."
    return f"The search prefers {better.san}: {better.score.text} against {other.score.text} after {other.san}."


def _mates(better: MoveReport, other: MoveReport, is_white: bool) -> Iterator[str]:
    """What mates of the moves, or who mates after them: "a8=Q mates in 9.", "After Kh1 Black mates in 2."."""
    for move in (better, other):
        assert move.score
        if move.san.endswith("#"):
            yield f"{move.san} is mate."
        elif move.score.mate is not None:
            is_own = (move.score.mate > 0) == is_white
            who = move.san if is_own else f"After {move.san} {'Black' if is_white else 'White'}"
            yield f"{who} mates in {abs(move.score.mate)}."


def _draws(report: PositionReport, position: Position, moves: Sequence[MoveReport]) -> Iterator[str]:
    """How moves, or the lines after them, end the game in a draw: "Qf7 stalemates."."""
    for move in moves:
        line = _line_of(report, move)
        how = drawing(along(position, line)[1][-1])
        if how and move.score and move.score.cp == 0:  # the last moves of another may be played on after a win
            yield f"{move.san if len(line) == 1 else f'The line of {move.san}'} {how}."


def _exchanges(better: MoveReport, other: MoveReport, best_end: LineEnd, other_end: LineEnd) -> str:
    """What the two lines exchange: "In the line of Rc1 White has a knight for a bishop; in that of Bc4 ..."."""
    first, second = best_end.material, other_end.material
    if first == second:
        return f"In both lines {first}."
    return f"In the line of {better.san} {first}; in that of {other.san} {second}."


def _pieces(better: MoveReport, other: MoveReport, differing: Sequence[PieceDifference]) -> Iterator[str]:
    """The pieces on the board at both ends that differ most in value, with where they stand and by which terms."""
    for each in told(differing, NAMED_PIECES):
        elsewhere = f" (on {chess.square_name(each.there)} with {other.san})" if each.here != each.there else ""
        yield f"With {better.san}, {each.name}{elsewhere} {each.worth}."


def outcome(position: Position, moves: Sequence[str], evaluation: Evaluation) -> Reasons:
    """Sentences on the end of a line of legal moves, coordinates, against the `position` now.

    They name what the line exchanges and its promotions, and the pieces that become better or worse. The line is
    followed to its last position in which no piece can be won at once; if there is none, there are no sentences. Of one
    that mates or ends in a draw they name only that. The terms are as in `why`.
    """
    made, boards = along(position, moves)
    plies = told_plies(boards)
    if not plies:
        return Reasons(())
    by_terms = in_terms(position.record, evaluation)
    end = end_of(position, moves[:plies], by_terms)
    if end.board.is_checkmate():
        return Reasons((f"{_named(boards, made, plies)} is mate.",))
    if how := drawing(end.board):
        return Reasons((f"{_named(boards, made, plies)} {how}.",))
    pieces = tuple(differences(end, end_of(position, (), by_terms)))
    return Reasons((*_material(end, boards, made[:plies]), *_changed(pieces)), pieces)


def _named(boards: Sequence[chess.Board], moves: Sequence[chess.Move], plies: int) -> str:
    """The last of so many moves by number, or all of them if they are few: "13. Rxe6 fxe6"."""
    first = 0 if plies <= MAX_NAMED_PLIES else plies - 1
    return boards[first].variation_san(moves[first:plies])


def _material(end: LineEnd, boards: Sequence[chess.Board], moves: Sequence[chess.Move]) -> Iterator[str]:
    captures = [ply for ply, move in enumerate(moves, start=1) if boards[ply - 1].is_capture(move)]
    if captures:
        word = "After" if captures[-1] <= MAX_NAMED_PLIES else "By"
        yield f"{word} {_named(boards, moves, captures[-1])} {end.balance}."
    for ply, move in enumerate(moves, start=1):
        if move.promotion:
            side = "White" if boards[ply - 1].turn else "Black"
            made = boards[ply - 1].variation_san([move])
            yield f"{side} promotes to a {chess.piece_name(move.promotion)} by {made}."
    if not captures and not any(move.promotion for move in moves):
        yield "Nothing is taken."


def _changed(differing: Sequence[PieceDifference]) -> Iterator[str]:
    """The pieces that become better or worse: "White's knight on d5 (from c3) is worth 0.21 more: ..."."""
    for each in told(differing, NAMED_OF_A_LINE):
        origin = f" (from {chess.square_name(each.there)})" if each.here != each.there else ""
        yield f"{each.name}{origin} {each.worth}."
