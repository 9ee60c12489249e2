"""The board as one side sees it: what a term may look at.

Black's view is the board turned upside down, so a term is written once, for White, and serves both sides.
"""

from typing import Any, NamedTuple

import numpy as np

from merino.core.board.bitboard import BISHOP, KNIGHT, ONE, PAWN, QUEEN, ROOK, SQUARES, U64, WHITE, lsb, mirror
from merino.core.board.position import king_square, occupied_squares, pieces_of
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import record_dtype
from merino.eval.material import units

# One side's board: sets have the side's first rank as rank 1.
FIELDS = (
    ("pawns", np.uint64),
    ("knights", np.uint64),
    ("bishops", np.uint64),
    ("rooks", np.uint64),
    ("queens", np.uint64),
    ("king", np.int64),  # square
    ("enemy_pawns", np.uint64),
    ("enemy_king", np.int64),  # square
    ("occupied", np.uint64),
    ("enemy_units", np.int64),  # the opponent's pieces: knight and bishop 3, rook 5, queen 10
    ("to_move", np.int64),  # whether this side is to move
)
VIEW = record_dtype(FIELDS)


@kernel
def seen_by(colour, squares):
    """A set as `colour` sees it."""
    return squares if colour == WHITE else mirror(squares)


@kernel
def fill_view(position, colour, squares, side):
    """Fill `side`, a record with FIELDS, with what `colour` sees, but its own pieces on `squares`, as it sees them.

    Those still stand in the way (`occupied`), and the opponent is the same.
    """
    foe, turned, counted = 1 - colour, 56 * colour, ~squares
    side.pawns = seen_by(colour, pieces_of(position, colour, PAWN)) & counted
    side.knights = seen_by(colour, pieces_of(position, colour, KNIGHT)) & counted
    side.bishops = seen_by(colour, pieces_of(position, colour, BISHOP)) & counted
    side.rooks = seen_by(colour, pieces_of(position, colour, ROOK)) & counted
    side.queens = seen_by(colour, pieces_of(position, colour, QUEEN)) & counted
    side.king = king_square(position, colour) ^ turned
    side.enemy_pawns = seen_by(colour, pieces_of(position, foe, PAWN))
    side.enemy_king = king_square(position, foe) ^ turned
    side.occupied = seen_by(colour, occupied_squares(position))
    side.enemy_units = units(position, foe)
    side.to_move = position.side == colour


class Pieces(NamedTuple):
    """Kernels that count what is counted of one piece: (view of its side, its square, its reach, counts) -> amount.

    Its reach are the safe squares that it attacks: without a friendly pawn or king, and not attacked by an enemy pawn.
    """

    knights: Any
    bishops: Any
    rooks: Any
    queens: Any


@kernel
def look(position, colour, squares, side, of_pieces, counts):
    """Fill the VIEW of a side as `fill_view` does; none of its terms counts piece by piece."""
    fill_view(position, colour, squares, side)
    return 0


@kernel
def meet(position, colour, side, enemy):
    """Fill what a side sees of its enemy's view: here nothing."""


# Tables and sums that the terms of several sets count with.


def parabola(x, vertex, at_vertex, other, at_other):
    """The parabola with its vertex at (vertex, at_vertex) that passes through (other, at_other)."""
    return at_vertex + (at_other - at_vertex) * ((x - vertex) / (other - vertex)) ** 2


def squares(*names):
    """The set of the squares with these names, uint64."""
    return U64(sum(1 << ("abcdefgh".index(name[0]) + 8 * (int(name[1]) - 1)) for name in names))


def _centrality(square):
    """3 on the four central squares, falling by one for each file and rank away from them; -3 in the corners."""
    file, rank = square & 7, square >> 3
    return 3 - max(3 - file, file - 4, 0) - max(3 - rank, rank - 4, 0)


CENTER = np.array([_centrality(square) / 3 for square in SQUARES])
FULL_CENTER = squares("d4", "e4", "d5", "e5", "d6", "e6")
HALF_CENTER = squares("c3", "d3", "e3", "f3", "c4", "f4", "c5", "f5")
PASSED_BY_RANK = np.array([parabola(rank, 0, 0, 7, 1) for rank in range(8)])
DISTANCES = np.array(
    [[max(abs((a & 7) - (b & 7)), abs((a >> 3) - (b >> 3))) for b in SQUARES] for a in SQUARES], dtype=np.int16
)


@kernel
def table_sum(pieces, table):
    """The sum of a float64[64] table over a set."""
    total = 0.0
    while pieces:
        total += table[lsb(pieces)]
        pieces &= pieces - ONE
    return total


@kernel
def passed_sum(pawns):
    """The square of each pawn's rank over 7, summed."""
    total = 0.0
    while pawns:
        total += PASSED_BY_RANK[lsb(pawns) >> 3]
        pawns &= pawns - ONE
    return total
