"""The board as one side sees it: what a term may look at.

Black's view is the board turned upside down, so a term is written once, for White, and serves both sides.
"""

from typing import NamedTuple

import numpy as np

from merino.core.board.bitboard import BISHOP, BLACK, KNIGHT, ONE, PAWN, QUEEN, ROOK, SQUARES, U64, WHITE, lsb, mirror
from merino.core.board.position import king_square, occupied_squares, pieces_of
from merino.core.compiled.jit import kernel
from merino.eval.material import units


class View(NamedTuple):
    """One side's board: sets are uint64 with the own first rank as rank 1, the rest int64."""

    pawns: np.uint64
    knights: np.uint64
    bishops: np.uint64
    rooks: np.uint64
    queens: np.uint64
    king: np.int64  # square
    enemy_pawns: np.uint64
    enemy_king: np.int64  # square
    occupied: np.uint64
    enemy_units: np.int64  # the opponent's pieces: knight and bishop 3, rook 5, queen 10
    to_move: np.bool_  # whether this side is to move


@kernel
def seen_by(colour, squares):
    """A set as `colour` sees it."""
    return squares if colour == WHITE else mirror(squares)


@kernel
def view(position, colour):
    """The `View` of `colour`."""
    foe, turned = 1 - colour, 56 * colour
    return View(
        pawns=seen_by(colour, pieces_of(position, colour, PAWN)),
        knights=seen_by(colour, pieces_of(position, colour, KNIGHT)),
        bishops=seen_by(colour, pieces_of(position, colour, BISHOP)),
        rooks=seen_by(colour, pieces_of(position, colour, ROOK)),
        queens=seen_by(colour, pieces_of(position, colour, QUEEN)),
        king=king_square(position, colour) ^ turned,
        enemy_pawns=seen_by(colour, pieces_of(position, foe, PAWN)),
        enemy_king=king_square(position, foe) ^ turned,
        occupied=seen_by(colour, occupied_squares(position)),
        enemy_units=units(position, foe),
        to_move=position.side == colour,
    )


@kernel
def not_counting(side_view, squares):
    """The view of a side that leaves its own pieces on `squares`, as it sees them, out of the count.

    They still stand in the way (`occupied`), and the opponent is the same.
    """
    kept = ~squares
    return View(
        pawns=side_view.pawns & kept,
        knights=side_view.knights & kept,
        bishops=side_view.bishops & kept,
        rooks=side_view.rooks & kept,
        queens=side_view.queens & kept,
        king=side_view.king,
        enemy_pawns=side_view.enemy_pawns,
        enemy_king=side_view.enemy_king,
        occupied=side_view.occupied,
        enemy_units=side_view.enemy_units,
        to_move=side_view.to_move,
    )


@kernel
def views(position):
    """The views of White and of Black."""
    return view(position, WHITE), view(position, BLACK)


@kernel
def view_without(position, colour, squares):
    """The view of `colour` with its own pieces on `squares`, as it sees them, out of the count."""
    return not_counting(view(position, colour), squares)


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
DISTANCES = np.array([[max(abs((a & 7) - (b & 7)), abs((a >> 3) - (b >> 3))) for b in SQUARES] for a in SQUARES])


@kernel
def table_sum(pieces, table):
    """The sum of a float64[64] table over a set."""
    total = 0.0
    while pieces:
        total += table[lsb(pieces)]
        pieces &= pieces - ONE
    return total


@kernel
def cell_total(pieces, places, at, cells):
    """The total of a term's table over a set; `places`, int64[64], has the cell of each square."""
    total = 0.0
    while pieces:
        total += at(cells, places[lsb(pieces)], 1.0)
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
