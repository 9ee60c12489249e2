"""The 27 terms of GreKo 2015 ML, and nothing else.

Each is a count for the side whose `VIEW` it is given: how much of this is there? Its weight (centipawns) is
applied elsewhere. Where a count curves (mobility, passed pawns), the curve is in a table here, so the evaluation
stays linear in the weights. Definitions after Vladimir Medvedev's GreKo 12.9 and 2015.
"""

import numpy as np

from merino.core.board.attacks import KNIGHT_ATTACKS, bishop_attacks, rook_attacks
from merino.core.board.bitboard import (
    ONE,
    RANK_2,
    RANK_3,
    RANK_4,
    RANK_7,
    SQUARES,
    U64,
    WHITE,
    adjacent,
    bit,
    lsb,
    north_fill,
    pawn_attacks,
    popcount,
    south_fill,
)
from merino.core.compiled.jit import kernel
from merino.eval.linear.registry import TERMS, Group, Phase
from merino.eval.linear.view import (
    CENTER,
    DISTANCES,
    FULL_CENTER,
    HALF_CENTER,
    parabola,
    passed_sum,
    squares,
    table_sum,
)

term = TERMS.term
WORTH = (0, 3000)  # bounds of a piece value
PENALTY = (-200, 0)
EITHER = (-200, 200)


OUTPOSTS = squares("d6", "e6", *(f + "5" for f in "cdef"), *(f + "4" for f in "bcdefg"))
KNIGHT_MOBILITY = np.array([parabola(int(KNIGHT_ATTACKS[s]).bit_count(), 8, 1, 2, -1) for s in SQUARES])
BISHOP_MOBILITY = np.array([parabola(count, 13, 1, 1, -1) for count in range(14)])
ROOK_MOBILITY = np.array([parabola(count, 14, 1, 2, -1) for count in range(15)])
TROPISM = np.array([parabola(distance, 7, 0, 2, 1) for distance in range(8)])
SHIELD_GAPS = np.array([parabola(gaps, 0, 0, 9, 1) for gaps in range(10)])
KING_EXPOSURE = np.array([(1, 0, 0, 1, 0, 1, 0, 1)[s] / 4 if s < 8 else (2 / 4 if s < 16 else 1.0) for s in SQUARES])


@kernel
def _passed_pawns(view):
    """Pawns with no enemy pawn on their file, before or behind, and none ahead on the adjacent files."""
    guarded = south_fill(view.enemy_pawns >> U64(8))
    return view.pawns & ~(south_fill(north_fill(view.enemy_pawns)) | adjacent(guarded))


@term("VAL_P", Group.MATERIAL, WORTH)
def pawn_value(view):
    """A pawn."""
    return popcount(view.pawns)


@term("VAL_N", Group.MATERIAL, WORTH)
def knight_value(view):
    """A knight."""
    return popcount(view.knights)


@term("VAL_B", Group.MATERIAL, WORTH)
def bishop_value(view):
    """A bishop."""
    return popcount(view.bishops)


@term("VAL_R", Group.MATERIAL, WORTH)
def rook_value(view):
    """A rook."""
    return popcount(view.rooks)


@term("VAL_Q", Group.MATERIAL, WORTH)
def queen_value(view):
    """A queen."""
    return popcount(view.queens)


@term("PawnDoubled", Group.PAWN_STRUCTURE, PENALTY, sign=-1)
def pawn_doubled(view):
    """A pawn with a friendly pawn behind it on its file."""
    return popcount(view.pawns & north_fill(view.pawns << U64(8)))


@term("PawnIsolated", Group.PAWN_STRUCTURE, PENALTY, sign=-1)
def pawn_isolated(view):
    """A pawn with no friendly pawn on the adjacent files: no pawn can ever defend it."""
    return popcount(view.pawns & ~adjacent(south_fill(north_fill(view.pawns))))


@term("PawnBackwards", Group.PAWN_STRUCTURE, PENALTY, sign=-1)
def pawn_backwards(view):
    """A pawn that is not isolated but whose neighbours have all gone ahead of it."""
    has_neighbours = adjacent(south_fill(north_fill(view.pawns)))
    has_support = adjacent(north_fill(view.pawns))
    return popcount(view.pawns & has_neighbours & ~has_support)


@term("PawnCenter", Group.PAWN_STRUCTURE, EITHER)
def pawn_center(view):
    """A pawn on d4 to e6; one on the squares around counts half."""
    return popcount(view.pawns & FULL_CENTER) + 0.5 * popcount(view.pawns & HALF_CENTER)


@term("PawnPassedFreeMax", Group.PASSED_PAWNS, (0, 300))
def pawn_passed_free(view):
    """A passed pawn whose next square is empty, by the square of its rank; the weight would be reached on rank 8."""
    passed = _passed_pawns(view)
    return passed_sum(passed & ~(view.occupied >> U64(8)))


@term("PawnPassedBlockedMax", Group.PASSED_PAWNS, (0, 300))
def pawn_passed_blocked(view):
    """A passed pawn whose next square is occupied, by the square of its rank."""
    passed = _passed_pawns(view)
    return passed_sum(passed & (view.occupied >> U64(8)))


