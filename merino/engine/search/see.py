"""Static exchange evaluation (SEE), what a move wins or loses when both sides keep capturing, and threats."""

from merino.core.board.attacks import KING_ATTACKS, bishop_attacks, rook_attacks
from merino.core.board.bitboard import BISHOP, EMPTY, KING, KNIGHT, PAWN, QUEEN, ROOK, ZERO, bit, type_of
from merino.core.board.move import EN_PASSANT, NORMAL, PROMOTION, QUEEN_PROMOTION, destination_of, kind_of, origin_of
from merino.core.board.position import (
    attackers_to,
    attacks_of_all,
    king_square,
    occupied_squares,
    piece_on,
    pieces_of,
    side_to_move,
)
from merino.core.compiled.jit import entry, kernel

_MAX_IN_AN_EXCHANGE = 1 << 16


@kernel
def captured_type(position, move):
    """The type of the piece a move takes, or EMPTY; castling takes nothing."""
    kind = kind_of(move)
    if kind == EN_PASSANT:
        return PAWN
    if kind == NORMAL or kind >= PROMOTION:
        return type_of(piece_on(position, destination_of(move)))
    return EMPTY


@kernel
def see_at_least(s, position, move, threshold):
    """Whether the exchange after a legal move gains at least `threshold` by `s.exchange_values`; pins are ignored."""
    kind, target = kind_of(move), destination_of(move)
    mover = type_of(piece_on(position, origin_of(move)))
    balance = s.exchange_values[captured_type(position, move)] - threshold
    if kind >= PROMOTION:
        mover = QUEEN if kind == QUEEN_PROMOTION else kind - PROMOTION + 1
        balance += s.exchange_values[mover] - s.exchange_values[PAWN]
    if balance < 0:
        return False
    balance -= s.exchange_values[mover]
    if balance >= 0:
        return True
    occupied = (occupied_squares(position) & ~bit(origin_of(move))) | bit(target)
    if kind == EN_PASSANT:
        occupied &= ~bit((origin_of(move) & 56) | (target & 7))
    return _exchange(s, position, target, occupied, balance)


@entry
def exchange_gain(searches, positions, move):
    """The gain of the exchange after a legal move in positions[0], by piece values."""
    low, high = -_MAX_IN_AN_EXCHANGE, _MAX_IN_AN_EXCHANGE
    while low < high:
        threshold = (low + high + 1) >> 1
        if see_at_least(searches[0], positions[0], move, threshold):
            low = threshold
        else:
            high = threshold - 1
    return low


@kernel
def _exchange(s, position, target, occupied, balance):
    """Let both sides capture on `target` with their least piece in turn; whether the side that began is ahead.

    `balance` is what it has if its piece on `target` is lost, negative.
    """
    diagonal = position.pieces[BISHOP] | position.pieces[QUEEN]
    straight = position.pieces[ROOK] | position.pieces[QUEEN]
    attackers = attackers_to(position, target, occupied) & occupied
    beginner = side_to_move(position)
    side = 1 - beginner
    while True:
        own = attackers & position.colours[side]
        if own == ZERO:
            break
        kind = _least_type(position, own)
        if kind == KING and attackers & position.colours[side ^ 1]:
            break  # a king cannot take what is guarded
        piece = own & position.pieces[kind]
        occupied ^= piece & -piece
        if kind == PAWN or kind == BISHOP or kind == QUEEN:
            attackers |= bishop_attacks(target, occupied) & diagonal
        if kind == ROOK or kind == QUEEN:
            attackers |= rook_attacks(target, occupied) & straight
        attackers &= occupied
        side = 1 - side
        balance = -balance - 1 - s.exchange_values[kind]
        if balance >= 0:
            break  # the other side is behind even if it loses nothing more
    return side != beginner


@kernel
def _least_type(position, pieces):
    """The least valuable type among `pieces`, which are not empty."""
    for kind in range(KING):
        if pieces & position.pieces[kind]:
            return kind
    return KING


# Threats: what the opponent's pawns attack at a node, his pawns and minor pieces, and all. They are computed once for a
# node, when they are first needed: many nodes end before.

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
