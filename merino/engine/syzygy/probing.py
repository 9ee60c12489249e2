"""The result of a position by Syzygy tables: their records, the number of a position, its value, and captures.

Formats and numbers are those of Ronald de Man's tables, https://github.com/syzygy1/tb. A table is named by its
material, the stronger side first, such as KRPvKR; White has that side in it. It has up to eight parts, each with the
results of the positions with one side to move and, if there are pawns, with the first pawn on one pair of files.

A table keeps nothing reliable where a capture does at least as well, and nothing of en passant: captures are searched.
"""

from math import comb

import numpy as np

from merino.core.board.attacks import KING_ATTACKS
from merino.core.board.bitboard import EMPTY, FULL, KING, ONE, PAWN, U64, ZERO, bit, colour_of, lsb, popcount, type_of
from merino.core.board.makemove import make
from merino.core.board.move import EN_PASSANT, destination_of, kind_of
from merino.core.board.movegen import NOISY, count_legal, generate
from merino.core.board.position import occupied_squares, pieces_of, side_to_move
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import address_of, array_at, call_at, call_python, record_dtype

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
        # of the side whose pawns come first, which has at most as many as the other; 0 without any
        ("lead_pawns", np.int64),
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


# The number of a position in a table of results: mirrored as far as the rules allow, then counted group by group. The
# first group are two or three different pieces, kings among them, or the pawns of one side. Every other group is of
# one kind; its set of squares is counted among all sets of that size, leaving out the squares that are taken.

MAX_LEAD_PAWNS = 5
_TRIANGLE = (1, 2, 3, 10, 11, 19, 0, 9, 18, 27)  # a1, d1, d4: those below the diagonal come before those on it


def _height(square: int) -> int:
    """How far a square lies above the diagonal from a1 to h8, negative below it."""
    return (square >> 3) - (square & 7)


def _below_diagonal() -> np.ndarray:
    """The number of each square below the diagonal among them, int64[64]; 0 elsewhere."""
    numbers = np.zeros(64, dtype=np.int64)
    below = [square for square in range(64) if _height(square) < 0]
    numbers[below] = range(len(below))
    return numbers


def _in_triangle() -> np.ndarray:
    """The number of each square of the triangle, int64[64]; 0 elsewhere."""
    numbers = np.zeros(64, dtype=np.int64)
    numbers[list(_TRIANGLE)] = range(len(_TRIANGLE))
    return numbers


def _two_kings() -> np.ndarray:
    """The number of each way to place two kings, int64[10, 64], by the number of the first and the second's square.

    With the first on the diagonal the second is on it or below; such with both on it come last.
    """
    numbers = np.zeros((len(_TRIANGLE), 64), dtype=np.int64)
    ways = [
        (first, other)
        for first, square in enumerate(_TRIANGLE)
        for other in range(64)
        if other != square and not int(KING_ATTACKS[square]) >> other & 1 and (_height(square) or _height(other) <= 0)
    ]
    ways.sort(key=lambda way: _height(_TRIANGLE[way[0]]) == _height(way[1]) == 0)
    for number, way in enumerate(ways):
        numbers[way] = number
    return numbers


def _pawn_order() -> np.ndarray:
    """The order of the squares of pawns, int64[64]: 47 for a2, 46 for h2, towards 0 for the middle of the last rank."""
    order = np.zeros(64, dtype=np.int64)
    number = 47
    for file in range(4):
        for rank in range(1, 7):
            for square in (8 * rank + file, 8 * rank + 7 - file):
                order[square] = number
                number -= 1
    return order


def _lead_pawns() -> tuple[np.ndarray, np.ndarray]:
    """How many sets of 1 to 5 pawns come before those whose first pawn is on a square, and how many are on a file.

    int64[6, 64] and int64[6, 4], by the number of pawns.
    """
    before, sizes = np.zeros((MAX_LEAD_PAWNS + 1, 64), np.int64), np.zeros((MAX_LEAD_PAWNS + 1, 4), np.int64)
    for pawns in range(1, MAX_LEAD_PAWNS + 1):
        for file in range(4):
            for square in range(8 + file, 56, 8):
                before[pawns, square] = sizes[pawns, file]
                sizes[pawns, file] += BINOMIALS[pawns - 1, PAWN_ORDER[square]]
    return before, sizes


BINOMIALS = np.array([[comb(n, k) for n in range(64)] for k in range(8)], dtype=np.int64)
BELOW_DIAGONAL = _below_diagonal()
TRIANGLE = _in_triangle()
TWO_KINGS = _two_kings()
PAWN_ORDER = _pawn_order()
LEAD_PAWNS, LEAD_PAWN_SETS = _lead_pawns()
KING_PAIRS = int(TWO_KINGS.max()) + 1
# Three different pieces: how many ways to place them come before those with the first, two, or all on the diagonal.
FIRST_ON = 6 * 63 * 62
TWO_ON = FIRST_ON + 4 * 28 * 62
ALL_ON = TWO_ON + 4 * 7 * 28
THREE_PIECES = ALL_ON + 4 * 7 * 6


