"""The pieces that the terms of threats are about: they are the enemy's, where others bring what such a term counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import chess

from merino.inner.core.board.bitboard import SQUARE_NAMES, WHITE
from merino.inner.eval.explanation import PieceValue

_PIECES = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)
_ALL = (*_PIECES, chess.PAWN)


def _is_free(board: chess.Board, square: chess.Square) -> bool:
    """Whether nobody guards the piece on a square."""
    colour = board.color_at(square)
    return colour is not None and not board.attackers(colour, square)


def _is_target(board: chess.Board, square: chess.Square) -> bool:
    """Whether a piece, or a pawn that nobody guards, stands on a square."""
    return board.piece_type_at(square) != chess.PAWN or _is_free(board, square)


_Kinds = Sequence[chess.PieceType]
# What each term counts: pieces of these kinds, attacked by those, of which this is so.
_COUNTED: dict[str, tuple[_Kinds, _Kinds, Callable[[chess.Board, chess.Square], bool]]] = {
    f"{chess.piece_name(kind).capitalize()}Threat": (_ALL, (kind,), holds)
    for holds, kinds in (
        (_is_target, (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK)),
        (_is_free, (chess.QUEEN, chess.KING)),
    )
    for kind in kinds
}
_COUNTED["Hanging"] = (_PIECES, chess.PIECE_TYPES, _is_free)


def threatened(name: str, pieces: Sequence[PieceValue], side: int) -> list[str] | None:
    """The squares of the pieces that a term counts for a side, the most valuable first; None for another term."""
    if name not in _COUNTED:
        return None
    kinds, by, holds = _COUNTED[name]
    board = chess.Board(None)
    for piece in pieces:
        board.set_piece_at(piece.square, chess.Piece.from_symbol(piece.letter))
    own = side == WHITE
    found = [
        square
        for kind in kinds
        for square in board.pieces(kind, not own)
        if any(board.piece_type_at(each) in by for each in board.attackers(own, square)) and holds(board, square)
    ]
    return [SQUARE_NAMES[square] for square in found]
