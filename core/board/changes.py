"""What a move changes on the board, piece by piece: for evaluations that update themselves instead of starting anew."""

from typing import NamedTuple

from numba import types

from merino.inner.core.board.bitboard import EMPTY, KING, PAWN, ROOK, piece_of
from merino.inner.core.board.makemove import castling_destinations
from merino.inner.core.board.move import (
    CASTLING,
    EN_PASSANT,
    NO_MOVE,
    PROMOTION,
    destination_of,
    kind_of,
    origin_of,
    promoted_type,
)
from merino.inner.core.board.position import piece_on, side_to_move
from merino.inner.core.compiled.jit import kernel

NOTHING = -1


class Changes(NamedTuple):
    """The pieces that a move takes off the board and those that it puts there, each piece << 6 | square or NOTHING."""

    removed: types.int64
    removed_too: types.int64  # what is captured, or the rook that castles
    added: types.int64
    added_too: types.int64  # the rook that castled


@kernel
def changes_of(before, move):
    """The `Changes` of a legal move in the position `before`; none for NO_MOVE, which passes."""
    if move == NO_MOVE:
        return Changes(NOTHING, NOTHING, NOTHING, NOTHING)
    origin, destination, kind = origin_of(move), destination_of(move), kind_of(move)
    side, piece = side_to_move(before), piece_on(before, origin)
    if kind == CASTLING:
        king, rook = piece_of(side, KING) << 6, piece_of(side, ROOK) << 6
        king_to, rook_to = castling_destinations(origin, destination)
        return Changes(king | origin, rook | destination, king | king_to, rook | rook_to)
    taken, arrived = NOTHING, piece
    if kind == EN_PASSANT:
        taken = piece_of(1 - side, PAWN) << 6 | (origin & 56) | (destination & 7)
    elif piece_on(before, destination) != EMPTY:
        taken = piece_on(before, destination) << 6 | destination
    if kind >= PROMOTION:
        arrived = piece_of(side, promoted_type(kind))
    return Changes(piece << 6 | origin, taken, arrived << 6 | destination, NOTHING)
