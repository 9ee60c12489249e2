"""The result of a position by the tables: what they keep of it, or a capture that does better.

Tables keep nothing sure where a capture does at least as well, and nothing of en passant: so captures are searched.
"""

import numpy as np

from merino.core.board.bitboard import EMPTY, FULL, popcount
from merino.core.board.makemove import make
from merino.core.board.move import EN_PASSANT, destination_of, kind_of
from merino.core.board.movegen import NOISY, count_legal, generate
from merino.core.board.position import occupied_squares, side_to_move
from merino.core.compiled.calls import address_of, call_at, call_python
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import array_at
from merino.engine.syzygy.decoding import NOWHERE, value_at
from merino.engine.syzygy.layout import (
    BROKEN,
    DIRECTORY,
    DRAW,
    LOSS,
    READ,
    TABLE,
    UNKNOWN,
    UNREAD,
    material_key,
)
from merino.engine.syzygy.numbering import file_pair, number_of, place_men

MISSING = -1  # a table that is needed


@kernel
def known_result(s, ply, alpha, beta, _):
    """LOSS to WIN of the position at `ply` within (alpha, beta), fail-soft, or UNKNOWN.

    The position has no rights to castle and at most MAX_MEN pieces. As many plies below it serve as scratch.
    """
    position, moves = s.positions[ply], s.moves[ply + 1]
    best, captures = np.int64(LOSS), 0
    for index in range(generate(position, moves, NOISY, FULL)):
        move = np.int64(moves[index])
        if kind_of(move) != EN_PASSANT and position.board[destination_of(move)] == EMPTY:
            continue
        captures += 1
        make(s.positions[ply + 1], position, move)
        result = call_at(s.tablebase, s, ply + 1, -beta, -max(alpha, best), 0)
        if result == UNKNOWN:
            return UNKNOWN
        best = max(best, -result)
        if best >= beta:
            return best
    if captures and captures == count_legal(position):
        return best
    result = kept_result(s, ply)
    return result if result == UNKNOWN else max(best, result)


@kernel
def kept_result(s, ply):
    """What the table of this material keeps of the position at `ply`: LOSS to WIN, or UNKNOWN."""
    position, squares = s.positions[ply], s.scores[ply + 1]
    if popcount(occupied_squares(position)) == 2:
        return DRAW
    directory = array_at(s.tablebase_data, DIRECTORY, 1)[0]
    found = _find_table(directory, material_key(position))
    if found == MISSING:
        return UNKNOWN
    table = array_at(directory.tables, TABLE, directory.tables_count)[found >> 1]
    if table.state == UNREAD:
        call_python(directory.reader, table)
    if table.state != READ:
        return UNKNOWN
    side = side_to_move(position)
    is_changed = side if table.is_symmetric else found & 1
    part = table.parts[side ^ is_changed, file_pair(table, position, is_changed)]
    place_men(part, table.men, position, is_changed, squares)
    value = value_at(table, part, number_of(table, part, squares))
    if value == NOWHERE:
        table.state = BROKEN
        directory.broken = table.number + 1
        return UNKNOWN
    return value + LOSS


@kernel
def _find_table(directory, key):
    """2 * number of the table of this material, + 1 if it has the colours changed, or MISSING."""
    keys = array_at(directory.keys, np.uint64, directory.entries)
    low, high = 0, directory.entries
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low == directory.entries or keys[low] != key:
        return MISSING
    return array_at(directory.found, np.int64, directory.entries)[low]


@entry
def link(records):
    """Let the search of this record ask `known_result`."""
    records[0].tablebase = address_of(known_result, records[0])
