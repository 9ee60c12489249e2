"""Terms of `full` that count what may be taken, and which squares are contested."""

from merino.core.board.attacks import KING_ATTACKS
from merino.core.board.bitboard import U64, WHITE, ZERO, pawn_attacks, popcount
from merino.core.compiled.jit import kernel
from merino.eval.linear.full.view import EITHER, TERMS, enemies, enemy_pieces
from merino.eval.linear.registry import Group

term, table = TERMS.term, TERMS.table
GUARDS = ("loose", "guarded", "by_pawn")  # of a target: nobody, a piece or king but no pawn, or a pawn
TARGETS = (*(f"{kind}_{guard}" for kind in ("minor", "rook", "queen") for guard in GUARDS), "pawn_loose")
LOOSE_PAWN = len(TARGETS) - 1
LOOSE = ("pawn", "minor", "rook", "queen")


@kernel
def _by_target(attacks, view, at, cells):
    """The total of a table by what of the enemy's is attacked and by what guards it: a cell for each target of a set.

    In the order of TARGETS. Pawns that somebody guards are no targets.
    """
    total, targets = 0.0, attacks & (enemy_pieces(view) | view.enemy_pawns & ~view.enemy_attacked)
    while targets:
        target = targets & (ZERO - targets)
        targets ^= target
        kind = 0 if target & view.enemy_minors else 1 if target & view.enemy_rooks else 2
        guard = 1 if target & view.enemy_attacked else 0
        guard = 2 if target & view.enemy_by_pawns else guard
        total += at(cells, LOOSE_PAWN if target & view.enemy_pawns else 3 * kind + guard, 1.0)
    return total


@table("PawnThreat", Group.THREATS, EITHER, TARGETS)
def pawn_threat(view, at, cells):
    """What a pawn attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _by_target(view.own.by_pawns, view, at, cells)


@table("KnightThreat", Group.THREATS, EITHER, TARGETS)
def knight_threat(view, at, cells):
    """What a knight attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _by_target(view.own.by_knights, view, at, cells)


@table("BishopThreat", Group.THREATS, EITHER, TARGETS)
def bishop_threat(view, at, cells):
    """What a bishop attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _by_target(view.own.by_bishops, view, at, cells)


@table("RookThreat", Group.THREATS, EITHER, TARGETS)
def rook_threat(view, at, cells):
    """What a rook attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _by_target(view.own.by_rooks, view, at, cells)


@kernel
def _by_loose(attacks, view, at, cells):
    """The total of a table by what of the enemy's is attacked and nobody guards, in the order of LOOSE."""
    total, found = 0.0, attacks & ~view.enemy_attacked
    if found & enemies(view):
        total += at(cells, 0, popcount(found & view.enemy_pawns))
        total += at(cells, 1, popcount(found & view.enemy_minors))
        total += at(cells, 2, popcount(found & view.enemy_rooks))
        total += at(cells, 3, popcount(found & view.enemy_queens))
    return total


@table("QueenThreat", Group.THREATS, EITHER, LOOSE)
def queen_threat(view, at, cells):
    """What a queen attacks and nobody guards, by its kind."""
    return _by_loose(view.own.by_queens, view, at, cells)


@table("KingThreat", Group.THREATS, EITHER, LOOSE)
def king_threat(view, at, cells):
    """What the king attacks and nobody guards, by its kind."""
    return _by_loose(KING_ATTACKS[view.king], view, at, cells)


@term("ThreatByPush", Group.THREATS, EITHER)
def threat_by_push(view):
    """An enemy piece that a pawn would attack after a step to a square that no enemy pawn attacks."""
    steps = (view.pawns << U64(8)) & ~view.occupied & ~view.enemy_by_pawns
    return popcount(pawn_attacks(steps, WHITE) & enemy_pieces(view))


@term("Hanging", Group.THREATS, EITHER)
def hanging(view):
    """An enemy piece that is attacked and that nobody guards."""
    return popcount(view.own.attacked & enemy_pieces(view) & ~view.enemy_attacked)


@term("Contested", Group.BOARD_CONTROL, EITHER)
def contested(view):
    """A square that both sides attack, and no enemy pawn."""
    return popcount(view.own.attacked & view.enemy_attacked & ~view.enemy_by_pawns)


@term("Controlled", Group.BOARD_CONTROL, EITHER)
def controlled(view):
    """A square that only the own side attacks."""
    return popcount(view.own.attacked & ~view.enemy_attacked)
