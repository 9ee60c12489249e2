"""Play a legal move into another record; and what a move changes on the board, piece by piece.

Evaluations that update themselves go by the changes instead of starting again.
"""

from typing import NamedTuple

import numpy as np

from merino.core.board.attacks import PAWN_ATTACKS
from merino.core.board.bitboard import (
    EMPTY,
    KING,
    ONE,
    PAWN,
    RANK_1,
    RANK_8,
    ROOK,
    WHITE,
    bit,
    colour_of,
    lsb,
    piece_of,
    type_of,
)
from merino.core.board.move import (
    CASTLING,
    DOUBLE_PUSH,
    EN_PASSANT,
    NO_MOVE,
    PROMOTION,
    destination_of,
    kind_of,
    origin_of,
    promoted_type,
)
from merino.core.board.position import (
    NO_SQUARE,
    ZOBRIST_BLACK,
    ZOBRIST_CASTLING,
    ZOBRIST_EN_PASSANT,
    ZOBRIST_PIECES,
    en_passant_is_safe,
    look_at_king,
    piece_on,
    pieces_of,
    side_to_move,
)
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import copy_record

NOTHING = -1


class Changes(NamedTuple):
    """The pieces that a move takes off the board and those that it puts there, each piece << 6 | square or NOTHING."""

    removed: np.int64
    removed_too: np.int64  # what is captured, or the rook that castles
    added: np.int64
    added_too: np.int64  # the rook that castled


@kernel
def _toggle(position, piece, squares):
    """Put `piece` on or off `squares` in the sets; keys and mailbox are the caller's."""
    position.pieces[type_of(piece)] ^= squares
    position.colours[colour_of(piece)] ^= squares


@kernel
def _remove(position, piece, square):
    _toggle(position, piece, bit(square))
    position.key ^= ZOBRIST_PIECES[piece, square]
    position.board[square] = EMPTY


@kernel
def _place(position, piece, square):
    _toggle(position, piece, bit(square))
    position.key ^= ZOBRIST_PIECES[piece, square]
    position.board[square] = piece


@kernel
def castling_destinations(king, rook):
    """Where king and rook end up when the king on `king` castles with the rook on `rook`: c and d, or g and f."""
    first = king & 56
    if rook > king:
        return first + 6, first + 5
    return first + 2, first + 3


@kernel
def make(after, before, move):
    """Set the record `after` to the position after the legal `move` in `before`, keys and checkers included."""
    copy_record(after, before)
    side = side_to_move(before)
    origin, destination, kind = origin_of(move), destination_of(move), kind_of(move)
    piece = piece_on(before, origin)
    _pass_turn(after, before)
    if kind == CASTLING:
        _castle(after, side, origin, destination)
    else:
        _step_and_take(after, before, piece, origin, destination)
        if type_of(piece) == PAWN:
            _finish_pawn_move(after, side, origin, destination, kind)
    if before.castling:
        _lose_castling_rights(after, side, type_of(piece), bit(origin) | bit(destination))
    look_at_king(after)


@kernel
def likely_key(position, move):
    """The key of the position after a legal move, uint64, before it is made.

    Exact but for castling, promotion, en passant, and for rights to castle or to take en passant that change.
    """
    origin, destination = origin_of(move), destination_of(move)
    piece, captured = piece_on(position, origin), piece_on(position, destination)
    key = position.key ^ ZOBRIST_BLACK ^ ZOBRIST_PIECES[piece, origin] ^ ZOBRIST_PIECES[piece, destination]
    if captured != EMPTY:
        key ^= ZOBRIST_PIECES[captured, destination]
    return key


@kernel
def _castle(position, side, king, rook):
    """Lift king and rook, then set them down: in Chess960 their squares may overlap."""
    king_to, rook_to = castling_destinations(king, rook)
    _remove(position, piece_of(side, KING), king)
    _remove(position, piece_of(side, ROOK), rook)
    _place(position, piece_of(side, KING), king_to)
    _place(position, piece_of(side, ROOK), rook_to)


