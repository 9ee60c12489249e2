"""The value of a position in a part of a table, by its number: blocks of Huffman codes, whose symbols are pairs.

Nothing in a file is trusted: whatever it says, no byte outside it is read, and no search for a code goes on for ever.
"""

import numpy as np

from merino.core.board.bitboard import U64, ZERO
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import array_at
from merino.engine.syzygy.layout import COMPRESSED, FIRST, MORE, SECOND

NOWHERE = -1  # no such block, code or symbol: the file is damaged


@kernel
def value_at(table, part, number):
    """The value of the position with this number, 0 for a loss to 4 for a win, or NOWHERE."""
    if not 0 <= number < part.positions:
        return NOWHERE
    if part.constant != COMPRESSED:
        return part.constant
    content = array_at(table.file, np.uint8, table.file_size)
    block, position = _find_block(part, content, number)
    if block == NOWHERE:
        return NOWHERE
    symbols = array_at(part.symbol_parts, np.int64, (part.symbols, 3))
    symbol, position = _find_symbol(part, content, symbols, block, position)
    if symbol == NOWHERE:
        return NOWHERE
    while symbols[symbol, MORE]:
        first = symbols[symbol, FIRST]
        if position <= symbols[first, MORE]:
            symbol = first
        else:
            position -= symbols[first, MORE] + 1
            symbol = symbols[symbol, SECOND]
    return symbols[symbol, FIRST]


@kernel
def _find_block(part, content, number):
    """The block that has the position with this number, or NOWHERE, and which of its positions it is."""
    at = part.spans_at + 6 * (number >> part.span_bits)
    block = _word(content, at) | _word(content, at + 2) << 16
    position = (number & (1 << part.span_bits) - 1) - (1 << part.span_bits - 1) + _word(content, at + 4)
    if block >= part.block_sizes:
        return NOWHERE, position
    while position < 0 < block:  # the entry of a span tells of the position in its middle
        block -= 1
        position += _positions_in(part, content, block)
    while block < part.blocks and position >= _positions_in(part, content, block):
        position -= _positions_in(part, content, block)
        block += 1
    if position < 0 or block >= part.blocks:
        return NOWHERE, position
    return block, position


@kernel
def _positions_in(part, content, block):
    """How many positions a block has."""
    return _word(content, part.block_sizes_at + 2 * block) + 1


@kernel
def _find_symbol(part, content, symbols, block, position):
    """The symbol of a block that has its position `position`, or NOWHERE, and which of the symbol's it is."""
    first_codes = array_at(part.first_codes, np.uint64, part.lengths)
    first_symbols = array_at(part.first_symbols, np.int64, part.lengths)
    start = part.blocks_at + (block << part.block_bits)
    bits = 0
    while bits < 8 << part.block_bits:
        code = _eight_bytes(content, start + (bits >> 3)) << U64(bits & 7)
        length = 0
        while code < first_codes[length]:  # the last is 0
            length += 1
        size = part.shortest + length
        symbol = first_symbols[length] + np.int64((code - first_codes[length]) >> U64(64 - size))
        if symbol >= part.symbols:
            break
        if position <= symbols[symbol, MORE]:
            return symbol, position
        position -= symbols[symbol, MORE] + 1
        bits += size
    return NOWHERE, position


@kernel
def _word(content, at):
    """The two bytes at `at`, the low one first, int64."""
    return np.int64(content[at]) | np.int64(content[at + 1]) << 8


@kernel
def _eight_bytes(content, at):
    """The eight bytes at `at`, the high one first, uint64. After the last block a file has sixteen more bytes."""
    code = ZERO
    for index in range(8):
        code = code << U64(8) | U64(content[at + index])
    return code
