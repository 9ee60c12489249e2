"""What the opponent attacks at a node: by his pawns, by his pawns and minor pieces, and by anything.

It is worked out once for a node, when it is first asked for: many nodes end before.
"""

from merino.inner.core.board.attacks import KING_ATTACKS, KNIGHT_ATTACKS, bishop_attacks, rook_attacks
from merino.inner.core.board.bitboard import (
    BISHOP,
    KING,
    KNIGHT,
    ONE,
    PAWN,
    QUEEN,
    ROOK,
    ZERO,
    bit,
    lsb,
    pawn_attacks,
    type_of,
)
from merino.inner.core.board.move import destination_of, origin_of
from merino.inner.core.board.position import occupied_squares, piece_on, side_to_move
from merino.inner.core.compiled.jit import kernel

BY_PAWNS, BY_MINORS, BY_ANY = range(3)  # each includes those before it


@kernel
def look_at_threats(s, ply):
    """Make sure that `threats` of this node holds what the opponent of the side to move attacks."""
    here = s.plies[ply]
    if not here.has_threats:
        set_threats(s.positions[ply], here.threats)
        here.has_threats = 1


@kernel
def set_threats(position, threats):
    """Fill threats, uint64[3] in the order above, for the side to move."""
    foe, occupied = 1 - side_to_move(position), occupied_squares(position)
    his = position.colours[foe]
    attacked = threats[BY_PAWNS] = pawn_attacks(his & position.pieces[PAWN], foe)
    knights, bishops = his & position.pieces[KNIGHT], his & position.pieces[BISHOP]
    while knights:
        attacked |= KNIGHT_ATTACKS[lsb(knights)]
        knights &= knights - ONE
    while bishops:
        attacked |= bishop_attacks(lsb(bishops), occupied)
        bishops &= bishops - ONE
    threats[BY_MINORS] = attacked
    diagonal, straight = his & position.pieces[QUEEN], his & (position.pieces[ROOK] | position.pieces[QUEEN])
    while diagonal:
        attacked |= bishop_attacks(lsb(diagonal), occupied)
        diagonal &= diagonal - ONE
    while straight:
        attacked |= rook_attacks(lsb(straight), occupied)
        straight &= straight - ONE
    threats[BY_ANY] = attacked | KING_ATTACKS[lsb(his & position.pieces[KING])]


@kernel
def threat_index(threats, move):
    """The index of a move by its squares, 0..3: 2 if it leaves one that is attacked, and 1 if it goes to one."""
    attacked = threats[BY_ANY]
    return 2 * (attacked & bit(origin_of(move)) != ZERO) + (attacked & bit(destination_of(move)) != ZERO)


@kernel
def escapes(position, threats, move):
    """1 for a move out of the attack of a lesser piece, -1 for one into it, 0 for neither or both."""
    kind = type_of(piece_on(position, origin_of(move)))
    if kind == PAWN or kind == KING:
        return 0
    attacked = threats[BY_PAWNS if kind < ROOK else BY_MINORS]
    return int(attacked & bit(origin_of(move)) != ZERO) - int(attacked & bit(destination_of(move)) != ZERO)
