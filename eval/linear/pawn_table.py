"""The pawn hash table: what the terms that look at pawns alone add up to, remembered by the pawns and the stage.

Pawns move seldom, so nearly every position of a search has those of an earlier one. Each thread has a table of its own.
"""

import numpy as np

from merino.inner.core.board.bitboard import U64
from merino.inner.core.compiled.jit import kernel
from merino.inner.core.compiled.memory import array_at

ENTRIES = 1 << 12
ENTRY = np.dtype([("key", np.uint64), ("score", np.float64)])
_LAST = U64(ENTRIES - 1)
_SPREAD = U64(0x9E3779B97F4A7C15)  # odd, without a pattern: stages of the same pawns lie apart


@kernel(makes_arrays=True)
def entry_of(address, key):
    """The entry of a key, a record of ENTRY, in the table at `address`; its key tells whether it is known."""
    return array_at(address, ENTRY, ENTRIES)[np.int64(key & _LAST)]


@kernel
def pawn_stage_key(position, stage):
    """The key of the position's pawns at a stage of the game, uint64; 0 without pawns in the barest endgame."""
    return position.pawn_key ^ U64(stage) * _SPREAD
