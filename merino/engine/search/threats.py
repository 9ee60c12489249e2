"""What the opponent attacks at a node: by his pawns, by his pawns and minor pieces, and by anything.

It is worked out once for a node, when it is first asked for: many nodes end before.
"""

from merino.core.board.attacks import KING_ATTACKS
from merino.core.board.bitboard import (
    BISHOP,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    ZERO,
    bit,
    type_of,
)
from merino.core.board.move import destination_of, origin_of
from merino.core.board.position import (
    attacks_of_all,
    king_square,
    occupied_squares,
    piece_on,
    pieces_of,
    side_to_move,
)
from merino.core.compiled.jit import kernel

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
    pawns, knights = pieces_of(position, foe, PAWN), pieces_of(position, foe, KNIGHT)
    bishops, rooks = pieces_of(position, foe, BISHOP), pieces_of(position, foe, ROOK)
    attacked = threats[BY_PAWNS] = attacks_of_all(PAWN, foe, pawns, occupied)
    attacked |= attacks_of_all(KNIGHT, foe, knights, occupied) | attacks_of_all(BISHOP, foe, bishops, occupied)
    threats[BY_MINORS] = attacked
    attacked |= attacks_of_all(ROOK, foe, rooks, occupied)
    attacked |= attacks_of_all(QUEEN, foe, pieces_of(position, foe, QUEEN), occupied)
    threats[BY_ANY] = attacked | KING_ATTACKS[king_square(position, foe)]


@kernel
def threat_index(threats, move):
    """The index of a move by its squares, 0..3: 2 if it leaves one that is attacked, and 1 if it goes to one."""
    attacked = threats[BY_ANY]
    return 2 * (attacked & bit(origin_of(move)) != ZERO) + (attacked & bit(destination_of(move)) != ZERO)


@kernel
def escapes(position, threats, move):
    """1 for a move out of an attack, -1 for one into it, 0 for neither or both.

    Attacks are those of pawns, and on rooks and queens those of minor pieces; a rook that attacks a queen is left out.
    """
    kind = type_of(piece_on(position, origin_of(move)))
    if kind == PAWN or kind == KING:
        return 0
    attacked = threats[BY_PAWNS if kind < ROOK else BY_MINORS]
    return int(attacked & bit(origin_of(move)) != ZERO) - int(attacked & bit(destination_of(move)) != ZERO)
