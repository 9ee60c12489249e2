"""The neighbours of a position: what legal moves and small changes make of it."""

from __future__ import annotations

import numpy as np

from merino.inner.core.board.bitboard import ZERO
from merino.inner.core.board.makemove import make_null
from merino.inner.core.board.movegen import MAX_MOVES, make_each
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.jit import entry
from merino.inner.core.compiled.memory import copy_record
from merino.inner.study.shapley.coalitions import Coalitions

MAX_NEIGHBOURS = 4096  # by moves


@entry
def _fill_neighbours(positions, moves, found):
    """Fill POSITION[n] with a legal position, those one ply and two plies on, and those one ply after a null move."""
    position = positions[0]
    copy_record(found[0], position)
    ahead = make_each(position, moves, found, 1)
    count = ahead
    if position.checkers == ZERO:
        make_null(found[count], position)
        count = make_each(found[count], moves, found, count + 1)
    for index in range(1, ahead):
        count = make_each(found[index], moves, found, count)
    return count


def neighbours(record: np.ndarray) -> np.ndarray:
    """The legal POSITION[1] itself, first, and what up to two plies make of it, for both sides: POSITION[n]."""
    found = np.empty(MAX_NEIGHBOURS, dtype=POSITION)
    return found[: _fill_neighbours(record, np.zeros(MAX_MOVES, dtype=np.int32), found)]


def without_pieces(record: np.ndarray) -> np.ndarray:
    """POSITION[1] without each single piece, and without each pair: POSITION[n]; see `Coalitions` for kings."""
    game = Coalitions(record, lambda positions: np.zeros(len(positions)))
    squares = game.sets_of(np.arange(len(game.squares)))
    first, second = np.triu_indices(len(squares))
    return game.positions(squares.sum(dtype=np.uint64) & ~(squares[first] | squares[second]))
