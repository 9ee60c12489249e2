"""Terms of `full` that count good places of pieces and how far they reach."""

import numpy as np

from merino.core.board import bitboard
from merino.core.compiled.jit import kernel
from merino.eval.linear.full.view import EITHER, LAST_REACH, REACH_BITS, TERMS
from merino.eval.linear.registry import Group

term, table = TERMS.term, TERMS.table
OUTPOST_RANKS = bitboard.RANK_4 | bitboard.RANKS[4] | bitboard.RANK_6
SPACE = (bitboard.RANK_2 | bitboard.RANK_3 | bitboard.RANK_4) & (
    bitboard.FILES[2] | bitboard.FILES[3] | bitboard.FILES[4] | bitboard.FILES[5]
)


@kernel
def _outposts(view):
    """Squares on ranks 4 to 6 that a friendly pawn guards and that no enemy pawn can ever attack."""
    return OUTPOST_RANKS & view.own.by_pawns & ~bitboard.south_fill(view.enemy_by_pawns)


@kernel
def _by_reach(reach, pieces, at, cells):
    """The total of a table by safe squares over so many pieces; `reach` is as in `Attacks`."""
    total = 0.0
    for _ in range(pieces):
        total += at(cells, np.int64(reach & LAST_REACH), 1.0)
        reach >>= REACH_BITS
    return total


@term("KnightOutpost", Group.BOARD_CONTROL, EITHER)
def knight_outpost(view):
    """A knight on ranks 4 to 6 that a friendly pawn guards and no enemy pawn can ever attack."""
    return bitboard.popcount(view.knights & _outposts(view))


@term("KnightReach", Group.BOARD_CONTROL, EITHER)
def knight_reach(view):
    """An outpost, not occupied, that a knight attacks."""
    return bitboard.popcount(view.own.by_knights & _outposts(view) & ~view.occupied)


@term("BishopOutpost", Group.BOARD_CONTROL, EITHER)
def bishop_outpost(view):
    """A bishop on ranks 4 to 6 that a friendly pawn guards and no enemy pawn can ever attack."""
    return bitboard.popcount(view.bishops & _outposts(view))


@term("MinorBehindPawn", Group.BOARD_CONTROL, EITHER)
def minor_behind_pawn(view):
    """A knight or bishop right behind a pawn of either side."""
    return bitboard.popcount((view.knights | view.bishops) & ((view.pawns | view.enemy_pawns) >> bitboard.U64(8)))


@term("Rook7th", Group.BOARD_CONTROL, EITHER)
def rook_on_seventh(view):
    """A rook on the seventh rank."""
    return bitboard.popcount(view.rooks & bitboard.RANK_7)


@term("RookOpen", Group.BOARD_CONTROL, EITHER)
def rook_open(view):
    """A rook on a file without pawns."""
    return bitboard.popcount(view.rooks & ~bitboard.south_fill(bitboard.north_fill(view.pawns | view.enemy_pawns)))


@term("RookHalfOpen", Group.BOARD_CONTROL, EITHER)
def rook_half_open(view):
    """A rook on a file with enemy pawns and without own ones."""
    own, enemy = (
        bitboard.south_fill(bitboard.north_fill(view.pawns)),
        bitboard.south_fill(bitboard.north_fill(view.enemy_pawns)),
    )
    return bitboard.popcount(view.rooks & ~own & enemy)


@table("KnightMobility", Group.MOBILITY, EITHER, map(str, range(9)), counts="KnightValue")
def knight_mobility(view, at, cells):
    """A knight by how many safe squares it attacks."""
    return _by_reach(view.own.knight_reach, bitboard.popcount(view.knights), at, cells)


@table("BishopMobility", Group.MOBILITY, EITHER, map(str, range(14)), counts="BishopValue")
def bishop_mobility(view, at, cells):
    """A bishop by how many safe squares it attacks."""
    return _by_reach(view.own.bishop_reach, bitboard.popcount(view.bishops), at, cells)


@table("RookMobility", Group.MOBILITY, EITHER, map(str, range(15)), counts="RookValue")
def rook_mobility(view, at, cells):
    """A rook by how many safe squares it attacks."""
    return _by_reach(view.own.rook_reach, bitboard.popcount(view.rooks), at, cells)


@table("QueenMobility", Group.MOBILITY, EITHER, map(str, range(28)), counts="QueenValue")
def queen_mobility(view, at, cells):
    """A queen by how many safe squares it attacks."""
    return _by_reach(view.own.queen_reach, bitboard.popcount(view.queens), at, cells)


@term("Space", Group.BOARD_CONTROL, EITHER)
def space(view):
    """A square on ranks 2 to 4 of files c to f, behind a friendly pawn, that the enemy does not attack."""
    return bitboard.popcount(
        SPACE & bitboard.south_fill(view.pawns >> bitboard.U64(8)) & ~view.pawns & ~view.enemy_attacked
    )
