"""Tables of `full` by square: where each kind of piece stands well.

The wings are alike: a square of files e to h counts as that opposite on files d to a.
"""

import numpy as np

from merino.core.board.bitboard import ONE, SQUARES, lsb
from merino.core.compiled.jit import kernel
from merino.eval.linear.full.view import EITHER, TERMS, UNLIMITED
from merino.eval.linear.registry import Group
from merino.eval.linear.view import DISTANCES, cell_total

table = TERMS.table
FOLDED = np.array([4 * (square >> 3) + min(square & 7, 7 - (square & 7)) for square in SQUARES])
HALF = tuple(f"{file}{rank}" for rank in range(1, 9) for file in "abcd")  # the names of the squares that FOLDED counts
STEPS = tuple(map(str, range(1, 8)))  # of a king to a square
PAWN_RANKS, PAWN_FOLDED = HALF[4:-4], FOLDED - 4  # without the first rank and the last


@kernel
def _by_steps(pieces, king, at, cells):
    """The total of a table over a set; its cells are the steps from a king, 1 to 7."""
    total = 0.0
    while pieces:
        total += at(cells, DISTANCES[lsb(pieces), king] - 1, 1.0)
        pieces &= pieces - ONE
    return total


@table("PawnSquare", Group.PAWN_STRUCTURE, EITHER, PAWN_RANKS, pawns_and_kings=True, counts="PawnValue")
def pawn_square(view, at, cells):
    """A pawn by its square."""
    return cell_total(view.pawns, PAWN_FOLDED, at, cells)


@table("KnightSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="KnightValue")
def knight_square(view, at, cells):
    """A knight by its square."""
    return cell_total(view.knights, FOLDED, at, cells)


@table("BishopSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="BishopValue")
def bishop_square(view, at, cells):
    """A bishop by its square."""
    return cell_total(view.bishops, FOLDED, at, cells)


@table("RookSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="RookValue")
def rook_square(view, at, cells):
    """A rook by its square."""
    return cell_total(view.rooks, FOLDED, at, cells)


@table("QueenSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="QueenValue")
def queen_square(view, at, cells):
    """A queen by its square."""
    return cell_total(view.queens, FOLDED, at, cells)


@table("KingSquare", Group.KING_SAFETY, UNLIMITED, HALF, pawns_and_kings=True, counts="")
def king_square(view, at, cells):
    """The king by his square."""
    return at(cells, FOLDED[view.king], 1.0)


@table("PawnFromKing", Group.KING_SAFETY, EITHER, STEPS, pawns_and_kings=True, counts="PawnValue")
def pawn_from_king(view, at, cells):
    """A pawn by its steps from the own king."""
    return _by_steps(view.pawns, view.king, at, cells)


@table("KnightFromKing", Group.KING_SAFETY, EITHER, STEPS, counts="KnightValue")
def knight_from_king(view, at, cells):
    """A knight by its steps from the own king."""
    return _by_steps(view.knights, view.king, at, cells)


@table("BishopFromKing", Group.KING_SAFETY, EITHER, STEPS, counts="BishopValue")
def bishop_from_king(view, at, cells):
    """A bishop by its steps from the own king."""
    return _by_steps(view.bishops, view.king, at, cells)


@table("RookFromKing", Group.KING_SAFETY, EITHER, STEPS, counts="RookValue")
def rook_from_king(view, at, cells):
    """A rook by its steps from the own king."""
    return _by_steps(view.rooks, view.king, at, cells)


@table("QueenFromKing", Group.KING_SAFETY, EITHER, STEPS, counts="QueenValue")
def queen_from_king(view, at, cells):
    """A queen by its steps from the own king."""
    return _by_steps(view.queens, view.king, at, cells)
