"""Terms of `full` that count what may be taken, and which squares are contested."""

from merino.inner.core.board.attacks import KING_ATTACKS
from merino.inner.core.board.bitboard import U64, WHITE, pawn_attacks, popcount
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.linear.full.term_set import EITHER, TERMS
from merino.inner.eval.linear.registry import Group

term = TERMS.term


@kernel
def _enemy_pieces(view):
    """The enemy's knights, bishops, rooks and queens."""
    return view.enemy_minors | view.enemy_rooks | view.enemy_queens


@kernel
def _by_minors(view):
    """What own knights and bishops attack."""
    return view.own.by_knights | view.own.by_bishops


@term("ThreatByPawn", Group.THREATS, EITHER)
def threat_by_pawn(view):
    """An enemy piece that a pawn attacks."""
    return popcount(view.own.by_pawns & _enemy_pieces(view))


@term("ThreatByPush", Group.THREATS, EITHER)
def threat_by_push(view):
    """An enemy piece that a pawn would attack after a step to a square that no enemy pawn attacks."""
    steps = (view.pawns << U64(8)) & ~view.occupied & ~view.enemy_by_pawns
    return popcount(pawn_attacks(steps, WHITE) & _enemy_pieces(view))


@term("ThreatByMinor", Group.THREATS, EITHER)
def threat_by_minor(view):
    """An enemy rook or queen that a knight or bishop attacks."""
    return popcount(_by_minors(view) & (view.enemy_rooks | view.enemy_queens))


@term("ThreatOnMinor", Group.THREATS, EITHER)
def threat_on_minor(view):
    """An enemy knight or bishop that no pawn guards and that a knight, bishop or rook attacks."""
    return popcount((_by_minors(view) | view.own.by_rooks) & view.enemy_minors & ~view.enemy_by_pawns)


@term("ThreatByRook", Group.THREATS, EITHER)
def threat_by_rook(view):
    """An enemy queen that a rook attacks."""
    return popcount(view.own.by_rooks & view.enemy_queens)


@term("ThreatByKing", Group.THREATS, EITHER)
def threat_by_king(view):
    """An enemy piece or pawn that nobody guards and that the king attacks."""
    found = KING_ATTACKS[view.king] & (_enemy_pieces(view) | view.enemy_pawns)
    return popcount(found & ~view.enemy_attacked)


@term("Hanging", Group.THREATS, EITHER)
def hanging(view):
    """An enemy piece that is attacked and that nobody guards."""
    return popcount(view.own.attacked & _enemy_pieces(view) & ~view.enemy_attacked)


@term("WeakPawns", Group.THREATS, EITHER)
def weak_pawns(view):
    """An enemy pawn that is attacked and that no pawn guards."""
    return popcount(view.own.attacked & view.enemy_pawns & ~view.enemy_by_pawns)


@term("Contested", Group.BOARD_CONTROL, EITHER)
def contested(view):
    """A square that both sides attack, and no enemy pawn."""
    return popcount(view.own.attacked & view.enemy_attacked & ~view.enemy_by_pawns)


@term("Controlled", Group.BOARD_CONTROL, EITHER)
def controlled(view):
    """A square that only the own side attacks."""
    return popcount(view.own.attacked & ~view.enemy_attacked)
