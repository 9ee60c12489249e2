"""The pawn hash table: what the terms that look at pawns alone add up to, remembered by the pawns and the stage.

Pawns move seldom, so nearly every position of a search has those of an earlier one. Each thread has a table of its own.
"""

import numpy as np

from merino.inner.core.board.bitboard import U64
from merino.inner.core.compiled.jit import kernel
from merino.inner.core.compiled.memory import array_at

ENTRIES = 1 << 12
BYTES = 16 * ENTRIES  # a key and a score for each
_LAST = U64(ENTRIES - 1)
_SCORES = U64(8 * ENTRIES)  # the scores lie behind the keys
_SPREAD = U64(0x9E3779B97F4A7C15)  # odd, without a pattern: stages of the same pawns lie apart


@kernel(makes_arrays=True)
def pawn_table_at(address):
    """The keys, uint64[ENTRIES], and the scores, float64[ENTRIES], of the table at `address`."""
    return array_at(address, np.uint64, ENTRIES), array_at(address + _SCORES, np.float64, ENTRIES)


@kernel
def pawn_stage_key(position, stage):
    """The key of the position's pawns at a stage of the game, uint64; 0 without pawns in the barest endgame."""
    return position.pawn_key ^ U64(stage) * _SPREAD


@kernel
def place_of_pawns(key):
    """The only place in the table where the score of a key may be."""
    return np.int64(key & _LAST)
