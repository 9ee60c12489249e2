"""Terms of `full` that count pawns which are not passed: their chains, their weaknesses, their places."""

import numpy as np

from merino.inner.core.board.bitboard import ONE, SQUARES, U64, beside, north_fill, popcount, south_fill
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.linear.full.term_set import EITHER, TERMS
from merino.inner.eval.linear.registry import Group
from merino.inner.eval.linear.tables import FULL_CENTER, HALF_CENTER, passed_sum, table_sum

term = TERMS.term
ADVANCE = np.array([((square >> 3) - 1) / 5 for square in SQUARES])
FILE_CENTER = np.array([min(square & 7, 7 - (square & 7)) / 3 for square in SQUARES])


@kernel
def _open_ahead(pawns, enemy_pawns):
    """Those of the pawns with no enemy pawn ahead on their file."""
    return pawns & ~south_fill(enemy_pawns >> U64(8))


@kernel
def _isolated(pawns):
    """Pawns with no own pawn on the files beside them."""
    return pawns & ~beside(south_fill(north_fill(pawns)))


@term("PawnDoubled", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_only=True)
def pawn_doubled(view):
    """A pawn with an own pawn behind it on its file."""
    return popcount(view.pawns & north_fill(view.pawns << U64(8)))


@term("PawnIsolated", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_only=True)
def pawn_isolated(view):
    """A pawn with no own pawn on the files beside it."""
    return popcount(_isolated(view.pawns))


@term("PawnIsolatedOpen", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_only=True)
def pawn_isolated_open(view):
    """An isolated pawn with no enemy pawn ahead on its file, so that rooks can attack it."""
    return popcount(_open_ahead(_isolated(view.pawns), view.enemy_pawns))


@term("PawnBackward", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_only=True)
def pawn_backward(view):
    """A pawn that no own pawn can support and that an enemy pawn hinders from a step."""
    has_support = beside(north_fill(view.pawns))
    return popcount(view.pawns & ~_isolated(view.pawns) & ~has_support & (view.enemy_by_pawns >> U64(8)))


@term("PawnPhalanx", Group.PAWN_STRUCTURE, EITHER, pawns_only=True)
def pawn_phalanx(view):
    """A pawn with an own pawn beside it, by the square of its rank."""
    return passed_sum(view.pawns & beside(view.pawns))


@term("PawnSupported", Group.PAWN_STRUCTURE, EITHER, pawns_only=True)
def pawn_supported(view):
    """A pawn guarded by an own pawn, by the square of its rank."""
    return passed_sum(view.pawns & view.own.by_pawns)


@term("PawnIslands", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_only=True)
def pawn_islands(view):
    """A group of own pawns on neighbouring files."""
    files = south_fill(view.pawns) & U64(0xFF)
    return popcount(files & ~(files << ONE))


@term("PawnCandidate", Group.PASSED_PAWNS, EITHER, pawns_only=True)
def pawn_candidate(view):
    """A pawn, not passed, with no enemy pawn ahead on its file and an own pawn beside or guarding it, by its rank."""
    near = view.own.by_pawns | beside(view.pawns)
    return passed_sum(_open_ahead(view.pawns & ~view.passed & near, view.enemy_pawns))


@term("PawnCenter", Group.PAWN_STRUCTURE, EITHER, pawns_only=True)
def pawn_center(view):
    """A pawn on d4 to e6; one on the squares around counts half."""
    return popcount(view.pawns & FULL_CENTER) + 0.5 * popcount(view.pawns & HALF_CENTER)


@term("PawnAdvance", Group.PAWN_STRUCTURE, EITHER, pawns_only=True)
def pawn_advance(view):
    """A pawn by its rank: 0 on the second, 1 on the seventh."""
    return table_sum(view.pawns, ADVANCE)


@term("PawnFile", Group.PAWN_STRUCTURE, EITHER, pawns_only=True)
def pawn_file(view):
    """A pawn by its file: 0 on the a- and h-file, 1 on the d- and e-file."""
    return table_sum(view.pawns, FILE_CENTER)
