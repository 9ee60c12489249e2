"""The pawn hash table: what the terms that look at pawns and kings alone add up to, remembered by these and the stage.

Pawns and kings move seldom, so most positions of a search have those of an earlier one. Each thread has a table of its
own.
"""

import numpy as np

from merino.core.board.bitboard import BLACK, U64, WHITE
from merino.core.board.position import king_square
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import array_at

BITS = 13
ENTRIES = 1 << BITS
BYTES = 16 * ENTRIES  # a key and a score for each
_BELOW_PLACE = U64(64 - BITS)
_SCORES = U64(8 * ENTRIES)  # the scores lie behind the keys
_SPREAD = U64(
    0x9E3779B97F4A7C15
)  # odd, without a pattern: the same pawns with other kings and at other stages lie apart


@kernel(makes_arrays=True)
def pawn_table_at(address):
    """The keys, uint64[ENTRIES], and the scores, float64[ENTRIES], of the table at `address`."""
    return array_at(address, np.uint64, ENTRIES), array_at(address + _SCORES, np.float64, ENTRIES)


@kernel
def pawn_king_key(position, stage):
    """The key of the position's pawns and kings at a stage of the game, uint64."""
    kings = king_square(position, WHITE) << 6 | king_square(position, BLACK)
    return position.pawn_key ^ U64(stage << 12 | kings) * _SPREAD


@kernel
def place_of_pawns(key):
    """The only place in the table where the score of a key may be."""
    return np.int64(key >> _BELOW_PLACE)
