"""Tables and sums that the terms of several sets count with."""

import numpy as np

from merino.core.board.bitboard import ONE, SQUARES, U64, lsb
from merino.core.compiled.jit import kernel


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
