"""The board as one record, and the questions compiled code asks of it.

A position is a numpy record of dtype `POSITION`, which compiled code passes as one pointer. Moves are made by
copy (`core.board.makemove`), so there is nothing to take back.
"""

import random

import numpy as np

from merino.core.board.attacks import (
    BETWEEN,
    BISHOP_RAYS,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    PAWN_ATTACKS,
    ROOK_RAYS,
    bishop_attacks,
    rook_attacks,
)
from merino.core.board.bitboard import (
    BISHOP,
    DARK_SQUARES,
    EMPTY,
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
    pawn_attacks,
    piece_of,
    popcount,
    type_of,
)
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import record_dtype

NO_SQUARE = -1

POSITION = record_dtype(
    [
        ("pieces", np.uint64, 6),  # sets by type, both colours
        ("colours", np.uint64, 2),  # sets by colour
        ("castling", np.uint64),  # the rooks that may still castle
        ("checkers", np.uint64),  # enemy pieces that attack the king of the side to move
        ("pinned", np.uint64),  # pieces of the side to move that alone shield their king from a slider
        ("key", np.uint64),  # Zobrist key of all that matters for repetition
        ("pawn_key", np.uint64),  # Zobrist key of the pawns alone
        ("board", np.int8, 64),  # mailbox: type + 8 if black, or EMPTY
        ("side", np.int8),  # WHITE or BLACK to move
        ("en_passant", np.int8),  # square behind a pawn that may be taken, else NO_SQUARE
        ("halfmove", np.int32),  # plies since the last capture or pawn move
        ("fullmove", np.int32),  # number of the full move, from 1
        ("_padding", np.int64),  # to three cache lines
    ]
)

_draw = random.Random(20150801)
ZOBRIST_PIECES = np.array([[_draw.getrandbits(64) for _ in range(64)] for _ in range(14)], dtype=np.uint64)
ZOBRIST_CASTLING = np.array([_draw.getrandbits(64) for _ in range(64)], dtype=np.uint64)
ZOBRIST_EN_PASSANT = np.array([_draw.getrandbits(64) for _ in range(8)], dtype=np.uint64)
ZOBRIST_BLACK = np.uint64(_draw.getrandbits(64))


@kernel
def side_to_move(position):
    """WHITE or BLACK, int64. Masked, so that the compiler knows an index that is never negative."""
    return int(position.side) & 1


@kernel
def piece_on(position, square):
    """The mailbox code on a square, int64: type + 8 if black, or EMPTY."""
    return int(position.board[square]) & 15


@kernel
def occupied_squares(position):
    """All pieces, uint64."""
    return position.colours[0] | position.colours[1]


@kernel
def pieces_of(position, colour, kind):
    """The pieces of one colour and type, uint64."""
    return position.colours[colour] & position.pieces[kind]


@kernel
def king_square(position, colour):
    """Where the king of this colour stands, int64."""
    return lsb(position.colours[colour] & position.pieces[KING])


@kernel
def attackers_to(position, square, occupied):
    """The pieces of both colours that attack `square` if `occupied` were the occupied squares, uint64."""
    diagonal = position.pieces[BISHOP] | position.pieces[QUEEN]
    straight = position.pieces[ROOK] | position.pieces[QUEEN]
    white_pawns = position.pieces[PAWN] & position.colours[0]
    black_pawns = position.pieces[PAWN] & position.colours[1]
    return (
        (PAWN_ATTACKS[1, square] & white_pawns)
        | (PAWN_ATTACKS[0, square] & black_pawns)
        | (KNIGHT_ATTACKS[square] & position.pieces[KNIGHT])
        | (KING_ATTACKS[square] & position.pieces[KING])
        | (bishop_attacks(square, occupied) & diagonal)
        | (rook_attacks(square, occupied) & straight)
    )


@kernel
def look_at_king(position):
    """Fill `checkers` and `pinned` for the side to move, in one pass over the sliders in line with its king."""
    side = side_to_move(position)
    own, foe = position.colours[side], position.colours[side ^ 1]
    king = lsb(own & position.pieces[KING])
    diagonal = BISHOP_RAYS[king] & (position.pieces[BISHOP] | position.pieces[QUEEN])
    straight = ROOK_RAYS[king] & (position.pieces[ROOK] | position.pieces[QUEEN])
    leapers = KNIGHT_ATTACKS[king] & position.pieces[KNIGHT] | PAWN_ATTACKS[side, king] & position.pieces[PAWN]
    checkers, pinned = leapers & foe, ZERO
    sliders = (diagonal | straight) & foe
    while sliders:
        blockers = BETWEEN[king, lsb(sliders)] & (own | foe)
        if blockers == ZERO:
            checkers |= sliders & -sliders
        elif blockers & (blockers - ONE) == ZERO:
            pinned |= blockers & own
        sliders &= sliders - ONE
    position.checkers, position.pinned = checkers, pinned


