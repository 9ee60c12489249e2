"""The static evaluation: the only call from the search to an evaluation, and the scaling of its score.

The search does not know which family answers. The score is scaled toward 0 for leads that do not win an ending, and as
the fifty-move rule approaches. Without that the search trades the last pawns for a rook and knight against a rook,
believes in four pawns' worth of advantage, and shuffles until the game is drawn.
"""

from merino.core.board.bitboard import BLACK, PAWN, WHITE, ZERO
from merino.core.compiled.calls import call_evaluation
from merino.core.compiled.jit import kernel
from merino.eval.draws import BISHOP_UNITS, final_score
from merino.eval.material import units

_RULE50_PLIES = 256  # plies without progress at which a score would be scaled to 0; at 100 the game is drawn
_MINOR_UP_DIVISOR = 4  # of a lead of at most a minor piece if both sides have more than that
_MINOR_FOE_DIVISOR = 16  # if the other side has at most a minor piece, which is drawn even more easily


@kernel
def endgame_scaling(position, score):
    """The evaluation's `score` for the side to move, scaled toward 0 if a lead in pieces no longer wins.

    Without pawns a win needs a lead of more than a minor piece: rook and knight against rook, or rook against bishop,
    are usually drawn.
    """
    strong = WHITE if (score > 0) == (position.side == WHITE) else BLACK
    if score == 0 or position.pieces[PAWN] & position.colours[strong] != ZERO:
        return score
    own, foe = units(position, strong), units(position, 1 - strong)
    if own > foe + BISHOP_UNITS:
        return score
    return score // _MINOR_FOE_DIVISOR if foe <= BISHOP_UNITS else score // _MINOR_UP_DIVISOR


@kernel
def rule50_scaling(position, score):
    """A static evaluation scaled down as the fifty-move rule approaches, so that the search makes progress."""
    return score * (_RULE50_PLIES - position.halfmove) // _RULE50_PLIES


@kernel
def static_evaluation(s, ply):
    """The evaluation of the position at `ply` in centipawns for the side to move, int64: draws and endings known."""
    position = s.positions[ply]
    return endgame_scaling(position, final_score(position, call_evaluation(s.evaluation, s, ply)))
