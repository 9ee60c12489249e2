"""Endgame tables in the search: the result of a position with few pieces is known as soon as it arises.

Tables say who wins if the fifty moves have just begun, so only positions right after a capture or a pawn move are
looked up. A function of Python reads the tables, which takes as long as the search of many nodes: hence only nodes ask
that are searched deeply, and the transposition table keeps the answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from merino.inner.core.board.bitboard import ZERO, popcount
from merino.inner.core.board.move import NO_MOVE
from merino.inner.core.board.position import POSITION, occupied_squares
from merino.inner.core.compiled.calls import Callback, call_python
from merino.inner.core.compiled.jit import kernel
from merino.inner.core.compiled.memory import load_word
from merino.inner.engine.search.limits import DEFAULT_PROBE_DEPTH, MAX_PLY, TABLEBASE_WIN
from merino.inner.engine.search.pruning import NO_CUTOFF
from merino.inner.engine.search.transposition import EXACT, store

LOSS, DRAW, WIN, UNKNOWN = range(-1, 3)  # for the side to move; wins that the fifty moves forbid are draws
_DEEPER_PLIES = 6  # a known result is stored as if it had been searched so much deeper


class TablebaseProbe:
    """Endgame tables for the search; it must live as long as a search may ask.

    `men` is the largest number of pieces, kings included, of a position that they may know, `depth` the depth of the
    shallowest nodes that ask. `hits` counts the positions that were found, and `fault` is the first error of the
    tables, after which they are not asked again.
    """

    def __init__(self, men: int, result_of: Callable[[np.ndarray], int], depth: int = DEFAULT_PROBE_DEPTH) -> None:
        """`result_of` takes POSITION[1] and returns LOSS to UNKNOWN."""
        self.men, self.depth = men, depth
        self.hits = 0
        self.fault: Exception | None = None
        self._result_of = result_of
        self._callback = Callback(self._answer, POSITION)

    def attach(self, record: np.ndarray) -> None:
        """Let the thread of this record ask."""
        record[0]["tablebase"], record[0]["tablebase_men"] = self._callback.address, self.men
        record[0]["tablebase_depth"] = self.depth

    def _answer(self, position: np.ndarray) -> int:
        if self.fault is not None:
            return UNKNOWN
        try:
            found = self._result_of(position)
        except Exception as error:  # noqa: BLE001  (compiled code cannot raise; the error is kept and reported)
            self.fault = error
            return UNKNOWN
        self.hits += found != UNKNOWN
        return found


@kernel
def tablebase_cutoff(s, ply, depth):
    """The score of a node whose result the endgame tables know; else NO_CUTOFF.

    A win counts less the more plies it is away, so that the search makes for it.
    """
    position, here = s.positions[ply], s.plies[ply]
    if ply == 0 or depth < s.tablebase_depth or popcount(occupied_squares(position)) > s.tablebase_men:
        return NO_CUTOFF
    if position.halfmove > 0 or position.castling != ZERO:
        return NO_CUTOFF
    result = call_python(s.tablebase, position)
    if load_word(s.stop_address) != ZERO:
        s.stopped = 1  # the disk may have been slow
    if result == UNKNOWN:
        return NO_CUTOFF
    score, deeper = result * (TABLEBASE_WIN - ply), min(depth + _DEEPER_PLIES, MAX_PLY - 1)
    store(s, ply, NO_MOVE, score, here.raw_eval, deeper, EXACT, here.tt_pv)
    return score
