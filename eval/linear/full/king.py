"""Terms of `full` that count the safety of the own king, the attack on the enemy's, and where the king stands."""

import numpy as np

from merino.inner.core.board.attacks import KING_ATTACKS, KNIGHT_ATTACKS, bishop_attacks, rook_attacks
from merino.inner.core.board.bitboard import (
    FILES,
    ONE,
    RANK_2,
    RANK_3,
    RANK_4,
    RANK_6,
    RANKS,
    U64,
    ZERO,
    beside,
    bit,
    lsb,
    north_fill,
    popcount,
    south_fill,
)
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.linear.full.term_set import EITHER, TERMS
from merino.inner.eval.linear.registry import Group
from merino.inner.eval.linear.tables import CENTER, DISTANCES, parabola

term = TERMS.term
MAX_UNITS = 40  # of an attack on the king; more count as so many
CHECK = 3  # units that a safe check adds
ATTACK = np.array([parabola(units, 0, 0, MAX_UNITS, 1) for units in range(MAX_UNITS + 1)])
TROPISM = np.array([parabola(distance, 7, 0, 1, 1) for distance in range(8)])
QUEENSIDE = FILES[0] | FILES[1] | FILES[2] | FILES[3]


@kernel
def _king_files(king):
    """The files of the king and beside it, the whole of them."""
    file = bit(king & 7)
    return north_fill(file | beside(file))


@kernel
def _unguarded(view):
    """Squares from which a check is safe: the enemy does not attack them and no own piece is there."""
    own = view.pawns | view.knights | view.bishops | view.rooks | view.queens | bit(view.king)
    return ~(view.enemy_attacked | own)


@term("KingRing", Group.KING_SAFETY, EITHER)
def king_ring(view):
    """A square beside the enemy king, for each piece that attacks it."""
    return view.own.ring_hits


@term("KingRingWeak", Group.KING_SAFETY, EITHER)
def king_ring_weak(view):
    """A square beside the enemy king that is attacked and that only the king guards."""
    return popcount(KING_ATTACKS[view.enemy_king] & view.own.attacked & ~view.enemy_attacked_twice)


@term("SafeKnightCheck", Group.KING_SAFETY, EITHER)
def safe_knight_check(view):
    """A square from which a knight could give check and where the enemy attacks nothing."""
    return popcount(KNIGHT_ATTACKS[view.enemy_king] & view.own.by_knights & _unguarded(view))


@term("SafeBishopCheck", Group.KING_SAFETY, EITHER)
def safe_bishop_check(view):
    """A square from which a bishop could give check and where the enemy attacks nothing."""
    return popcount(bishop_attacks(view.enemy_king, view.occupied) & view.own.by_bishops & _unguarded(view))


@term("SafeRookCheck", Group.KING_SAFETY, EITHER)
def safe_rook_check(view):
    """A square from which a rook could give check and where the enemy attacks nothing."""
    return popcount(rook_attacks(view.enemy_king, view.occupied) & view.own.by_rooks & _unguarded(view))


@term("SafeQueenCheck", Group.KING_SAFETY, EITHER)
def safe_queen_check(view):
    """A square from which a queen could give check and where the enemy attacks nothing."""
    lines = bishop_attacks(view.enemy_king, view.occupied) | rook_attacks(view.enemy_king, view.occupied)
    return popcount(lines & view.own.by_queens & _unguarded(view))


@term("KingAttack", Group.KING_SAFETY, EITHER)
def king_attack(view):
    """An attack on the enemy king by two pieces or more: the square of a sum of attackers, squares and checks."""
    if view.own.ring_attackers < 2:
        return 0.0
    checks = safe_knight_check(view) + safe_bishop_check(view) + safe_rook_check(view) + safe_queen_check(view)
    units = view.own.ring_units + view.own.ring_hits + king_ring_weak(view) + CHECK * checks
    return ATTACK[min(units, MAX_UNITS)]


@term("QueenTropism", Group.KING_SAFETY, EITHER)
def queen_tropism(view):
    """A queen near the enemy king: 1 beside him, 0 at seven steps."""
    total, queens = 0.0, view.queens
    while queens:
        total += TROPISM[DISTANCES[lsb(queens), view.enemy_king]]
        queens &= queens - ONE
    return total


@term("KingShelter", Group.KING_SAFETY, EITHER)
def king_shelter(view):
    """An own pawn on the second rank on the files of the king and beside him; on the third it counts half."""
    near = _king_files(view.king)
    return popcount(view.pawns & RANK_2 & near) + 0.5 * popcount(view.pawns & RANK_3 & near)


@term("KingOpenFiles", Group.KING_SAFETY, EITHER, sign=-1)
def king_open_files(view):
    """A file of the king or beside him without own pawns."""
    return popcount(_king_files(view.king) & U64(0xFF) & ~south_fill(view.pawns))


@term("KingStorm", Group.KING_SAFETY, EITHER, sign=-1)
def king_storm(view):
    """An enemy pawn on the files of the king and beside him, on ranks 2 to 6; on ranks 2 to 4 it counts twice."""
    storm = view.enemy_pawns & _king_files(view.king)
    near = RANK_2 | RANK_3 | RANK_4
    return 2 * popcount(storm & near) + popcount(storm & (RANKS[4] | RANK_6))


@term("KingFlank", Group.KING_SAFETY, EITHER, sign=-1)
def king_flank(view):
    """No pawn of either side on the king's half of the board."""
    half = QUEENSIDE if bit(view.king) & QUEENSIDE != ZERO else ~QUEENSIDE
    return 1 if (view.pawns | view.enemy_pawns) & half == ZERO else 0


@term("KingRank", Group.BOARD_CONTROL, EITHER)
def king_rank(view):
    """The king by his rank: 0 on the first, 1 on the eighth."""
    return (view.king >> 3) / 7


@term("KingCenter", Group.BOARD_CONTROL, EITHER)
def king_center(view):
    """The king near the centre; in a corner it counts against."""
    return CENTER[view.king]
