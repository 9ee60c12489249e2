"""Terms of `full` that count passed pawns: no enemy pawn is ahead on their file or an adjacent one."""

from merino.core.board.bitboard import ONE, U64, adjacent, lsb, north_fill, popcount, south_fill
from merino.core.compiled.jit import kernel
from merino.eval.linear.full.pawns import BY_RANK, RANKS_OF_PAWNS
from merino.eval.linear.full.view import EITHER, TERMS, enemies
from merino.eval.linear.registry import Group
from merino.eval.linear.view import DISTANCES, cell_total, passed_sum

term, table = TERMS.term, TERMS.table
FIRST_RANK, FAR = 3, 5  # pawns on lower ranks count as on this one, here from 0, and more steps as so many
STEPS = tuple(f"rank{rank + 1}_steps{steps}" for rank in range(FIRST_RANK, 7) for steps in range(FAR + 1))


@kernel
def _by_steps(pawns, king, at, cells):
    """The total of a table by the rank of each pawn, and by how far the king is from the square ahead of it."""
    total = 0.0
    while pawns:
        pawn = lsb(pawns)
        rank, steps = max(pawn >> 3, FIRST_RANK), min(DISTANCES[pawn + 8, king], FAR)
        total += at(cells, (FAR + 1) * (rank - FIRST_RANK) + steps, 1.0)
        pawns &= pawns - ONE
    return total


@table("PassedPawn", Group.PASSED_PAWNS, (-300, 300), RANKS_OF_PAWNS, pawns_and_kings=True)
def passed_pawn(view, at, cells):
    """A passed pawn, by its rank."""
    return cell_total(view.passed, BY_RANK, at, cells)


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
    return passed_sum(view.passed & ~south_fill((view.enemy_attacked | enemies(view)) >> U64(8)))


@term("PassedConnected", Group.PASSED_PAWNS, (-300, 300), pawns_and_kings=True)
def passed_connected(view):
    """A passed pawn with another on an adjacent file and at most one rank away, by the square of its rank."""
    near = view.passed | view.passed << U64(8) | view.passed >> U64(8)
    return passed_sum(view.passed & adjacent(near))


@table("PassedEnemyKing", Group.PASSED_PAWNS, (-300, 300), STEPS, pawns_and_kings=True, counts="PassedPawn")
def passed_enemy_king(view, at, cells):
    """A passed pawn by its rank, 4 and lower as one, and by how many steps the enemy king is from the square ahead."""
    return _by_steps(view.passed, view.enemy_king, at, cells)


@table("PassedOwnKing", Group.PASSED_PAWNS, (-300, 300), STEPS, pawns_and_kings=True, counts="PassedPawn")
def passed_own_king(view, at, cells):
    """A passed pawn by its rank, 4 and lower as one, and by how many steps its own king is from the square ahead."""
    return _by_steps(view.passed, view.king, at, cells)


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
