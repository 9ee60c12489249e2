"""Mobility for features: the legal moves of both sides, no matter who is to move.

Pawns move one step to an empty square or capture; double steps, en passant and castling are left out. The squares that
each kind of piece attacks and those that it can move to are facts of a view.
"""

from merino.core.board.attacks import (
    BETWEEN,
    BISHOP_RAYS,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    LINES,
    PAWN_ATTACKS,
    ROOK_RAYS,
    bishop_attacks,
    rook_attacks,
)
from merino.core.board.bitboard import (
    BISHOP,
    KING,
    KNIGHT,
    ONE,
    PAWN,
    QUEEN,
    ROOK,
    U64,
    ZERO,
    bit,
    lsb,
    popcount,
)
from merino.core.board.position import attacks_of_all
from merino.core.compiled.jit import kernel
from merino.eval.net.view import ATTACKS, DESTINATIONS, OCCUPIED, OWN, PIECES, pieces_in


@kernel
def fill_moves(view):
    """Find out what all pieces attack, and where they can move."""
    for kind in range(PIECES):
        view[ATTACKS + kind] = attacks_of_all(kind >> 1, kind & 1, view[kind], view[OCCUPIED])
    for colour in range(2):
        _find_destinations(view, colour)


@kernel
def renew_moves(before, after, difference):
    """The same for a view that differs by little from another one.

    Attacks change only for the kinds of the pieces that differ, and for sliders that saw a square that is now blocked
    or open.
    """
    blocked = before[OCCUPIED] ^ after[OCCUPIED]
    for kind in range(PIECES):
        role, attacks = kind >> 1, before[ATTACKS + kind]
        is_blocked = BISHOP <= role <= QUEEN and attacks & blocked != ZERO
        if is_blocked or difference.kinds & bit(kind):
            attacks = attacks_of_all(role, kind & 1, after[kind], after[OCCUPIED])
        after[ATTACKS + kind] = attacks
    for colour in range(2):
        _find_destinations(after, colour)


@kernel
def _reach(view, role, colour, pieces, attacks):
    """The squares that these pieces could move to without regard to kings and own pieces, by what they attack."""
    if role != PAWN:
        return attacks
    steps = pieces << U64(8) if colour == OWN else pieces >> U64(8)
    return steps & ~view[OCCUPIED] | attacks & view[OCCUPIED]


@kernel
def _find_destinations(view, colour):
    """Find out where the pieces of a colour can move: nowhere if they have no king."""
    own, danger = ZERO, ZERO
    for role in range(6):
        own |= view[2 * role + colour]
        danger |= view[ATTACKS + 2 * role + 1 - colour]
        view[DESTINATIONS + 2 * role + colour] = ZERO
    if pieces_in(view, KING, colour) == ZERO:
        return
    king, allowed = lsb(pieces_in(view, KING, colour)), ~own
    pinned = _pinned(view, colour, king, own)
    if danger & bit(king):
        checkers = _attackers(view, king, 1 - colour)
        danger |= _behind(view, king, 1 - colour, checkers)
        allowed &= _answers(king, checkers)
    view[DESTINATIONS + 2 * KING + colour] = KING_ATTACKS[king] & ~own & ~danger
    for role in range(KING):
        kind = 2 * role + colour
        reach = _reach(view, role, colour, view[kind], view[ATTACKS + kind])
        if view[kind] & pinned:
            reach = _reach_with_pins(view, role, colour, king, pinned)
        view[DESTINATIONS + kind] = reach & allowed


@kernel
def _reach_with_pins(view, role, colour, king, pinned):
    """The same as `_reach` if some of the pieces are pinned, and move only on the line to their king."""
    pieces = pieces_in(view, role, colour)
    free = pieces & ~pinned
    found = _reach(view, role, colour, free, attacks_of_all(role, colour, free, view[OCCUPIED]))
    pieces &= pinned
    while pieces:
        square = lsb(pieces)
        reach = _reach(view, role, colour, bit(square), attacks_of_all(role, colour, bit(square), view[OCCUPIED]))
        found |= reach & LINES[king, square]
        pieces &= pieces - ONE
    return found


@kernel
def _attackers(view, square, by):
    """The pieces of colour `by` that attack a square."""
    occupied, queens = view[OCCUPIED], pieces_in(view, QUEEN, by)
    return (
        (PAWN_ATTACKS[1 - by, square] & pieces_in(view, PAWN, by))
        | (KNIGHT_ATTACKS[square] & pieces_in(view, KNIGHT, by))
        | (KING_ATTACKS[square] & pieces_in(view, KING, by))
        | (bishop_attacks(square, occupied) & (pieces_in(view, BISHOP, by) | queens))
        | (rook_attacks(square, occupied) & (pieces_in(view, ROOK, by) | queens))
    )


@kernel
def _answers(king, checkers):
    """The squares to which pieces other than the king may move in check: those that end it."""
    if checkers & (checkers - ONE):
        return ZERO
    return BETWEEN[king, lsb(checkers)] | checkers


@kernel
def _behind(view, king, by, checkers):
    """The squares that the sliders among the checkers attack through the king."""
    found, occupied = ZERO, view[OCCUPIED] & ~bit(king)
    for role in range(BISHOP, KING):
        found |= attacks_of_all(role, by, checkers & pieces_in(view, role, by), occupied)
    return found


@kernel
def _pinned(view, colour, king, own):
    """The own pieces that alone shield their king from a slider."""
    by, pinned = 1 - colour, ZERO
    queens = pieces_in(view, QUEEN, by)
    sliders = BISHOP_RAYS[king] & (pieces_in(view, BISHOP, by) | queens)
    sliders |= ROOK_RAYS[king] & (pieces_in(view, ROOK, by) | queens)
    while sliders:
        between = BETWEEN[king, lsb(sliders)] & view[OCCUPIED]
        if popcount(between) == 1:
            pinned |= between
        sliders &= sliders - ONE
    return pinned & own
