"""Counting the leaves of the move tree: the test of move generation, and its speed."""

import numpy as np

from merino.inner.core.board.bitboard import FULL
from merino.inner.core.board.makemove import make
from merino.inner.core.board.movegen import ALL, MAX_MOVES, count_legal, generate
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.core.compiled.memory import aligned_record, copy_record, record_dtype

MAX_DEPTH = 16

_STACK = record_dtype([("positions", POSITION, MAX_DEPTH + 1), ("moves", np.int32, (MAX_DEPTH + 1, MAX_MOVES))])


@kernel
def _count(stack, ply, depth, bulk):
    if bulk and depth == 1:
        return count_legal(stack.positions[ply])
    leaves = 0
    if depth == 0:
        return leaves + 1
    for index in range(generate(stack.positions[ply], stack.moves[ply], ALL, FULL)):
        make(stack.positions[ply + 1], stack.positions[ply], np.int64(stack.moves[ply, index]))
        leaves += _count(stack, ply + 1, depth - 1, bulk) if depth > 1 else 1
    return leaves


@entry
def _perft(stacks, positions, depth, bulk):
    stack = stacks[0]
    copy_record(stack.positions[0], positions[0])
    return _count(stack, np.int64(0), depth, bulk)


def perft(position: np.ndarray, depth: int, bulk: bool = True) -> int:
    """The number of leaves `depth` plies below `position`, POSITION[1].

    With `bulk` the last ply is counted and not played.
    """
    if not 0 <= depth <= MAX_DEPTH:
        raise ValueError(f"perft depth {depth} is not within 0..{MAX_DEPTH}")
    return int(_perft(aligned_record(_STACK), position, depth, bulk))
