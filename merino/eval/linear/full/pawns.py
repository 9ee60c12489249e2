"""Terms of `full` that count pawns which are not passed: their chains and their weaknesses."""

import numpy as np

from merino.core.board.bitboard import ONE, SQUARES, U64, adjacent, north_fill, popcount, south_fill
from merino.core.compiled.jit import kernel
from merino.eval.linear.full.view import EITHER, TERMS
from merino.eval.linear.registry import Group
from merino.eval.linear.view import cell_total, passed_sum

term, table = TERMS.term, TERMS.table
RANKS_OF_PAWNS = tuple(f"rank{rank}" for rank in range(2, 8))
BY_RANK = np.array([(square >> 3) - 1 for square in SQUARES])  # the cell of a pawn, from the second rank on
BY_RANK_FROM_3 = BY_RANK - 1


@kernel
def _open_ahead(pawns, enemy_pawns):
    """Those of the pawns with no enemy pawn ahead on their file."""
    return pawns & ~south_fill(enemy_pawns >> U64(8))


@kernel
def _isolated(pawns):
    """Pawns with no friendly pawn on the adjacent files."""
    return pawns & ~adjacent(south_fill(north_fill(pawns)))


@term("PawnDoubled", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_doubled(view):
    """A pawn with a friendly pawn behind it on its file."""
    return popcount(view.pawns & north_fill(view.pawns << U64(8)))


@term("PawnIsolated", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_isolated(view):
    """A pawn with no friendly pawn on the adjacent files."""
    return popcount(_isolated(view.pawns))


@term("PawnIsolatedOpen", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_isolated_open(view):
    """An isolated pawn with no enemy pawn ahead on its file, so that rooks can attack it."""
    return popcount(_open_ahead(_isolated(view.pawns), view.enemy_pawns))


@term("PawnBackward", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_backward(view):
    """A pawn that no friendly pawn can support and that an enemy pawn hinders from a step."""
    has_support = adjacent(north_fill(view.pawns))
    return popcount(view.pawns & ~_isolated(view.pawns) & ~has_support & (view.enemy_by_pawns >> U64(8)))


@table("PawnPhalanx", Group.PAWN_STRUCTURE, EITHER, RANKS_OF_PAWNS, pawns_and_kings=True)
def pawn_phalanx(view, at, cells):
    """A pawn with a friendly pawn next to it, by its rank."""
    return cell_total(view.pawns & adjacent(view.pawns), BY_RANK, at, cells)


@table("PawnSupported", Group.PAWN_STRUCTURE, EITHER, RANKS_OF_PAWNS[1:], pawns_and_kings=True)
def pawn_supported(view, at, cells):
    """A pawn guarded by a friendly pawn, by its rank."""
    return cell_total(view.pawns & view.own.by_pawns, BY_RANK_FROM_3, at, cells)


@term("PawnIslands", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_islands(view):
    """A group of friendly pawns on neighbouring files."""
    files = south_fill(view.pawns) & U64(0xFF)
    return popcount(files & ~(files << ONE))


@term("PawnCandidate", Group.PASSED_PAWNS, EITHER, pawns_and_kings=True)
def pawn_candidate(view):
    """A pawn, not passed, no enemy pawn ahead on its file, a friendly pawn next to or guarding it, by its rank."""
    near = view.own.by_pawns | adjacent(view.pawns)
    return passed_sum(_open_ahead(view.pawns & ~view.passed & near, view.enemy_pawns))
