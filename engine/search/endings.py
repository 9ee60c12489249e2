"""What the search knows of endings and the evaluation does not: leads that do not win, and the nearing fifty-move rule.

Both draw a static score toward 0. Without them the search trades the last pawns for a rook and knight against a rook,
believes in four pawns' worth of advantage, and shuffles until the game is drawn.
"""

from engine.board.bitboard import BISHOP, BLACK, PAWN, WHITE, ZERO
from engine.board.position import pieces_of
from engine.compiled.jit import kernel
from eval.draws import BISHOP_UNITS
from eval.material import units

_FADING = 256  # half-moves without progress at which nothing would be left of a score


@kernel
def tempered(position, score):
    """The evaluation's `score` for the side to move, drawn toward 0 where a lead in pieces wins no more.

    Without pawns one needs more than a minor piece more: rook and knight against a rook, or a rook against a bishop,
    are drawn as a rule. Two knights mate nobody.
    """
    pawns = position.pieces[PAWN]
    strong = WHITE if (score > 0) == (position.side == WHITE) else BLACK
    if score == 0 or pawns & position.colours[strong] != ZERO:
        return score
    own, foe = units(position, strong), units(position, 1 - strong)
    if pawns == ZERO and own == 2 * BISHOP_UNITS and pieces_of(position, strong, BISHOP) == ZERO:
        return 0
    if own > foe + BISHOP_UNITS:
        return score
    return score // 16 if foe <= BISHOP_UNITS else score // 4


@kernel
def faded(position, score):
    """A static score the smaller, the nearer the fifty-move rule: there is time to make progress before it."""
    return score * (_FADING - position.halfmove) // _FADING
