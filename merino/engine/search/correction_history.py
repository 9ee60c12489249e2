"""Correction history: how far off the static evaluation was in similar positions, according to the search.

Similar positions have the same pawns, the same other pieces of a side, or the same last move. Each has an entry, for
the side to move, that follows the error: score of the search minus static evaluation. The weighted sum of the entries
is added to the next static evaluation. The threads of a search share the entries: what one has found out all know.
"""

import numpy as np

from merino.core.board.bitboard import BISHOP, BLACK, KING, KNIGHT, QUEEN, ROOK, U64, WHITE, ZERO
from merino.core.board.position import side_to_move
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import array_at
from merino.engine.search.history import piece_to_before
from merino.engine.search.limits import KNOWN_WIN
from merino.engine.search.state import CORRECTION_BITS, NO_SCORE, PIECE_TO, SEARCH
from merino.engine.search.static_eval import rule50_scaling, static_evaluation
from merino.engine.search.transposition import entry_static_eval

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
