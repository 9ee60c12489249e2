"""Terms of `full` that count the safety of the own king and the attack on the enemy's."""

import numpy as np

from merino.core.board import attacks
from merino.core.board.bitboard import FILES, ONE, ZERO, bit, lsb, popcount
from merino.core.compiled.jit import kernel
from merino.eval.linear.full.view import EITHER, TERMS, UNLIMITED
from merino.eval.linear.registry import Group
from merino.eval.linear.view import DISTANCES, parabola

term, table = TERMS.term, TERMS.table
MIN_UNITS, MAX_UNITS, UNITS_A_CELL = 6, 30, 3  # of an attack on the king; more count as so many
CHECK = 3  # units that a safe check adds
TROPISM = np.array([parabola(distance, 7, 0, 1, 1) for distance in range(8)])
UNITS = tuple(map(str, range(MIN_UNITS, MAX_UNITS + 1, UNITS_A_CELL)))
RANK_NAMES = ("none", *(f"rank{rank}" for rank in range(2, 8)))
OF_FILE = len(RANK_NAMES)
SHELTER = tuple(f"{file}_{rank}" for file in "abcd" for rank in RANK_NAMES)
STORM = (*SHELTER, *(f"blocked_{rank}" for rank in RANK_NAMES[2:]))
QUEENSIDE = FILES[0] | FILES[1] | FILES[2] | FILES[3]


@kernel
def _nearest(pawns, king, file):
    """The rank, from 0, of the nearest of these pawns on a file that is not behind the king; 0 without one."""
    found = pawns & FILES[file] & ~(bit(king & 56) - ONE)
    return lsb(found) >> 3 if found else 0


@kernel
def _files_of(king):
    """The first and the last of the files of a king and the adjacent files."""
    return max((king & 7) - 1, 0), min((king & 7) + 1, 7)


@kernel
def _place(file, rank):
    """The cell of SHELTER for a file and the rank of the nearest pawn on it."""
    return OF_FILE * min(file, 7 - file) + rank


@kernel
def _unguarded(view):
    """Squares from which a check is safe: the enemy does not attack them and no own piece is there."""
    own = view.pawns | view.knights | view.bishops | view.rooks | view.queens | bit(view.king)
    return ~(view.enemy_attacked | own)


@term("KingRing", Group.KING_SAFETY, EITHER)
def king_ring(view):
    """A square next to the enemy king, for each piece that attacks it."""
    return view.own.ring_hits


@term("KingRingWeak", Group.KING_SAFETY, EITHER)
def king_ring_weak(view):
    """A square next to the enemy king that is attacked and that only the king guards."""
    return popcount(attacks.KING_ATTACKS[view.enemy_king] & view.own.attacked & ~view.enemy_attacked_twice)


@term("SafeKnightCheck", Group.KING_SAFETY, EITHER)
def safe_knight_check(view):
    """A square from which a knight could give check and where the enemy attacks nothing."""
    return popcount(attacks.KNIGHT_ATTACKS[view.enemy_king] & view.own.by_knights & _unguarded(view))


@term("SafeBishopCheck", Group.KING_SAFETY, EITHER)
def safe_bishop_check(view):
    """A square from which a bishop could give check and where the enemy attacks nothing."""
    return popcount(attacks.bishop_attacks(view.enemy_king, view.occupied) & view.own.by_bishops & _unguarded(view))


@term("SafeRookCheck", Group.KING_SAFETY, EITHER)
def safe_rook_check(view):
    """A square from which a rook could give check and where the enemy attacks nothing."""
    return popcount(attacks.rook_attacks(view.enemy_king, view.occupied) & view.own.by_rooks & _unguarded(view))


@term("SafeQueenCheck", Group.KING_SAFETY, EITHER)
def safe_queen_check(view):
    """A square from which a queen could give check and where the enemy attacks nothing."""
    lines = attacks.queen_attacks(view.enemy_king, view.occupied)
    return popcount(lines & view.own.by_queens & _unguarded(view))


@table("KingAttack", Group.KING_SAFETY, UNLIMITED, UNITS)
def king_attack(view, at, cells):
    """An attack on the enemy king by two pieces or more, by a sum of attackers, squares and checks."""
    if view.own.ring_attackers < 2:
        return 0.0
    checks = safe_knight_check(view) + safe_bishop_check(view) + safe_rook_check(view) + safe_queen_check(view)
    units = view.own.ring_units + view.own.ring_hits + king_ring_weak(view) + CHECK * checks
    return at(cells, (min(units, MAX_UNITS) - MIN_UNITS) // UNITS_A_CELL, 1.0)


@term("QueenTropism", Group.KING_SAFETY, EITHER)
def queen_tropism(view):
    """A queen near the enemy king: 1 next to him, 0 at seven steps."""
    total, queens = 0.0, view.queens
    while queens:
        total += TROPISM[DISTANCES[lsb(queens), view.enemy_king]]
        queens &= queens - ONE
    return total


@table("KingShelter", Group.KING_SAFETY, EITHER, SHELTER, pawns_and_kings=True)
def king_shelter(view, at, cells):
    """The nearest friendly pawn ahead of or level with the king, on his and each adjacent file, by file and rank."""
    total, (first, last) = 0.0, _files_of(view.king)
    for file in range(first, last + 1):
        total += at(cells, _place(file, _nearest(view.pawns, view.king, file)), 1.0)
    return total


@table("KingStorm", Group.KING_SAFETY, EITHER, STORM, pawns_and_kings=True)
def king_storm(view, at, cells):
    """The nearest enemy pawn ahead of the king on his and each adjacent file, by file and rank; by rank if blocked."""
    total, (first, last) = 0.0, _files_of(view.king)
    for file in range(first, last + 1):
        own, enemy = _nearest(view.pawns, view.king, file), _nearest(view.enemy_pawns, view.king, file)
        is_blocked = own > 0 and own == enemy - 1
        place = enemy - 2 + len(SHELTER) if is_blocked else _place(file, enemy)
        total += at(cells, place, 1.0)
    return total


@term("KingFlank", Group.KING_SAFETY, EITHER, sign=-1, pawns_and_kings=True)
def king_flank(view):
    """No pawn of either side on the king's half of the board."""
    half = QUEENSIDE if bit(view.king) & QUEENSIDE != ZERO else ~QUEENSIDE
    return 1 if (view.pawns | view.enemy_pawns) & half == ZERO else 0
