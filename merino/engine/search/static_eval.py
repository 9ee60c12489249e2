"""The static evaluation of a node: the only call from the search to an evaluation, its scaling, and its correction.

The search does not know which family answers. The score is scaled toward 0 for leads that do not win an ending, and as
the fifty-move rule approaches. Without that the search trades the last pawns for a rook and knight against a rook,
believes in four pawns' worth of advantage, and shuffles until the game is drawn.

The correction history knows how far off the static evaluation was in similar positions, according to the search.
Similar positions have the same pawns, the same other pieces of a side, or the same last move. Each has an entry, for
the side to move, that follows the error: score of the search minus static evaluation. The weighted sum of the entries
is added to the next static evaluation. The threads of a search share the entries.
"""

import numpy as np

from merino.core.board.bitboard import BISHOP, BLACK, KING, KNIGHT, PAWN, QUEEN, ROOK, U64, WHITE, ZERO
from merino.core.board.position import side_to_move
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import array_at, call_evaluation
from merino.engine.search.history import piece_to_before
from merino.engine.search.limits import KNOWN_WIN
from merino.engine.search.state import CORRECTION_BITS, NO_SCORE, PIECE_TO, SEARCH
from merino.engine.search.transposition import entry_static_eval
from merino.eval.material import BISHOP_UNITS, final_score, units

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


_LIMIT_BITS = 10  # gravity keeps every entry within 2 ** _LIMIT_BITS
_MAX_BONUS = 256  # so that one surprise cannot fill an entry
_BONUS_DIVISOR = 8  # of error times depth
_SHIFT = U64(64 - CORRECTION_BITS)
# odd numbers without a pattern, one per piece, so that sums of products spread evenly
_KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = (
    U64(factor)
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
)
_PIECES_AT = U64(SEARCH["pawn_correction_history"].itemsize)  # bytes from the beginning of the block
_MOVES_AT = _PIECES_AT + U64(SEARCH["piece_correction_history"].itemsize)


@kernel(makes_arrays=True)
def _by_pawns(s):
    """The entries int16[side to move, pawns]."""
    return array_at(s.corrections, np.int16, (2, 1 << CORRECTION_BITS))


@kernel(makes_arrays=True)
def _by_pieces(s):
    """The entries int16[side to move, colour, its pieces]."""
    return array_at(s.corrections + _PIECES_AT, np.int16, (2, 2, 1 << CORRECTION_BITS))


@kernel(makes_arrays=True)
def _by_move(s):
    """The entries int16[last (piece, destination)]."""
    return array_at(s.corrections + _MOVES_AT, np.int16, PIECE_TO)


@kernel
def _pieces_index(position, colour):
    """A hash of where the pieces of a colour stand, its pawns aside."""
    own = position.colours[colour]
    mixed = (
        (position.pieces[KNIGHT] & own) * _KNIGHT
        ^ (position.pieces[BISHOP] & own) * _BISHOP
        ^ (position.pieces[ROOK] & own) * _ROOK
        ^ (position.pieces[QUEEN] & own) * _QUEEN
        ^ (position.pieces[KING] & own) * _KING
    )
    return np.int64((mixed ^ mixed >> U64(29)) * _KNIGHT >> _SHIFT)


@kernel
def _correction(s, ply):
    """The correction to add to the static evaluation, in centipawns for the side to move."""
    position, p = s.positions[ply], s.parameters
    side = side_to_move(position)
    pawns = int(_by_pawns(s)[side, np.int64(position.pawn_key >> _SHIFT)])
    by_pieces = _by_pieces(s)
    pieces = int(by_pieces[side, WHITE, _pieces_index(position, WHITE)])
    pieces += int(by_pieces[side, BLACK, _pieces_index(position, BLACK)])
    move = int(_by_move(s)[piece_to_before(s, ply, 1)])
    return p.correction_pawns * pawns + p.correction_pieces * pieces + p.correction_move * move >> _LIMIT_BITS


@kernel
def set_static_eval(s, ply, tt_entry):
    """Set `raw_eval`, the static evaluation (from the transposition table if stored), and `static_eval`, corrected.

    Both are NO_SCORE in check.
    """
    here, position = s.plies[ply], s.positions[ply]
    if position.checkers != ZERO:
        here.raw_eval = here.static_eval = NO_SCORE
        return
    known = tt_entry != ZERO and entry_static_eval(tt_entry) != NO_SCORE
    here.raw_eval = entry_static_eval(tt_entry) if known else _no_win(static_evaluation(s, ply))
    here.static_eval = _no_win(rule50_scaling(position, here.raw_eval + _correction(s, ply)))


@kernel
def _no_win(score):
    """A static evaluation as a judgement, below every known win; so it also fits into the table."""
    return max(1 - KNOWN_WIN, min(score, KNOWN_WIN - 1))


@kernel
def _gravity(entry, bonus):
    """`entry` after a bonus or malus with gravity: near the limit on that side it changes less."""
    return entry + bonus - (entry * abs(bonus) >> _LIMIT_BITS)


@kernel
def update_correction_history(s, ply, error, depth):
    """Record that a search to `depth` found the static evaluation here too low by `error` centipawns."""
    position = s.positions[ply]
    side = side_to_move(position)
    bonus = max(-_MAX_BONUS, min(error * depth // _BONUS_DIVISOR, _MAX_BONUS))
    by_pawns, by_pieces, by_move = _by_pawns(s), _by_pieces(s), _by_move(s)
    index = np.int64(position.pawn_key >> _SHIFT)
    by_pawns[side, index] = _gravity(int(by_pawns[side, index]), bonus)
    for colour in range(2):
        index = _pieces_index(position, colour)
        by_pieces[side, colour, index] = _gravity(int(by_pieces[side, colour, index]), bonus)
    last = piece_to_before(s, ply, 1)
    if last:
        by_move[last] = _gravity(int(by_move[last]), bonus)