@term("PawnPassedKingDist", Group.PASSED_PAWNS, (0, 50))
def pawn_passed_king_distance(view):
    """Steps of the enemy king to the square before a passed pawn, while the enemy has less than two rooks left."""
    total = 0
    if 0 < view.enemy_units < 10:
        passed = _passed_pawns(view)
        while passed:
            total += DISTANCES[lsb(passed) + 8, view.enemy_king]
            passed &= passed - ONE
    return total


@term("PawnPassedSquare", Group.PASSED_PAWNS, (0, 300))
def pawn_passed_square(view):
    """A passed pawn that the bare enemy king cannot catch, by its rank: the rule of the square."""
    total = 0.0
    if view.enemy_units == 0:
        passed = _passed_pawns(view)
        while passed:
            pawn = lsb(passed) - (0 if view.to_move else 8)
            passed &= passed - ONE
            rank = pawn >> 3
            files_apart = abs((pawn & 7) - (view.enemy_king & 7))
            if files_apart > 7 - rank or (view.enemy_king >> 3) < rank:
                total += rank / 6
    return total


@term("KnightCenter", Group.BOARD_CONTROL, EITHER)
def knight_center(view):
    """A knight near the centre; in a corner it counts against."""
    return table_sum(view.knights, CENTER)


@term("KnightOutpost", Group.BOARD_CONTROL, EITHER)
def knight_outpost(view):
    """A knight in the enemy's half or on its border, guarded by a friendly pawn."""
    return popcount(view.knights & OUTPOSTS & pawn_attacks(view.pawns, WHITE))


@term("KnightMobility", Group.MOBILITY, EITHER)
def knight_mobility(view):
    """The squares a knight would reach on an empty board: 1 for eight of them, -1 for two."""
    return table_sum(view.knights, KNIGHT_MOBILITY)


@term("BishopPairMidgame", Group.MATERIAL, EITHER, Phase.MIDDLEGAME)
def bishop_pair_middlegame(view):
    """Exactly two bishops, while the enemy has his pieces."""
    return 1 if popcount(view.bishops) == 2 else 0


@term("BishopPairEndgame", Group.MATERIAL, EITHER, Phase.ENDGAME)
def bishop_pair_endgame(view):
    """Exactly two bishops, when the enemy's pieces are gone."""
    return 1 if popcount(view.bishops) == 2 else 0


@term("BishopCenter", Group.BOARD_CONTROL, EITHER)
def bishop_center(view):
    """A bishop near the centre; in a corner it counts against."""
    return table_sum(view.bishops, CENTER)


@term("BishopMobility", Group.MOBILITY, EITHER)
def bishop_mobility(view):
    """The squares a bishop attacks, blockers included: 1 for thirteen of them, -1 for one."""
    total, bishops = 0.0, view.bishops
    while bishops:
        total += BISHOP_MOBILITY[popcount(bishop_attacks(lsb(bishops), view.occupied))]
        bishops &= bishops - ONE
    return total


@term("Rook7th", Group.BOARD_CONTROL, EITHER)
def rook_on_seventh(view):
    """A rook on the seventh rank."""
    return popcount(view.rooks & RANK_7)


@term("RookOpen", Group.BOARD_CONTROL, EITHER)
def rook_open(view):
    """A rook on a file without friendly pawns."""
    return popcount(view.rooks & ~south_fill(north_fill(view.pawns)))


@term("RookMobility", Group.MOBILITY, EITHER)
def rook_mobility(view):
    """The squares a rook attacks, looking through own rooks: 1 for fourteen of them, -1 for two."""
    total, rooks = 0.0, view.rooks
    while rooks:
        total += ROOK_MOBILITY[popcount(rook_attacks(lsb(rooks), view.occupied ^ view.rooks))]
        rooks &= rooks - ONE
    return total


@term("QueenKingTropism", Group.KING_SAFETY, EITHER)
def queen_king_tropism(view):
    """A queen near the enemy king: 1 at two steps from him, 0 at seven."""
    total, queens = 0.0, view.queens
    while queens:
        total += TROPISM[DISTANCES[lsb(queens), view.enemy_king]]
        queens &= queens - ONE
    return total


@term("KingCenterMid", Group.KING_SAFETY, EITHER, Phase.MIDDLEGAME, sign=-1)
def king_exposed(view):
    """The king off his first rank, half on the second, a quarter on a1, d1, f1, h1; while the enemy has his pieces."""
    return KING_EXPOSURE[view.king]


@term("KingCenterEnd", Group.BOARD_CONTROL, EITHER, Phase.ENDGAME)
def king_center(view):
    """The king near the centre when the enemy's pieces are gone."""
    return CENTER[view.king]


@term("KingPawnShield", Group.KING_SAFETY, (0, 300), Phase.MIDDLEGAME)
def king_shield_gaps(view):
    """Missing or advanced pawns on the king's and the adjacent files; it counts against its side."""
    king_file = bit(view.king & 7)
    near_king = king_file | adjacent(king_file)
    second = view.pawns & RANK_2
    third = view.pawns & RANK_3 | second << U64(8)
    fourth = view.pawns & RANK_4 | third << U64(8)
    shields = (
        popcount(second >> U64(8) & near_king)
        + popcount(third >> U64(16) & near_king)
        + popcount(fourth >> U64(24) & near_king)
    )
    return -SHIELD_GAPS[9 - shields]  # three files of three; a file off the board has no shield