@kernel
def file_pair(table, position, is_changed):
    """The pair of files, 0 for a and h to 3, of the pawn that leads; 0 without pawns."""
    if table.lead_pawns == 0:
        return 0
    pawns = pieces_of(position, table.lead_colour ^ is_changed, PAWN)
    turn = 56 * is_changed
    lead = lsb(pawns) ^ turn
    while pawns:
        square = lsb(pawns) ^ turn
        pawns &= pawns - ONE
        if PAWN_ORDER[square] > PAWN_ORDER[lead]:
            lead = square
    return min(lead & 7, 7 - (lead & 7))


@kernel
def place_men(part, men, position, is_changed, squares):
    """Fill squares, int32[men], in the order of this part; `is_changed`: colours are, and ranks with them."""
    count = 0
    while count < men:
        piece = part.pieces[count]
        same = pieces_of(position, colour_of(piece) ^ is_changed, type_of(piece))
        while same:
            squares[count] = lsb(same) ^ (56 * is_changed)
            same &= same - ONE
            count += 1


@kernel
def number_of(table, part, squares):
    """The number, from 0, of the position with men on these squares, which are changed."""
    if table.lead_pawns:
        number = _number_pawns(squares, table.men, table.lead_pawns)
    else:
        _mirror_pieces(squares, table.men, table.leaders)
        number = _number_three(squares) if table.leaders == 3 else TWO_KINGS[TRIANGLE[squares[0]], squares[1]]
    number *= part.factors[0]
    placed, group = part.sizes[0], 1
    missing = 8 if table.other_pawns else 0  # squares of the first rank, on which the other side's pawns cannot be
    while part.sizes[group]:
        number += part.factors[group] * _number_group(squares, placed, part.sizes[group], missing)
        missing = 0
        placed += part.sizes[group]
        group += 1
    return number


@kernel
def _number_pawns(squares, men, pawns):
    """The number of the leading pawns, after the first of them has come to the left half of the board."""
    first = 0
    for index in range(1, pawns):
        if PAWN_ORDER[squares[index]] > PAWN_ORDER[squares[first]]:
            first = index
    squares[0], squares[first] = squares[first], squares[0]
    if squares[0] & 4:
        for index in range(men):
            squares[index] ^= 7
    number = LEAD_PAWNS[pawns, squares[0]]
    for index in range(1, pawns):
        lowest = index
        for other in range(index + 1, pawns):
            if PAWN_ORDER[squares[other]] < PAWN_ORDER[squares[lowest]]:
                lowest = other
        squares[index], squares[lowest] = squares[lowest], squares[index]
        number += BINOMIALS[index, PAWN_ORDER[squares[index]]]
    return number


@kernel
def _mirror_pieces(squares, men, leaders):
    """Bring the first piece to the left half and the lower half, and below the diagonal what leaves it first."""
    turn = (7 if squares[0] & 4 else 0) | (56 if squares[0] & 32 else 0)
    for index in range(men):
        squares[index] ^= turn
    for index in range(leaders):
        height = (squares[index] >> 3) - (squares[index] & 7)
        if height < 0:
            return
        if height > 0:
            for other in range(men):
                squares[other] = squares[other] >> 3 | (squares[other] & 7) << 3
            return


@kernel
def _number_three(squares):
    """The number of three different pieces."""
    first, second, third = squares[0], squares[1], squares[2]
    less = 1 if second > first else 0
    less_too = (1 if third > first else 0) + (1 if third > second else 0)
    if first >> 3 != first & 7:
        return (TRIANGLE[first] * 63 + second - less) * 62 + third - less_too
    rank, rank_too = first >> 3, (second >> 3) - less
    if second >> 3 != second & 7:
        return FIRST_ON + (rank * 28 + BELOW_DIAGONAL[second]) * 62 + third - less_too
    if third >> 3 != third & 7:
        return TWO_ON + (rank * 7 + rank_too) * 28 + BELOW_DIAGONAL[third]
    return ALL_ON + (rank * 7 + rank_too) * 6 + (third >> 3) - less_too


@kernel
def _number_group(squares, placed, size, missing):
    """The number of the set of squares of one group among those that the pieces before it leave."""
    taken, group = ZERO, ZERO
    for index in range(placed):
        taken |= bit(squares[index])
    for index in range(placed, placed + size):
        group |= bit(squares[index])
    number, chosen = np.int64(0), 1
    while group:
        square = lsb(group)
        group &= group - ONE
        number += BINOMIALS[chosen, square - popcount(taken & (bit(square) - ONE)) - missing]
        chosen += 1
    return number


# The value of a position in a part of a table, by its number: blocks of Huffman codes, whose symbols are pairs.
# Nothing in a file is trusted: whatever it says, no byte outside it is read, and no search for a code runs forever.

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
    while position < 0 < block:  # the entry of a span is for the position in its middle
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
