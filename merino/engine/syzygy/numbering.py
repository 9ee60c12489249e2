"""The number of a position in a table of results: mirrored as far as the rules allow, then counted group by group.

The first group are two or three different pieces, kings among them, or the pawns of one side. Every other group is of
one kind; its set of squares is counted among all sets of that size, leaving out the squares that are taken.
"""

from math import comb

import numpy as np

from merino.core.board.attacks import KING_ATTACKS
from merino.core.board.bitboard import ONE, PAWN, ZERO, bit, colour_of, lsb, popcount, type_of
from merino.core.board.position import pieces_of
from merino.core.compiled.jit import kernel

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