@kernel
def attacks_of(kind, colour, square, occupied):
    """The squares that a piece of this type and colour attacks from `square`."""
    if kind == PAWN:
        return PAWN_ATTACKS[colour, square]
    if kind == KNIGHT:
        return KNIGHT_ATTACKS[square]
    if kind == KING:
        return KING_ATTACKS[square]
    attacks = ZERO
    if kind != ROOK:
        attacks |= bishop_attacks(square, occupied)
    if kind != BISHOP:
        attacks |= rook_attacks(square, occupied)
    return attacks


@kernel
def attacks_of_all(kind, colour, pieces, occupied):
    """The squares that these pieces of one type and colour attack, uint64."""
    if kind == PAWN:
        return pawn_attacks(pieces, colour)
    attacks = ZERO
    while pieces:
        attacks |= attacks_of(kind, colour, lsb(pieces), occupied)
        pieces &= pieces - ONE
    return attacks


@kernel
def set_check_squares(position, squares):
    """Fill squares, uint64[8], by type: from where a piece of the side to move attacks the enemy king."""
    side, occupied = side_to_move(position), occupied_squares(position)
    king = king_square(position, side ^ 1)
    squares[PAWN] = PAWN_ATTACKS[side ^ 1, king]
    squares[KNIGHT] = KNIGHT_ATTACKS[king]
    squares[BISHOP] = bishop_attacks(king, occupied)
    squares[ROOK] = rook_attacks(king, occupied)
    squares[QUEEN] = squares[BISHOP] | squares[ROOK]
    squares[KING] = KING_ATTACKS[king]


@kernel
def gives_check(position, move, check_squares):
    """Whether the piece that a legal move moves attacks the enemy king from its new square.

    `check_squares` are those of the position: that the piece leaves its square opens it no line, else it would have
    given check before. Discovered checks, and those of castling, promotion and en passant, are not seen.
    """
    return check_squares[type_of(piece_on(position, move & 63))] & bit(move >> 6 & 63) != ZERO


@kernel
def is_attacked(position, square, by):
    """Whether a piece of colour `by` attacks `square`."""
    return attackers_to(position, square, occupied_squares(position)) & position.colours[by] != ZERO


@kernel
def en_passant_is_safe(position, side, origin, destination):
    """Whether `side` may take en passant from `origin` to `destination` without leaving its king in check."""
    captured = bit((origin & 56) | (destination & 7))
    occupied = (occupied_squares(position) ^ bit(origin) ^ captured) | bit(destination)
    attackers = attackers_to(position, king_square(position, side), occupied)
    return attackers & position.colours[side ^ 1] & ~captured == ZERO


@kernel
def compute_key(position):
    """The Zobrist key from scratch, uint64: what `make` must arrive at move by move."""
    key = ZOBRIST_BLACK if position.side == 1 else ZERO
    for square in range(64):
        if position.board[square] != EMPTY:
            key ^= ZOBRIST_PIECES[position.board[square], square]
    rooks = position.castling
    while rooks:
        key ^= ZOBRIST_CASTLING[lsb(rooks)]
        rooks &= rooks - ONE
    if position.en_passant >= 0:
        key ^= ZOBRIST_EN_PASSANT[position.en_passant & 7]
    return key


@kernel
def compute_pawn_key(position):
    """The Zobrist key of the pawns from scratch, uint64."""
    key = ZERO
    for colour in range(2):
        pawns = pieces_of(position, colour, PAWN)
        while pawns:
            key ^= ZOBRIST_PIECES[piece_of(colour, PAWN), lsb(pawns)]
            pawns &= pawns - ONE
    return key


@kernel
def is_insufficient_material(position):
    """Whether no sequence of legal moves can mate: bare kings, one minor piece, or bishops of one square colour."""
    if position.pieces[PAWN] | position.pieces[ROOK] | position.pieces[QUEEN]:
        return False
    knights, bishops = position.pieces[KNIGHT], position.pieces[BISHOP]
    if knights:
        return popcount(knights | bishops) == 1
    return bishops & DARK_SQUARES == ZERO or bishops & ~DARK_SQUARES == ZERO


@kernel
def has_pieces(position, side):
    """Whether `side` has a piece other than king and pawns."""
    return position.colours[side] & ~(position.pieces[PAWN] | position.pieces[KING]) != U64(0)
