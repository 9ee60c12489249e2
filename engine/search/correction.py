"""Correction history: how far the search has found the evaluation off in positions of this kind.

Kinds are told by the pawns, by the other pieces of each side, and by the last move. Each kind's entry, for the side to
move, drifts toward what deeper search found minus the static score; the sum is added to the next static score there.
"""

import numpy as np

from engine.board.bitboard import BISHOP, BLACK, KING, KNIGHT, QUEEN, ROOK, U64, WHITE, ZERO
from engine.board.position import side_to_move
from engine.compiled.jit import kernel
from engine.search.endings import faded
from engine.search.history import moved_before
from engine.search.limits import MATE_IN_MAX_PLY
from engine.search.state import CORRECTION_BITS, NO_SCORE
from engine.search.static_score import static_evaluation
from engine.search.transposition import entry_static

_LIMIT_BITS = 10  # gravity keeps every entry within 2 ** _LIMIT_BITS
_MOST_AT_ONCE = 256
_SHIFT = U64(64 - CORRECTION_BITS)
_KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = (
    U64(factor)
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
)


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
    """What to add to the static score, centipawns for the side to move."""
    position, p = s.positions[ply], s.parameters
    side = side_to_move(position)
    pawns = int(s.pawn_correction[side, np.int64(position.pawn_key >> _SHIFT)])
    pieces = int(s.piece_correction[side, WHITE, _pieces_index(position, WHITE)])
    pieces += int(s.piece_correction[side, BLACK, _pieces_index(position, BLACK)])
    move = int(s.move_correction[moved_before(s, ply, 1)])
    return p.correction_pawns * pawns + p.correction_pieces * pieces + p.correction_move * move >> _LIMIT_BITS


@kernel
def set_static_score(s, ply, found):
    """Fill in `raw_score`, the static evaluation (from the table if it is there), and `static_score`, corrected.

    Both are NO_SCORE in check.
    """
    here, position = s.plies[ply], s.positions[ply]
    if position.checkers != ZERO:
        here.raw_score = here.static_score = NO_SCORE
        return
    known = found != ZERO and entry_static(found) != NO_SCORE
    here.raw_score = entry_static(found) if known else static_evaluation(s, ply)
    corrected = faded(position, here.raw_score + _correction(s, ply))
    here.static_score = max(1 - MATE_IN_MAX_PLY, min(corrected, MATE_IN_MAX_PLY - 1))


@kernel
def _drift(entry, bonus):
    """The new value of an entry."""
    return entry + bonus - (entry * abs(bonus) >> _LIMIT_BITS)


@kernel
def learn_correction(s, ply, error, depth):
    """Remember that a search to `depth` found the static score here too low by `error` centipawns."""
    position = s.positions[ply]
    side = side_to_move(position)
    bonus = max(-_MOST_AT_ONCE, min(error * depth // 8, _MOST_AT_ONCE))
    index = np.int64(position.pawn_key >> _SHIFT)
    s.pawn_correction[side, index] = _drift(int(s.pawn_correction[side, index]), bonus)
    for colour in range(2):
        index = _pieces_index(position, colour)
        s.piece_correction[side, colour, index] = _drift(int(s.piece_correction[side, colour, index]), bonus)
    moved = moved_before(s, ply, 1)
    if moved:
        s.move_correction[moved] = _drift(int(s.move_correction[moved]), bonus)
