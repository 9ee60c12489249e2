"""Terms of `full` that count passed pawns: no enemy pawn is ahead on their file or on those beside it."""

from merino.inner.core.board.bitboard import ONE, U64, beside, lsb, north_fill, popcount, south_fill
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.linear.full.term_set import EITHER, TERMS
from merino.inner.eval.linear.registry import Group
from merino.inner.eval.linear.tables import DISTANCES, PASSED_BY_RANK, passed_sum

term = TERMS.term


@kernel
def _steps_to(pawns, king):
    """How far the king is from the square ahead of each pawn, as a share of seven steps, times the square of its rank.

    Summed over the pawns.
    """
    total = 0.0
    while pawns:
        pawn = lsb(pawns)
        total += PASSED_BY_RANK[pawn >> 3] * DISTANCES[pawn + 8, king] / 7
        pawns &= pawns - ONE
    return total


@kernel
def _enemies(view):
    """The squares of the enemy's pieces and pawns, without the king."""
    return view.enemy_pawns | view.enemy_minors | view.enemy_rooks | view.enemy_queens


@term("PassedPawn", Group.PASSED_PAWNS, (-300, 300), pawns_only=True)
def passed_pawn(view):
    """A passed pawn, by the square of its rank; the weight would be reached on rank 8."""
    return passed_sum(view.passed)


@term("PassedFree", Group.PASSED_PAWNS, (-300, 300))
def passed_free(view):
    """A passed pawn whose next square is empty, by the square of its rank."""
    return passed_sum(view.passed & ~(view.occupied >> U64(8)))


@term("PassedSafe", Group.PASSED_PAWNS, (-300, 300))
def passed_safe(view):
    """A passed pawn whose next square the enemy does not attack, by the square of its rank."""
    return passed_sum(view.passed & ~(view.enemy_attacked >> U64(8)))


@term("PassedPath", Group.PASSED_PAWNS, (-300, 300))
def passed_path(view):
    """A passed pawn whose whole way is free of enemies and of their attacks, by the square of its rank."""
    return passed_sum(view.passed & ~south_fill((view.enemy_attacked | _enemies(view)) >> U64(8)))


@term("PassedConnected", Group.PASSED_PAWNS, (-300, 300), pawns_only=True)
def passed_connected(view):
    """A passed pawn with another on a file beside it and at most one rank away, by the square of its rank."""
    near = view.passed | view.passed << U64(8) | view.passed >> U64(8)
    return passed_sum(view.passed & beside(near))


@term("PassedEnemyKing", Group.PASSED_PAWNS, (-300, 300))
def passed_enemy_king(view):
    """The enemy king far from the square ahead of a passed pawn, times the square of its rank."""
    return _steps_to(view.passed, view.enemy_king)


@term("PassedOwnKing", Group.PASSED_PAWNS, (-300, 300), sign=-1)
def passed_own_king(view):
    """The own king far from the square ahead of a passed pawn, times the square of its rank."""
    return _steps_to(view.passed, view.king)


@term("PassedRook", Group.PASSED_PAWNS, EITHER)
def passed_rook(view):
    """A passed pawn with an own rook behind it on its file."""
    return popcount(view.passed & north_fill(view.rooks << U64(8)))


@term("PassedSquare", Group.PASSED_PAWNS, (-300, 300))
def passed_square(view):
    """A passed pawn that the bare enemy king cannot catch, by its rank: the rule of the square."""
    total = 0.0
    if view.enemy_units == 0:
        pawns = view.passed
        while pawns:
            pawn = lsb(pawns) - (0 if view.to_move else 8)
            pawns &= pawns - ONE
            rank = pawn >> 3
            files_apart = abs((pawn & 7) - (view.enemy_king & 7))
            if files_apart > 7 - rank or (view.enemy_king >> 3) < rank:
                total += rank / 6
    return total