@kernel
def _step_and_take(after, before, piece, origin, destination):
    """Move `piece`, and take what it lands on. Reads `before` where it can: `after` has only just been written."""
    squares, arrives = bit(origin) | bit(destination), bit(destination)
    captured, kind = piece_on(before, destination), type_of(piece)
    key = after.key ^ ZOBRIST_PIECES[piece, origin] ^ ZOBRIST_PIECES[piece, destination]
    after.board[origin] = EMPTY
    after.board[destination] = piece
    after.colours[colour_of(piece)] = before.colours[colour_of(piece)] ^ squares
    if captured == EMPTY:
        after.pieces[kind] = before.pieces[kind] ^ squares
    else:
        after.halfmove = 0
        after.colours[colour_of(captured)] = before.colours[colour_of(captured)] ^ arrives
        after.pieces[type_of(captured)] = before.pieces[type_of(captured)] ^ arrives
        after.pieces[kind] ^= squares  # after the line above: it may be of the captured type
        key ^= ZOBRIST_PIECES[captured, destination]
        if type_of(captured) == PAWN:
            after.pawn_key ^= ZOBRIST_PIECES[captured, destination]
    after.key = key


@kernel
def make_null(after, before):
    """Set `after` to `before` with the other side to move; the side to move must not be in check."""
    copy_record(after, before)
    _pass_turn(after, before)
    look_at_king(after)


@kernel
def _pass_turn(after, before):
    """Counters, side and key of a turn that is over; en passant lasts one move only."""
    after.side = 1 - before.side
    after.fullmove = before.fullmove + before.side
    after.halfmove = before.halfmove + 1
    after.key = before.key ^ ZOBRIST_BLACK
    if before.en_passant >= 0:
        after.key ^= ZOBRIST_EN_PASSANT[before.en_passant & 7]
        after.en_passant = NO_SQUARE


@kernel
def _finish_pawn_move(after, side, origin, destination, kind):
    """What only pawns do: restart the clock, take en passant, promote, leave an en-passant square behind."""
    pawn = piece_of(side, PAWN)
    after.halfmove = 0
    after.pawn_key ^= ZOBRIST_PIECES[pawn, origin] ^ ZOBRIST_PIECES[pawn, destination]
    if kind == DOUBLE_PUSH:
        mark_en_passant(after, side ^ 1, (origin + destination) >> 1)
    elif kind == EN_PASSANT:
        square = (origin & 56) | (destination & 7)
        _remove(after, piece_of(side ^ 1, PAWN), square)
        after.pawn_key ^= ZOBRIST_PIECES[piece_of(side ^ 1, PAWN), square]
    elif kind >= PROMOTION:
        _remove(after, pawn, destination)
        _place(after, piece_of(side, promoted_type(kind)), destination)
        after.pawn_key ^= ZOBRIST_PIECES[pawn, destination]


@kernel
def mark_en_passant(position, side, square):
    """Note the en-passant `square` and key if `side` has a legal capture there: only then are positions different."""
    capturers = PAWN_ATTACKS[side ^ 1, square] & pieces_of(position, side, PAWN)
    while capturers:
        if en_passant_is_safe(position, side, lsb(capturers), square):
            position.en_passant = square
            position.key ^= ZOBRIST_EN_PASSANT[square & 7]
            return
        capturers &= capturers - ONE


@kernel
def _lose_castling_rights(position, side, kind, touched):
    """A king that moves loses all its rights; a rook that moves or is taken loses its own."""
    lost = position.castling & touched
    if kind == KING:
        lost |= position.castling & (RANK_1 if side == WHITE else RANK_8)
    position.castling ^= lost
    while lost:
        position.key ^= ZOBRIST_CASTLING[lsb(lost)]
        lost &= lost - ONE


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
