"""Feature sets whose features each belong to one piece on one square, so that pieces tell what is active.

A piece-value net has rows of its own, one for each piece but the king on each square, as the owner of the piece sees
it: place * 5 + role, the place being that of the feature in ALL.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from engine.board.bitboard import BLACK_PIECE, EMPTY, KING
from engine.board.position import POSITION
from eval.net.features import FeatureSet

PIECES = 14  # mailbox codes of pieces
PIECE_ROWS = 64 * KING
NO_ROW = -1


def _row_of_feature(feature: int) -> int:
    place, piece = divmod(feature, 12)
    role, is_other = divmod(piece, 2)
    return NO_ROW if is_other or role == KING else place * KING + role


# Of a piece, by its feature of ALL as its owner sees it; NO_ROW for kings and for the other side's.
ROW_OF_FEATURE = np.array([_row_of_feature(feature) for feature in range(768)], dtype=np.int32)


def is_by_piece(wanted: FeatureSet) -> bool:
    """Whether each feature belongs to one piece on one square, so that a move's pieces tell what it changes."""
    return [term.factors for term in wanted.terms] == [(("ALL", 1),)]


@cache
def rows_of_pieces(wanted: FeatureSet) -> np.ndarray:
    """The feature of each piece on each square, int32[2, 14, 64] by the side that sees it, from the definition.

    int32[0, 14, 64] where features belong to no one piece.
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
