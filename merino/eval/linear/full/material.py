"""Terms of `full` that count pieces."""

from merino.core.board.bitboard import DARK_SQUARES, ZERO, popcount
from merino.eval.linear.full.view import EITHER, TERMS, WORTH
from merino.eval.linear.registry import Group

term = TERMS.term
NEUTRAL_PAWNS = 5  # with more pawns knights gain, with fewer rooks


@term("PawnValue", Group.MATERIAL, WORTH, pawns_and_kings=True)
def pawn_value(view):
    """A pawn."""
    return popcount(view.pawns)


@term("KnightValue", Group.MATERIAL, WORTH)
def knight_value(view):
    """A knight."""
    return popcount(view.knights)


@term("BishopValue", Group.MATERIAL, WORTH)
def bishop_value(view):
    """A bishop."""
    return popcount(view.bishops)


@term("RookValue", Group.MATERIAL, WORTH)
def rook_value(view):
    """A rook."""
    return popcount(view.rooks)


@term("QueenValue", Group.MATERIAL, WORTH)
def queen_value(view):
    """A queen."""
    return popcount(view.queens)


@term("BishopPair", Group.MATERIAL, EITHER)
def bishop_pair(view):
    """Bishops on squares of both colours."""
    return 1 if view.bishops & DARK_SQUARES != ZERO and view.bishops & ~DARK_SQUARES != ZERO else 0


@term("KnightPawns", Group.MATERIAL, EITHER)
def knight_pawns(view):
    """A knight, for each friendly pawn beyond five; with fewer pawns it counts against its side."""
    return popcount(view.knights) * (popcount(view.pawns) - NEUTRAL_PAWNS)


@term("RookPawns", Group.MATERIAL, EITHER, sign=-1)
def rook_pawns(view):
    """A rook, for each friendly pawn beyond five; with fewer pawns it counts for its side."""
    return popcount(view.rooks) * (popcount(view.pawns) - NEUTRAL_PAWNS)


@term("Tempo", Group.BOARD_CONTROL, EITHER)
def tempo(view):
    """The right to move."""
    return 1 if view.to_move else 0
