"""What a line leads to: what its end has that the position does not, in material and in pieces, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import chess

from merino.inner.core.board.game import Position
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.reasons.ends import (
    LineEnd,
    PieceDifference,
    Reasons,
    along,
    differences,
    end_of,
    told,
    told_plies,
)
from merino.inner.study.words.telling import in_terms

NAMED_PIECES = 2
MAX_NAMED_PLIES = 2  # of a line whose moves are named; of a longer one only the last


def outcome(position: Position, moves: Sequence[str], evaluation: Evaluation) -> Reasons:
    """Sentences on the end of a line of legal moves, coordinates, against the `position` now.

    They name what the line exchanges and its promotions, and the pieces that become better or worse. The line is
    followed to its last position in which no piece can be won at once; if there is none, there are no sentences. The
    terms are as in `why`.
    """
    made, boards = along(position, moves)
    plies = told_plies(boards)
    if not plies:
        return Reasons(())
    by_terms = in_terms(position.record, evaluation)
    end = end_of(position, moves[:plies], by_terms)
    if end.board.is_checkmate():
        return Reasons((f"{_named(boards, made, plies)} is mate.",))
    pieces = tuple(differences(end, end_of(position, (), by_terms)))
    return Reasons((*_material(end, boards, made[:plies]), *_pieces(pieces)), pieces)


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


def _pieces(differing: Sequence[PieceDifference]) -> Iterator[str]:
    """The pieces that become better or worse: "White's knight on d5 (from c3) is worth 0.21 more: ..."."""
    for each in told(differing, NAMED_PIECES):
        origin = f" (from {chess.square_name(each.there)})" if each.here != each.there else ""
        yield f"{each.name}{origin} {each.worth}."
