"""The board as one side sees it: what a term may look at.

Black's view is the board turned upside down, so a term is written once, for White, and serves both sides.
"""

from typing import NamedTuple

from numba import types

from merino.core.board.bitboard import BISHOP, BLACK, KNIGHT, PAWN, QUEEN, ROOK, WHITE, mirror
from merino.core.board.position import king_square, occupied_squares, pieces_of
from merino.core.compiled.jit import kernel
from merino.eval.material import units


class View(NamedTuple):
    """One side's board: sets are uint64 with the own first rank as rank 1, the rest int64."""

    pawns: types.uint64
    knights: types.uint64
    bishops: types.uint64
    rooks: types.uint64
    queens: types.uint64
    king: types.int64  # square
    enemy_pawns: types.uint64
    enemy_king: types.int64  # square
    occupied: types.uint64
    enemy_units: types.int64  # the opponent's pieces: knight and bishop 3, rook 5, queen 10
    to_move: types.boolean  # whether this side is to move


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
