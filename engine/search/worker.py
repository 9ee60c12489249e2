"""One search thread: its record, and iterative deepening on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.game import Position
from engine.jit import entry
from engine.move import Move
from engine.recursion import address_of
from engine.search.limits import MATE_IN_MAX_PLY, MAX_PLY, Score
from engine.search.node import alpha_beta
from engine.search.quiescence import quiescence
from engine.search.state import INFINITE, PAST, forget, new_search_record
from engine.search.transposition import AGES, TranspositionTable
from eval.registry import TERMS

NO_LIMIT = 1 << 62
PIECE_VALUE_TERMS = ("VAL_P", "VAL_N", "VAL_B", "VAL_R", "VAL_Q")
ASPIRATION_DEPTH = 5  # first iteration with a narrow window


@entry
def _search(records, alpha, beta, depth):
    """Search the root of this record to `depth` in (alpha, beta); releases the GIL."""
    s = records[0]
    s.node = address_of(alpha_beta, s)
    s.quiet_node = address_of(quiescence, s)
    return alpha_beta(s, 0, alpha, beta, depth)


@dataclass(frozen=True)
class RootLine:
    """What one search of the root found."""

    score: Score
    bound: str
    pv: tuple[Move, ...]


class Worker:
    """A thread's record and what can be done with it. One thread at a time may use it."""

    def __init__(self, table: TranspositionTable, stop_flag: np.ndarray, weights: np.ndarray) -> None:
        """`stop_flag` is uint64[1]; the search returns soon after it is set."""
        self.record = new_search_record()
        self._stop_flag = stop_flag
        self.record[0]["stop_address"] = stop_flag.ctypes.data
        self._nodes, self._stopped = self.record["nodes"], self.record["stopped"]
        table.attach(self.record)
        self.set_weights(weights)

    def set_weights(self, weights: np.ndarray) -> None:
        """Evaluate with these weights; exchanges are counted in their piece values."""
        self.record[0]["weights"][:] = weights
        names = [term.name for term in TERMS]
        for kind, name in enumerate(PIECE_VALUE_TERMS):
            self.record[0]["values"][kind] = round(float(weights[names.index(name)]))

    def forget(self) -> None:
        """Clear what earlier searches taught."""
        forget(self.record)

    def set_root(self, position: Position, age: int, full_width: bool) -> None:
        """Get ready to search `position`, without a limit; at `full_width` nothing is pruned on a guess."""
        record = self.record[0]
        record["positions"][0] = position.record[0]
        past = position.keys[-1 - PAST : -1]
        record["past"] = len(past)
        record["keys"][: len(past)] = past
        record["keys"][len(past)] = position.keys[-1]
        record["age"] = age % AGES
        record["node_limit"] = NO_LIMIT
        record["full_width"] = full_width
        record["nodes"] = record["stopped"] = record["current_number"] = 0

    def limit_nodes(self, nodes: int) -> None:
        """Break the search off after this many nodes."""
        self.record[0]["node_limit"] = nodes

    @property
    def nodes(self) -> int:
        """Nodes searched since `set_root`."""
        return int(self._nodes[0])

    @property
    def stopped(self) -> bool:
        """Whether the last search was broken off."""
        return bool(self._stopped[0])

    @property
    def seldepth(self) -> int:
        """The deepest ply reached in this iteration."""
        return int(self.record[0]["seldepth"])

    @property
    def current_move(self) -> tuple[int, int]:
        """The root move under search, and its number from 1 (0 before the first)."""
        return int(self.record[0]["current_move"]), int(self.record[0]["current_number"])

    def allow(self, moves: Sequence[int] | None) -> None:
        """Search only these moves at the root, or all of them for None."""
        record = self.record[0]
        record["root_count"] = 0 if moves is None else len(moves)
        if moves is not None:
            record["root_moves"][: len(moves)] = moves

    def search_window(self, depth: int, guess: int | None) -> Iterator[RootLine]:
        """Search to `depth` with windows around `guess`; yields each result that is a bound, then the exact one.

        A search that was broken off yields what it has found so far, if anything, as a lower bound.
        """
        self.record[0]["seldepth"] = 0
        width = int(self.record[0]["parameters"]["aspiration_window"])
        narrow = guess is not None and depth >= ASPIRATION_DEPTH and abs(guess) < MATE_IN_MAX_PLY
        alpha = max(guess - width, -INFINITE) if narrow and guess is not None else -INFINITE
        beta = min(guess + width, INFINITE) if narrow and guess is not None else INFINITE
        while True:
            score = int(_search(self.record, alpha, beta, depth))
            if self.stopped:
                if self._line():
                    yield RootLine(Score(score), "lowerbound", self._line())
                return
            if alpha < score < beta:
                yield RootLine(Score(score), "", self._line())
                return
            yield RootLine(Score(score), "upperbound" if score <= alpha else "lowerbound", self._line())
            width += width // 2
            if score <= alpha:
                alpha, beta = max(score - width, -INFINITE), (alpha + beta) // 2
            else:
                beta = min(score + width, INFINITE)
            if width > 1000:
                alpha, beta = -INFINITE, INFINITE

    def deepen_until_stopped(self, first_depth: int) -> None:
        """What a helper thread does: deepen for the shared table until the stop flag is set."""
        guess: int | None = None
        for depth in range(first_depth, MAX_PLY):
            for line in self.search_window(depth, guess):
                guess = line.score
            if self.stopped:
                return

    def _line(self) -> tuple[Move, ...]:
        length = int(self.record[0]["plies"][0]["pv_length"])
        return tuple(Move(move) for move in self.record[0]["pv"][0, :length])
