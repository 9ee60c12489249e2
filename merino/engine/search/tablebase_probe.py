"""Endgame tables in the search: the result of a position with few pieces is known as soon as it arises.

Tables say who wins if the fifty moves have just begun, so only positions right after a capture or a pawn move are
looked up. The transposition table keeps the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from merino.core.board.bitboard import ZERO, popcount
from merino.core.board.move import NO_MOVE
from merino.core.board.position import occupied_squares
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import call_at, load_word
from merino.engine.search.limits import DEFAULT_PROBE_DEPTH, MAX_PLY, TABLEBASE_WIN
from merino.engine.search.pruning import NO_CUTOFF
from merino.engine.search.transposition import EXACT, store
from merino.engine.syzygy.probing import BLESSED_LOSS, CURSED_WIN, LOSS, MAX_MEN, UNKNOWN, WIN

if TYPE_CHECKING:
    from merino.engine.syzygy.table_files import ResultTables


_DEEPER_PLIES = 6  # a known result is stored as if it had been searched so much deeper


class TablebaseProbe:
    """Endgame tables for one search; it must live as long as the search may ask.

    `depth` is the depth of the shallowest nodes that ask.
    """

    def __init__(self, tables: ResultTables, depth: int = DEFAULT_PROBE_DEPTH) -> None:
        self._tables, self._depth = tables, depth
        self._records: list[np.ndarray] = []

    def attach(self, record: np.ndarray) -> None:
        """Let the thread of this record ask."""
        self._tables.attach(record)
        record[0]["tablebase_men"], record[0]["tablebase_depth"] = self._tables.men, self._depth
        record[0]["tablebase_hits"] = 0
        self._records.append(record)

    @property
    def hits(self) -> int:
        """How many positions have been found so far."""
        return sum(int(record[0]["tablebase_hits"]) for record in self._records)

    @property
    def fault(self) -> str | None:
        """What is wrong with a table that was found to be broken; None if none was."""
        return self._tables.fault


@kernel
def tablebase_cutoff(s, ply, depth):
    """The score of a node whose result the endgame tables know; else NO_CUTOFF.

    A win counts less the more plies it is away, so that the search makes for it; one that the fifty moves forbid is a
    draw.
    """
    position, here = s.positions[ply], s.plies[ply]
    if ply == 0 or depth < s.tablebase_depth or popcount(occupied_squares(position)) > s.tablebase_men:
        return NO_CUTOFF
    if s.plies[ply - 1].move == NO_MOVE:  # a null move sets the count of the fifty moves back
        return NO_CUTOFF
    if position.halfmove > 0 or position.castling != ZERO or ply + MAX_MEN > MAX_PLY:
        return NO_CUTOFF
    result = call_at(s.tablebase, s, ply, LOSS, WIN, 0)
    if load_word(s.stop_address) != ZERO:
        s.stopped = 1  # the disk may have been slow
    if result == UNKNOWN:
        return NO_CUTOFF
    s.tablebase_hits += 1
    result = int(result > CURSED_WIN) - int(result < BLESSED_LOSS)
    score, deeper = result * (TABLEBASE_WIN - ply), min(depth + _DEEPER_PLIES, MAX_PLY - 1)
    store(s, ply, NO_MOVE, score, here.raw_eval, deeper, EXACT, here.tt_pv)
    return score
