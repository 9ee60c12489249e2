"""Mobility for features: the legal moves of both sides, no matter who is to move.

Pawns move one step to an empty square or capture; double steps, en passant and castling are left out.
"""

from merino.inner.core.board.attacks import (
    BETWEEN,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    LINES,
    PAWN_ATTACKS,
    bishop_attacks,
    rook_attacks,
)
from merino.inner.core.board.bitboard import BISHOP, FULL, KING, KNIGHT, ONE, PAWN, QUEEN, ROOK, U64, ZERO, bit, lsb
from merino.inner.core.board.position import attacks_of
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.net.view import OCCUPIED, OWN, king_in, pieces_in


@kernel
def destinations(view, role, colour):
    """The squares that pieces of this role and colour can move to, uint64."""
    pieces, found = pieces_in(view, role, colour), ZERO
    if pieces == ZERO or pieces_in(view, KING, colour) == ZERO:
        return found
    own = _side(view, colour)
    if role == KING:
        return _king_moves(view, colour, own)
    allowed = _answers_to_check(view, colour) & ~own
    king = king_in(view, colour)
    while pieces:
        square = lsb(pieces)
        targets = _reach(view, role, colour, square) & allowed
        if targets and _is_pinned(view, colour, square, king):
            targets &= LINES[king, square]
        found |= targets
        pieces &= pieces - ONE
    return found


@kernel
def _side(view, colour):
    """All pieces of a colour."""
    found = ZERO
    for role in range(6):
        found |= view[2 * role + colour]
    return found


@kernel
def _reach(view, role, colour, square):
    """The squares that a piece could move to without regard to kings and own pieces."""
    occupied = view[OCCUPIED]
    if role == PAWN:
        step = bit(square) << U64(8) if colour == OWN else bit(square) >> U64(8)
        return step & ~occupied | PAWN_ATTACKS[colour, square] & occupied
    return attacks_of(role, colour, square, occupied)


@kernel
def _attackers(view, square, by, occupied):
    """The pieces of colour `by` that attack a square, given the occupied squares."""
    queens = pieces_in(view, QUEEN, by)
    return (
        (PAWN_ATTACKS[1 - by, square] & pieces_in(view, PAWN, by))
        | (KNIGHT_ATTACKS[square] & pieces_in(view, KNIGHT, by))
        | (KING_ATTACKS[square] & pieces_in(view, KING, by))
        | (bishop_attacks(square, occupied) & (pieces_in(view, BISHOP, by) | queens))
        | (rook_attacks(square, occupied) & (pieces_in(view, ROOK, by) | queens))
    )


@kernel
def _answers_to_check(view, colour):
    """The squares to which pieces other than the king may move: all, or in check those that end it."""
    king = king_in(view, colour)
    checkers = _attackers(view, king, 1 - colour, view[OCCUPIED])
    if checkers == ZERO:
        return FULL
    if checkers & (checkers - ONE):
        return ZERO
    return BETWEEN[king, lsb(checkers)] | checkers


@kernel
def _is_pinned(view, colour, square, king):
    """Whether the piece on `square` alone shields its king from a slider."""
    if LINES[king, square] == ZERO:
        return False
    by, occupied = 1 - colour, view[OCCUPIED] & ~bit(square)
    queens = pieces_in(view, QUEEN, by)
    sliders = bishop_attacks(king, occupied) & (pieces_in(view, BISHOP, by) | queens)
    sliders |= rook_attacks(king, occupied) & (pieces_in(view, ROOK, by) | queens)
    return sliders & LINES[king, square] & ~BETWEEN[king, square] & occupied & _beyond(king, square) != ZERO


@kernel
def _beyond(king, square):
    """The squares of their line beyond `square`, seen from the king."""
    line, found = LINES[king, square], ZERO
    while line:
        other = lsb(line)
        if BETWEEN[king, other] & bit(square):
            found |= bit(other)
        line &= line - ONE
    return found


@kernel
def _king_moves(view, colour, own):
    """The squares that the king can move to, uint64."""
    king = king_in(view, colour)
    targets, found = KING_ATTACKS[king] & ~own, ZERO
    while targets:
        square = lsb(targets)
        occupied = view[OCCUPIED] & ~bit(king) | bit(square)
        if _attackers(view, square, 1 - colour, occupied) & ~bit(square) == ZERO:
            found |= bit(square)
        targets &= targets - ONE
    return found
