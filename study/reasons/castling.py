"""The king left in the centre: castling was called for, and the line after the move makes use of where he stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import chess

from merino.inner.engine.report.phrases import group_of
from merino.inner.eval.linear.registry import Group
from merino.inner.study.reasons.winning import FoundLine

CASTLES_BY = 2  # the move of its side by which the better line castles
MIN_SAFETY = 15.0  # centipawns of the king's safety that must be lost to be named


def left_in_the_centre(
    played: chess.Move, better: FoundLine, reply: FoundLine, terms: Mapping[str, float]
) -> str | None:
    """Why it was time to castle instead of `played`, as a sentence without a full stop; None if it was not.

    The better line castles soon, the one after the move does not. There, with queens on the board, a check drives the
    king from his place; or he can no longer castle at its end, and his safety is what the move loses most, by `terms`
    as of `mistake_of`. That he could castle later is no mistake.
    """
    mover = better.board.turn
    castling = next(_castlings(better, mover), None)
    if castling is None or castling[0] >= 2 * CASTLES_BY or better.board.is_castling(played):
        return None
    if any(_castlings(reply, mover)):
        return None
    use = _driven(reply, mover) or _unsafe(reply, mover, terms)
    if use is None:
        return None
    ply, name = castling
    first = better.board.san(better.moves[0])
    return f"{name} was possible, and {use}" if ply == 0 else f"{first} and {name} came in time, and {use}"


def _castlings(line: FoundLine, side: chess.Color) -> Iterator[tuple[int, str]]:
    """The plies of a line, from 0, with which a side castles, and the name of each."""
    board = line.after(0)
    for ply, move in enumerate(line.moves):
        if board.turn == side and board.is_castling(move):
            yield ply, board.san(move)
        board.push(move)


def _driven(reply: FoundLine, mover: chess.Color) -> str | None:
    """The first check that drives the king of the mover from his place, in the moves that are shown of the line."""
    board, shown = reply.after(0), reply.moves[: reply.shown]
    for check, answer in zip(shown[::2], shown[1::2], strict=False):
        name = board.san(check)
        board.push(check)
        has_queen = bool(board.pieces(chess.QUEEN, not mover))
        if board.is_check() and has_queen and board.king(mover) == answer.from_square and not board.is_capture(answer):
            return f"{name} drives the king from {chess.square_name(answer.from_square)}"
        board.push(answer)
    return None


def _unsafe(reply: FoundLine, mover: chess.Color, terms: Mapping[str, float]) -> str | None:
    """How much less safe a king is that can no longer castle, if no group of terms but material loses more."""
    lost = dict.fromkeys(Group, 0.0)
    for name, cp in terms.items():
        lost[group_of(name)] += cp
    safety, last = lost[Group.KING_SAFETY], reply.after(len(reply.moves))
    king = last.king(mover)
    if king is None or last.has_castling_rights(mover) or not last.pieces(chess.QUEEN, not mover):
        return None
    if safety < MIN_SAFETY or safety < max(cp for group, cp in lost.items() if group is not Group.MATERIAL):
        return None
    return f"the king on {chess.square_name(king)} can no longer castle and is less safe by {safety / 100:.2f}"
