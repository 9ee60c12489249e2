"""Legal moves, and only legal ones: pins and checks are seen before a move is written down.

One generator serves two customers: with an int32 array it writes the moves, with None it only counts them,
and the compiler makes a version of each. Both return the number of moves.
"""

from merino.core.board.attacks import (
    BETWEEN,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    LINES,
    PAWN_ATTACKS,
    bishop_attacks,
    rook_attacks,
)
from merino.core.board.bitboard import (
    BISHOP,
    EDGE_RANKS,
    EMPTY,
    FULL,
    KNIGHT,
    NOT_A,
    NOT_H,
    ONE,
    PAWN,
    QUEEN,
    RANK_3,
    RANK_6,
    ROOK,
    U64,
    WHITE,
    ZERO,
    bit,
    lsb,
    popcount,
)
from merino.core.board.makemove import castling_destinations, make
from merino.core.board.move import CASTLING, DOUBLE_PUSH, EN_PASSANT, NORMAL, PROMOTION, destination_of, kind_of, pack
from merino.core.board.position import (
    attackers_to,
    en_passant_is_safe,
    king_square,
    occupied_squares,
    pieces_of,
    side_to_move,
)
from merino.core.compiled.jit import kernel

ALL, NOISY, QUIET = range(3)  # noisy: captures and promotions
MAX_MOVES = 256  # no legal position has more than 218


@kernel
def generate(position, moves, wanted, origins):
    """Legal moves of the kinds `wanted` from the squares `origins`; returns how many.

    `moves` is an int32 array of at least MAX_MOVES that is filled from the start, or None to count only.
    """
    side = side_to_move(position)
    occupied, own = occupied_squares(position), position.colours[side]
    targets = ~own
    if wanted == NOISY:
        targets = position.colours[side ^ 1]
    elif wanted == QUIET:
        targets = ~occupied
    king = king_square(position, side)
    count = 0
    if bit(king) & origins:
        count = _king_moves(position, moves, count, king, targets)
        if wanted != NOISY and position.checkers == ZERO and position.castling:
            count = _castling_moves(position, moves, count, king)
    allowed = FULL
    if position.checkers:
        if position.checkers & (position.checkers - ONE):
            return count  # double check: only the king can move
        allowed = BETWEEN[king, lsb(position.checkers)] | position.checkers
    pinned = position.pinned
    count = _piece_moves(position, moves, count, king, targets & allowed, pinned, origins)
    pawns = pieces_of(position, side, PAWN) & origins
    count = _pawn_moves(position, moves, count, pawns & ~pinned, allowed, wanted)
    pawns &= pinned
    while pawns:
        square = lsb(pawns)
        pawns &= pawns - ONE
        count = _pawn_moves(position, moves, count, bit(square), allowed & LINES[king, square], wanted)
    if wanted != QUIET and position.en_passant >= 0:
        count = _en_passant_moves(position, moves, count, origins)
    return count


@kernel
def count_legal(position):
    """How many legal moves there are."""
    return generate(position, None, ALL, FULL)


@kernel
def make_each(position, moves, found, count):
    """Add the positions after each legal move to `found`, POSITION[n] with `count` so far, as far as there is room.

    Returns how many there are then; `moves` is scratch of MAX_MOVES.
    """
    for index in range(generate(position, moves, ALL, FULL)):
        if count == len(found):
            break
        make(found[count], position, int(moves[index]))
        count += 1
    return count


@kernel
def is_legal(position, moves, move):
    """Whether `move`, any 16 bits, is legal here; `moves` is scratch of MAX_MOVES."""
    origins = bit(move & 63) & position.colours[side_to_move(position)]
    if origins == ZERO:
        return False
    for index in range(generate(position, moves, ALL, origins)):
        if moves[index] == move:
            return True
    return False


@kernel
def is_noisy(position, move):
    """Whether a move is a capture or a promotion."""
    kind = kind_of(move)
    if kind == CASTLING or kind == DOUBLE_PUSH:
        return False
    return kind >= EN_PASSANT or position.board[destination_of(move)] != EMPTY


@kernel
def _add_from(moves, count, origin, targets):
    """A move of the piece on `origin` to each of `targets`."""
    if moves is None:
        return count + popcount(targets)
    while targets:
        moves[count] = pack(origin, lsb(targets), NORMAL)
        targets &= targets - ONE
        count += 1
    return count


@kernel
def _add_steps(moves, count, targets, step, kind):
    """A pawn move to each of `targets` from `step` squares before it."""
    if moves is None:
        return count + popcount(targets)
    while targets:
        square = lsb(targets)
        targets &= targets - ONE
        moves[count] = pack(square - step, square, kind)
        count += 1
    return count


@kernel
def _add_promotions(moves, count, targets, step):
    """The four promotions on each of `targets`."""
    if moves is None:
        return count + 4 * popcount(targets)
    while targets:
        square = lsb(targets)
        targets &= targets - ONE
        for piece in range(4):
            moves[count] = pack(square - step, square, PROMOTION + 3 - piece)
            count += 1
    return count


