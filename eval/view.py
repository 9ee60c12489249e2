"""The board as one side sees it: what a term may look at.

Black's view is the board turned upside down, so a term is written once, for White, and serves both sides.
"""

from typing import NamedTuple

from numba import types

from engine.bitboard import BISHOP, KNIGHT, PAWN, QUEEN, ROOK, WHITE, mirror, popcount
from engine.jit import kernel
from engine.position import king_square, occupied_squares, pieces_of

FULL_SET = 32  # the units of a full set of pieces


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
def units(position, colour):
    """The weight of a side's pieces without pawns: N = B = 3, R = 5, Q = 10; a full set is 32."""
    minors = pieces_of(position, colour, KNIGHT) | pieces_of(position, colour, BISHOP)
    return (
        3 * popcount(minors)
        + 5 * popcount(pieces_of(position, colour, ROOK))
        + 10 * popcount(pieces_of(position, colour, QUEEN))
    )


@kernel
def _seen_by(colour, squares):
    """A set as `colour` sees it."""
    return squares if colour == WHITE else mirror(squares)


@kernel
def view(position, colour):
    """The `View` of `colour`."""
    foe, turned = 1 - colour, 56 * colour
    return View(
        pawns=_seen_by(colour, pieces_of(position, colour, PAWN)),
        knights=_seen_by(colour, pieces_of(position, colour, KNIGHT)),
        bishops=_seen_by(colour, pieces_of(position, colour, BISHOP)),
        rooks=_seen_by(colour, pieces_of(position, colour, ROOK)),
        queens=_seen_by(colour, pieces_of(position, colour, QUEEN)),
        king=king_square(position, colour) ^ turned,
        enemy_pawns=_seen_by(colour, pieces_of(position, foe, PAWN)),
        enemy_king=king_square(position, foe) ^ turned,
        occupied=_seen_by(colour, occupied_squares(position)),
        enemy_units=units(position, foe),
        to_move=position.side == colour,
    )
