"""Terms of `full` that count where pieces stand and how far they reach."""

import numpy as np

from merino.inner.core.board.bitboard import (
    FILES,
    ONE,
    RANK_2,
    RANK_3,
    RANK_4,
    RANK_6,
    RANK_7,
    RANKS,
    SQUARES,
    U64,
    lsb,
    north_fill,
    popcount,
    south_fill,
)
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.linear.full.term_set import EITHER, TERMS
from merino.inner.eval.linear.registry import Group
from merino.inner.eval.linear.tables import CENTER, DISTANCES, table_sum

term = TERMS.term
RANK_OF = np.array([(square >> 3) / 7 for square in SQUARES])
OUTPOST_RANKS = RANK_4 | RANKS[4] | RANK_6
SPACE = (RANK_2 | RANK_3 | RANK_4) & (FILES[2] | FILES[3] | FILES[4] | FILES[5])


@kernel
def _outposts(view):
    """Squares on ranks 4 to 6 that an own pawn guards and that no enemy pawn can ever attack."""
    return OUTPOST_RANKS & view.own.by_pawns & ~south_fill(view.enemy_by_pawns)


@term("KnightCenter", Group.BOARD_CONTROL, EITHER)
def knight_center(view):
    """A knight near the centre; in a corner it counts against."""
    return table_sum(view.knights, CENTER)


@term("KnightRank", Group.BOARD_CONTROL, EITHER)
def knight_rank(view):
    """A knight by its rank: 0 on the first, 1 on the eighth."""
    return table_sum(view.knights, RANK_OF)


@term("KnightOutpost", Group.BOARD_CONTROL, EITHER)
def knight_outpost(view):
    """A knight on ranks 4 to 6 that an own pawn guards and no enemy pawn can ever attack."""
    return popcount(view.knights & _outposts(view))


@term("KnightReach", Group.BOARD_CONTROL, EITHER)
def knight_reach(view):
    """An outpost, not occupied, that a knight attacks."""
    return popcount(view.own.by_knights & _outposts(view) & ~view.occupied)


@term("BishopCenter", Group.BOARD_CONTROL, EITHER)
def bishop_center(view):
    """A bishop near the centre; in a corner it counts against."""
    return table_sum(view.bishops, CENTER)


@term("BishopRank", Group.BOARD_CONTROL, EITHER)
def bishop_rank(view):
    """A bishop by its rank: 0 on the first, 1 on the eighth."""
    return table_sum(view.bishops, RANK_OF)


@term("BishopOutpost", Group.BOARD_CONTROL, EITHER)
def bishop_outpost(view):
    """A bishop on ranks 4 to 6 that an own pawn guards and no enemy pawn can ever attack."""
    return popcount(view.bishops & _outposts(view))


@term("MinorBehindPawn", Group.BOARD_CONTROL, EITHER)
def minor_behind_pawn(view):
    """A knight or bishop right behind a pawn of either side."""
    return popcount((view.knights | view.bishops) & ((view.pawns | view.enemy_pawns) >> U64(8)))


@term("MinorFromKing", Group.KING_SAFETY, EITHER, sign=-1)
def minor_from_king(view):
    """The steps from a knight or bishop to the own king, seven as one."""
    total, minors = 0.0, view.knights | view.bishops
    while minors:
        total += DISTANCES[lsb(minors), view.king] / 7
        minors &= minors - ONE
    return total


@term("RookRank", Group.BOARD_CONTROL, EITHER)
def rook_rank(view):
    """A rook by its rank: 0 on the first, 1 on the eighth."""
    return table_sum(view.rooks, RANK_OF)


@term("Rook7th", Group.BOARD_CONTROL, EITHER)
def rook_on_seventh(view):
    """A rook on the seventh rank."""
    return popcount(view.rooks & RANK_7)


@term("RookOpen", Group.BOARD_CONTROL, EITHER)
def rook_open(view):
    """A rook on a file without pawns."""
    return popcount(view.rooks & ~south_fill(north_fill(view.pawns | view.enemy_pawns)))


@term("RookHalfOpen", Group.BOARD_CONTROL, EITHER)
def rook_half_open(view):
    """A rook on a file with enemy pawns and without own ones."""
    own, enemy = south_fill(north_fill(view.pawns)), south_fill(north_fill(view.enemy_pawns))
    return popcount(view.rooks & ~own & enemy)


@term("RookTrapped", Group.BOARD_CONTROL, EITHER, sign=-1)
def rook_trapped(view):
    """A rook with three safe squares or fewer."""
    return view.own.trapped_rooks


@term("QueenCenter", Group.BOARD_CONTROL, EITHER)
def queen_center(view):
    """A queen near the centre; in a corner it counts against."""
    return table_sum(view.queens, CENTER)


@term("QueenRank", Group.BOARD_CONTROL, EITHER)
def queen_rank(view):
    """A queen by its rank: 0 on the first, 1 on the eighth."""
    return table_sum(view.queens, RANK_OF)


@term("KnightMobility", Group.MOBILITY, EITHER)
def knight_mobility(view):
    """The safe squares that a knight attacks: 1 for eight of them, -1 for none."""
    return view.own.knight_mobility


@term("BishopMobility", Group.MOBILITY, EITHER)
def bishop_mobility(view):
    """The safe squares that a bishop attacks: 1 for thirteen of them, -1 for none."""
    return view.own.bishop_mobility


@term("RookMobility", Group.MOBILITY, EITHER)
def rook_mobility(view):
    """The safe squares that a rook attacks: 1 for fourteen of them, -1 for none."""
    return view.own.rook_mobility


@term("QueenMobility", Group.MOBILITY, EITHER)
def queen_mobility(view):
    """The safe squares that a queen attacks: 1 for twenty-seven of them, -1 for none."""
    return view.own.queen_mobility


@term("Space", Group.BOARD_CONTROL, EITHER)
def space(view):
    """A square on ranks 2 to 4 of files c to f, behind an own pawn, that the enemy does not attack."""
    return popcount(SPACE & south_fill(view.pawns >> U64(8)) & ~view.pawns & ~view.enemy_attacked)
