"""Sums whose features are pieces on squares, by the place of the own king: a move changes them in one pass.

The usual nets with king buckets or a mirrored board are such, as `MIRRORED(KING8*ALL)`. What any set would do for them,
to look for what has changed on the board (`eval.net.updates`), takes a tenth of a search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merino.inner.core.board.bitboard import KING, U64, piece_of
from merino.inner.core.board.changes import changes_of
from merino.inner.core.board.position import king_square
from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.net.features import FeatureSet
from merino.inner.eval.net.play import piece_mover, row_of, sums_at
from merino.inner.eval.net.rows import piece_features


def next_by_rows(wanted: FeatureSet, buckets: np.ndarray, renew_side: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel (s, net, ply) that makes the sums of the next ply for such a set.

    `buckets`, int64[64], numbers the places of the own king: those with the same number have the same features.
    `renew_side(s, net, side, ply)` is the kernel that makes those of one side anew, when its king has come to another.
    """
    (term,) = wanted.terms
    features_at, kings = piece_features(term), term.kings

    @kernel
    def row_at(net, side, place, piece_on_square):
        """The address of what a piece on a square adds to the sums of a side with its king on this place."""
        return row_of(net, kings[place] + features_at[side, place >> 2 & 1, piece_on_square])

    move_pieces = piece_mover(row_at)

    @kernel
    def next_ply(s, net, ply):
        changed, after = changes_of(s.positions[ply], s.plies[ply].move), s.positions[ply + 1]
        for side in range(2):
            place = king_square(after, side) ^ 56 * side
            was = (changed.removed & 63) ^ 56 * side
            if changed.removed >> 6 == piece_of(side, KING) and buckets[was] != buckets[place]:
                renew_side(s, net, side, ply + 1)
            else:
                own = U64(side) * net.row
                old, new = sums_at(s, net, ply) + own, sums_at(s, net, ply + 1) + own
                move_pieces(net, side, place, changed, old, new, net.blocks)

    return next_ply
