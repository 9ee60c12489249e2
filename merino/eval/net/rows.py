"""Feature sets in which each feature is one piece on one square, so that moves of pieces change few features.

A piece-value net has an output row for each piece except the king on each square, from its owner's view:
place * 5 + role, with the place of the feature in ALL.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, KING
from merino.core.board.position import POSITION
from merino.eval.net.features import Factor, FeatureSet, Summand, features

PIECES = 14  # mailbox codes of pieces
PIECE_ROWS = 64 * KING
NO_ROW = -1


def _row_of_feature(feature: int) -> int:
    place, piece = divmod(feature, 12)
    role, is_other = divmod(piece, 2)
    return NO_ROW if is_other or role == KING else place * KING + role


# The row of a piece, by its feature of ALL from its owner's view; NO_ROW for kings and the other side's pieces.
ROW_OF_FEATURE = np.array([_row_of_feature(feature) for feature in range(768)], dtype=np.int32)


def is_by_piece(wanted: FeatureSet) -> bool:
    """Whether each feature is one piece on one square."""
    return [term.factors for term in wanted.terms] == [(Factor("ALL", 1),)]


@cache
def rows_of_pieces(wanted: FeatureSet) -> np.ndarray:
    """The feature of each piece on each square, int32[2, 14, 64], by side of the view.

    int32[0, 14, 64] if features are not single pieces.
    """
    if not is_by_piece(wanted):
        return np.zeros((0, PIECES, 64), dtype=np.int32)
    rows = np.zeros((2, PIECES, 64), dtype=np.int32)
    positions = np.zeros(1, dtype=POSITION)
    for piece in (piece for piece in range(PIECES) if piece & 7 < EMPTY):
        for square in range(64):
            position = positions[0]
            position["pieces"], position["colours"] = 0, 0
            position["pieces"][piece & 7] = position["colours"][piece // BLACK_PIECE] = np.uint64(1 << square)
            for side, active in enumerate(wanted.active(positions)[0]):
                rows[side, piece, square] = active[0]
    return rows


def is_by_piece_and_king(wanted: FeatureSet) -> bool:
    """Whether each feature is one piece on one square, for some squares of the own king or for all."""
    return all([factor.block for factor in term.moving] == ["ALL"] for term in wanted.terms)


def piece_features(term: Summand) -> np.ndarray:
    """The features of pieces in a summand of such a set, less what the own king adds: int32[2, 2, 14 * 64].

    By the side of the view, by whether its king is on the files e to h, and by piece << 6 | square.
    """
    (factor,) = term.moving
    plain = rows_of_pieces(features("ALL"))
    seen = plain[:, :, np.arange(64) ^ 7] if factor.is_mirrored else plain
    return factor.stride * np.stack([plain, seen], axis=1).reshape(2, 2, -1)