@kernel
def _king_moves(position, moves, count, king, targets):
    """Steps to squares that nobody attacks once the king has left its own."""
    foe = position.colours[1 - side_to_move(position)]
    without_king = occupied_squares(position) ^ bit(king)
    candidates, safe = KING_ATTACKS[king] & targets, ZERO
    while candidates:
        square = lsb(candidates)
        candidates &= candidates - ONE
        if attackers_to(position, square, without_king) & foe == ZERO:
            safe |= bit(square)
    return _add_from(moves, count, king, safe)


@kernel
def _castling_moves(position, moves, count, king):
    """Castling with each rook that still may: way free but for these two, king's way not attacked."""
    side = side_to_move(position)
    rooks = position.castling & position.colours[side]
    while rooks:
        rook = lsb(rooks)
        rooks &= rooks - ONE
        king_to, rook_to = castling_destinations(king, rook)
        others = occupied_squares(position) ^ bit(king) ^ bit(rook)
        king_way = BETWEEN[king, king_to] | bit(king_to)
        if others & (king_way | BETWEEN[rook, rook_to] | bit(rook_to)):
            continue
        if _way_is_safe(position, king_way, others, side):
            if moves is not None:
                moves[count] = pack(king, rook, CASTLING)
            count += 1
    return count


@kernel
def _way_is_safe(position, squares, others, side):
    """Whether no enemy attacks `squares`, seen with king and castling rook lifted off the board."""
    foe = position.colours[side ^ 1]
    while squares:
        if attackers_to(position, lsb(squares), others) & foe:
            return False
        squares &= squares - ONE
    return True


@kernel
def _piece_moves(position, moves, count, king, targets, pinned, origins):
    """Knights, bishops, rooks and queens; a pinned piece stays on the line of its pin."""
    own = position.colours[side_to_move(position)] & origins
    occupied = occupied_squares(position)
    knights = own & position.pieces[KNIGHT] & ~pinned
    while knights:
        square = lsb(knights)
        knights &= knights - ONE
        count = _add_from(moves, count, square, KNIGHT_ATTACKS[square] & targets)
    sliders = own & (position.pieces[BISHOP] | position.pieces[QUEEN])
    while sliders:
        square = lsb(sliders)
        sliders &= sliders - ONE
        line = LINES[king, square] if pinned & bit(square) else FULL
        count = _add_from(moves, count, square, bishop_attacks(square, occupied) & targets & line)
    sliders = own & (position.pieces[ROOK] | position.pieces[QUEEN])
    while sliders:
        square = lsb(sliders)
        sliders &= sliders - ONE
        line = LINES[king, square] if pinned & bit(square) else FULL
        count = _add_from(moves, count, square, rook_attacks(square, occupied) & targets & line)
    return count


@kernel
def _pawn_moves(position, moves, count, pawns, allowed, wanted):
    """Pushes, captures and promotions of these pawns to `allowed` squares; en passant apart."""
    side = side_to_move(position)
    empty, foe = ~occupied_squares(position), position.colours[side ^ 1] & allowed
    if side == WHITE:
        forward = 8
        single = (pawns << U64(8)) & empty
        double = ((single & RANK_3) << U64(8)) & empty & allowed
        east, west = ((pawns & NOT_H) << U64(9)) & foe, ((pawns & NOT_A) << U64(7)) & foe
    else:
        forward = -8
        single = (pawns >> U64(8)) & empty
        double = ((single & RANK_6) >> U64(8)) & empty & allowed
        east, west = ((pawns & NOT_H) >> U64(7)) & foe, ((pawns & NOT_A) >> U64(9)) & foe
    single &= allowed
    if wanted != QUIET:
        count = _add_steps(moves, count, east & ~EDGE_RANKS, forward + 1, NORMAL)
        count = _add_steps(moves, count, west & ~EDGE_RANKS, forward - 1, NORMAL)
        if (single | east | west) & EDGE_RANKS:
            count = _add_promotions(moves, count, east & EDGE_RANKS, forward + 1)
            count = _add_promotions(moves, count, west & EDGE_RANKS, forward - 1)
            count = _add_promotions(moves, count, single & EDGE_RANKS, forward)
    if wanted != NOISY:
        count = _add_steps(moves, count, single & ~EDGE_RANKS, forward, NORMAL)
        count = _add_steps(moves, count, double, 2 * forward, DOUBLE_PUSH)
    return count


@kernel
def _en_passant_moves(position, moves, count, origins):
    """Captures en passant that do not open the friendly king to a check."""
    side, square = side_to_move(position), int(position.en_passant)
    capturers = PAWN_ATTACKS[side ^ 1, square] & pieces_of(position, side, PAWN) & origins
    while capturers:
        origin = lsb(capturers)
        capturers &= capturers - ONE
        if en_passant_is_safe(position, side, origin, square):
            if moves is not None:
                moves[count] = pack(origin, square, EN_PASSANT)
            count += 1
    return count
