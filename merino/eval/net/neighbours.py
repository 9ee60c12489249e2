"""Neighbours for features: pieces next to each other on a rank or a file, with only empty squares between.

Three facts of a view: the kinds of the pieces by square, the pairs on the ranks, and those on the files. Kinds are a
word for each rank with a byte for each file, of no meaning where the square is empty. Pairs are a word for each group
of four first pieces and each line, at 8 * group + line: bit 12 * (first & 3) + second.
"""

import numpy as np

from merino.core.board.bitboard import ONE, U64, ZERO, bit, lsb
from merino.core.compiled.jit import kernel
from merino.eval.net.view import BOARD, FILE_PAIRS, OCCUPIED, PIECES, RANK_PAIRS

GROUPS, LINES = 3, 8
_RANK, _FILE = U64(0xFF), U64(0x0101_0101_0101_0101)
_ALL = U64(0xFF)  # ranks, or files
_NOBODY = -1


@kernel
def ranks_of(squares):
    """The ranks of these squares; rank 1 is bit 0."""
    squares |= squares >> U64(4)
    squares |= squares >> U64(2)
    squares = (squares | squares >> ONE) & _FILE
    return (squares * U64(0x0102_0408_1020_4080)) >> U64(56)


@kernel
def files_of(squares):
    """The files of these squares; file a is bit 0."""
    squares |= squares >> U64(32)
    squares |= squares >> U64(16)
    return (squares | squares >> U64(8)) & _RANK


@kernel
def _put(view, kinds, squares):
    """Write down the kinds of the pieces on these squares, which are of these kinds."""
    while kinds:
        kind = lsb(kinds)
        kinds &= kinds - ONE
        left = view[kind] & squares
        while left:
            square = lsb(left)
            left &= left - ONE
            place, shift = BOARD + (square >> 3), U64(8 * (square & 7))
            view[place] = view[place] & ~(_RANK << shift) | U64(kind) << shift


@kernel
def fill_board(view):
    """Write down the kinds of all pieces."""
    _put(view, (ONE << U64(PIECES)) - ONE, view[OCCUPIED])


@kernel
def renew_board(before, after, difference):
    """The same for a view that differs by little from another one."""
    for place in range(BOARD, BOARD + 8):
        after[place] = before[place]
    _put(after, difference.kinds, difference.squares)


@kernel
def _pair_up(view, line, squares):
    """Write down the pairs on a line, from the place of its first group; `squares` are the line's."""
    for group in range(GROUPS):
        view[line + LINES * group] = ZERO
    left, first = view[OCCUPIED] & squares, _NOBODY
    while left:
        square = lsb(left)
        left &= left - ONE
        second = np.int64(view[BOARD + (square >> 3)] >> U64(8 * (square & 7)) & U64(15))
        if first != _NOBODY:
            view[line + LINES * (first >> 2)] |= bit(12 * (first & 3) + second)
        first = second


@kernel
def _pair_up_ranks(view, ranks):
    """Write down the pairs on these ranks, from left to right; rank 1 is bit 0."""
    while ranks:
        rank = lsb(ranks)
        ranks &= ranks - ONE
        _pair_up(view, RANK_PAIRS + rank, _RANK << U64(8 * rank))


@kernel
def _pair_up_files(view, files):
    """Write down the pairs on these files, from below; file a is bit 0."""
    while files:
        file = lsb(files)
        files &= files - ONE
        _pair_up(view, FILE_PAIRS + file, _FILE << U64(file))


@kernel
def _keep_pairs(before, after, first):
    """Take over the words of the pairs of either kind, which begin at `first`, from another view."""
    for place in range(first, first + GROUPS * LINES):
        after[place] = before[place]


@kernel
def fill_rank_pairs(view):
    """Write down the pairs on all ranks."""
    _pair_up_ranks(view, _ALL)


@kernel
def fill_file_pairs(view):
    """Write down the pairs on all files."""
    _pair_up_files(view, _ALL)


@kernel
def renew_rank_pairs(before, after, difference):
    """Pair up anew on the ranks of the squares that differ."""
    _keep_pairs(before, after, RANK_PAIRS)
    _pair_up_ranks(after, ranks_of(difference.squares))


@kernel
def renew_file_pairs(before, after, difference):
    """Pair up anew on the files of the squares that differ."""
    _keep_pairs(before, after, FILE_PAIRS)
    _pair_up_files(after, files_of(difference.squares))
