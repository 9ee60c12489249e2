"""Sets of squares as 64-bit words: a1 is bit 0, h1 bit 7, h8 bit 63.

Each primitive is a Python function that says what it means; compiled code gets one machine instruction.
Every literal that meets a bitboard is a typed `np.uint64`, because numba turns `uint64 - 1` into a signed word.
"""

from typing import Any

import numpy as np

from merino.core.compiled.jit import Later, kernel, primitive

types: Any = Later("numba.core.types")

U64 = np.uint64
ZERO, ONE = U64(0), U64(1)
FULL = U64(0xFFFF_FFFF_FFFF_FFFF)

WHITE, BLACK = 0, 1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
BLACK_PIECE = 8  # on the mailbox a piece is its type, + BLACK_PIECE if black
EMPTY = 6
PIECE_LETTERS = "PNBRQK  pnbrqk"

SQUARES = range(64)
SQUARE_NAMES = tuple("abcdefgh"[square & 7] + str((square >> 3) + 1) for square in SQUARES)

FILES = tuple(U64(0x0101_0101_0101_0101 << file) for file in range(8))
RANKS = tuple(U64(0xFF << 8 * rank) for rank in range(8))
FILE_A, FILE_H = FILES[0], FILES[7]
RANK_1, RANK_2, RANK_3, RANK_4, _, RANK_6, RANK_7, RANK_8 = RANKS
NOT_A, NOT_H = ~FILE_A, ~FILE_H
EDGE_RANKS = RANK_1 | RANK_8
DARK_SQUARES = U64(0xAA55_AA55_AA55_AA55)


@primitive(lambda squares: int(squares).bit_count())
def popcount(typing, squares):
    """How many squares are in the set, int64."""
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@primitive(lambda squares: (int(squares) & -int(squares)).bit_length() - 1)
def lsb(typing, squares):
    """The lowest square of a set that is not empty, int64 0..63."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


@primitive(lambda squares: U64(int.from_bytes(int(squares).to_bytes(8, "little"), "big")))
def mirror(typing, squares):
    """The set with its ranks turned upside down: White's view of Black's pieces."""
    return types.uint64(types.uint64), lambda context, builder, signature, args: builder.bswap(args[0])


@kernel
def bit(square):
    """The set of this one square, uint64."""
    return ONE << U64(square)


@kernel
def north_fill(squares):
    """These squares and all in front of them on their files, seen from White."""
    squares |= squares << U64(8)
    squares |= squares << U64(16)
    return squares | squares << U64(32)


@kernel
def south_fill(squares):
    """These squares and all behind them on their files, seen from White."""
    squares |= squares >> U64(8)
    squares |= squares >> U64(16)
    return squares | squares >> U64(32)


@kernel
def adjacent(squares):
    """The squares one file to the left or right of these."""
    return ((squares & NOT_H) << ONE) | ((squares & NOT_A) >> ONE)


@kernel
def pawn_attacks(pawns, colour):
    """All squares that these pawns of this colour attack."""
    if colour == WHITE:
        return ((pawns & NOT_H) << U64(9)) | ((pawns & NOT_A) << U64(7))
    return ((pawns & NOT_H) >> U64(7)) | ((pawns & NOT_A) >> U64(9))


@kernel
def piece_of(colour, kind):
    """The mailbox code of a piece, int64."""
    return colour << 3 | kind


@kernel
def type_of(piece):
    """PAWN..KING of a mailbox code, or EMPTY."""
    return piece & 7


@kernel
def colour_of(piece):
    """WHITE or BLACK of a mailbox code that is not EMPTY."""
    return piece >> 3 & 1  # masked as an index: else the compiler allows for negative ones, which costs a tenth
