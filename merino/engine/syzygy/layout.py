"""What is known of a table of results and of its file, as records that kernels read.

Formats and numbers are those of Ronald de Man's tables, https://github.com/syzygy1/tb. A table is named by its
material, the stronger side first, such as KRPvKR; White has that side in it. It has up to eight parts, each with the
results of the positions with one side to move and, if there are pawns, with the first pawn on one pair of files.
"""

import numpy as np

from merino.core.board.bitboard import KING, U64, ZERO, popcount
from merino.core.board.position import pieces_of
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import record_dtype

# Results for the side to move; a cursed win is one that the fifty moves forbid, a blessed loss its other side.
LOSS, BLESSED_LOSS, DRAW, CURSED_WIN, WIN = range(-2, 3)
UNKNOWN = WIN + 1

MAX_MEN = 7  # in the tables that exist
LETTERS = "PNBRQ"  # of the pieces in a name, by type
UNREAD, READ, BROKEN = range(3)  # the states of a table
COMPRESSED = -1

_BITS = 4  # for how many there are of a kind
_SIDE_BITS = _BITS * KING

PART = record_dtype(
    [
        ("pieces", np.int64, MAX_MEN),  # mailbox codes, in the order in which their squares count
        ("sizes", np.int64, MAX_MEN + 1),  # of the groups of pieces that are numbered together; 0 after the last
        ("factors", np.int64, MAX_MEN + 1),  # by which the number of each group counts
        ("positions", np.int64),
        ("constant", np.int64),  # the value of all positions, or COMPRESSED
        # Where the file has, by blocks of codes: for every 2 ** span_bits positions where they are, 6 bytes; how many
        # positions less one a block has, 2 bytes; the blocks, 2 ** block_bits bytes each.
        ("span_bits", np.int64),
        ("spans_at", np.int64),
        ("blocks", np.int64),
        ("block_bits", np.int64),
        ("block_sizes", np.int64),  # how many there are, some of them for no block
        ("block_sizes_at", np.int64),
        ("blocks_at", np.int64),
        # Codes of `shortest` bits and more, and the symbols that they stand for.
        ("shortest", np.int64),
        ("lengths", np.int64),
        ("first_codes", np.uint64),  # address of uint64[lengths]: the lowest code of each length, from the highest bit
        ("first_symbols", np.uint64),  # address of int64[lengths]: its symbol
        ("symbols", np.int64),
        ("symbol_parts", np.uint64),  # address of int64[symbols, 3]: see SYMBOL
    ]
)
FIRST, SECOND, MORE = range(3)  # SYMBOL: two symbols in turn, or a value and nothing; how many values more than one

TABLE = record_dtype(
    [
        ("number", np.int64),  # among all tables
        ("state", np.int64),  # UNREAD to BROKEN
        ("men", np.int64),
        ("is_symmetric", np.int64),  # both sides have the same, and only positions with White to move are kept
        ("leaders", np.int64),  # without pawns: 3, if there is a piece other than a king without its like, or 2
        ("lead_pawns", np.int64),  # of the side whose pawns come first, which has no more than the other; 0 without any
        ("lead_colour", np.int64),
        ("other_pawns", np.int64),  # of the other side
        ("file", np.uint64),  # address of its bytes
        ("file_size", np.int64),
        ("parts", PART, (2, 4)),  # by side to move, pair of files
    ]
)

DIRECTORY = record_dtype(
    [
        ("entries", np.int64),
        ("keys", np.uint64),  # address of uint64[entries], ascending: the material
        ("found", np.uint64),  # address of int64[entries]: 2 * number, + 1 if the colours are changed
        ("tables", np.uint64),  # address of TABLE[n]
        ("tables_count", np.int64),
        ("reader", np.uint64),  # address of the `Callback` that reads a table's file into its record
        ("broken", np.int64),  # one more than the number of the first table found to be broken; 0 for none
    ]
)


@kernel
def material_key(position):
    """The material of both sides, uint64; see `key_of`."""
    key = ZERO
    for colour in range(2):
        for kind in range(KING):
            count = U64(popcount(pieces_of(position, colour, kind)))
            key |= count << U64(_SIDE_BITS * colour + _BITS * kind)
    return key


def key_of(white: str, black: str) -> int:
    """The number by which a table is found; the sides in letters such as KRP."""
    return sum(
        side.count(letter) << _SIDE_BITS * colour + _BITS * kind
        for colour, side in enumerate((white, black))
        for kind, letter in enumerate(LETTERS)
    )
