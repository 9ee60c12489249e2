"""One search thread: its record, and iterative deepening on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from merino.core.board.game import Position
from merino.core.board.move import SQUARES, Move
from merino.core.compiled.jit import entry
from merino.core.compiled.memory import address_of
from merino.engine.search import iterative_deepening, state
from merino.engine.search.alpha_beta import alpha_beta, quiescence
from merino.engine.search.limits import MAX_PLY, Score
from merino.engine.search.parameters import parameters_for
from merino.engine.search.static_eval import static_evaluation
from merino.engine.search.tablebase_probe import TablebaseProbe
from merino.engine.search.transposition import TranspositionTable
from merino.eval.evaluation import Evaluation


@entry
def link(records):
    """Write the addresses of the search kernels into the record. Only this entry compiles them."""
    s = records[0]
    s.alpha_beta = address_of(alpha_beta, s)
    s.quiescence = address_of(quiescence, s)


@entry
def _set_root(records, positions, keys, age):
    iterative_deepening.set_root(records[0], positions[0], keys, len(keys), age)
    return static_evaluation(records[0], 0)


@entry
def _open_window(records, window, depth, guess):
    """Fill `window`, int64[4]: alpha, beta, half-width and depth of the first search of iteration `depth`."""
    window[0], window[1], window[2] = iterative_deepening.aspiration_window(records[0], depth, guess)
    window[3] = depth


@entry
def _search(records, window, depth):
    """The score of the root in `window`, which is then the next of iteration `depth` if the score is a bound."""
    s, alpha, beta, searched = records[0], window[0], window[1], window[3]
    score = iterative_deepening.search_root(s, alpha, beta, searched)
    if not alpha < score < beta:
        window[3] = iterative_deepening.fail_high_depth(s, score, beta, searched, depth)
        window[0], window[1], window[2] = iterative_deepening.widened_window(score, alpha, beta, window[2])
    return score


@dataclass(frozen=True)
class RootLine:
    """The result of one search of the root."""

    score: Score
    bound: str
    pv: tuple[Move, ...]
    seldepth: int  # the deepest ply reached


class Worker:
    """A thread's search record and its operations. Only one thread at a time may use it."""

    def __init__(
        self,
        table: TranspositionTable,
        stop_flag: np.ndarray,
        evaluation: Evaluation,
        parameters: tuple[int, ...] | None = None,
    ) -> None:
        """`stop_flag` is uint64[1]; the search returns soon after it is set. Parameters as in `set_evaluation`."""
        self.record = state.new_search_record()
        self._stop_flag = stop_flag
        self.record[0]["stop_address"] = stop_flag.ctypes.data
        self._nodes, self._stopped = self.record["nodes"], self.record["stopped"]
        self._window = np.zeros(4, dtype=np.int64)
        link(self.record)
        self.set_table(table)
        self.set_evaluation(evaluation, parameters)

    def set_table(self, table: TranspositionTable) -> None:
        """Use this transposition table from now on."""
        self._table = table
        table.attach(self.record)

    def share_corrections(self, main: Worker) -> None:
        """Use the correction histories of another worker, which must be kept alive."""
        state.share_corrections(self.record, main.record)

    def set_tablebases(self, tablebases: TablebaseProbe | None) -> None:
        """Ask these endgame tables from now on, or none."""
        self.record[0]["tablebase_men"] = 0
        if tablebases is not None:
            tablebases.attach(self.record)

    def set_evaluation(self, evaluation: Evaluation, parameters: tuple[int, ...] | None = None) -> None:
        """Use this evaluation from now on, with these parameters; None for the evaluation's."""
        state.set_parameters(self.record, parameters or parameters_for(evaluation))
        self._installed = evaluation.install(self.record)

    def forget(self) -> None:
        """Clear everything left by earlier searches, except the table."""
        state.forget(self.record)

    def set_root(self, position: Position, full_width: bool) -> Score:
        """Prepare to search `position` without a limit; `full_width` searches without speculative pruning.

        Returns its evaluation for the side to move, without any search.
        """
        keys = np.array(position.keys[-1 - state.PAST :], dtype=np.uint64)
        static = _set_root(self.record, position.record, keys, self._table.age)
        self.record[0]["full_width"] = full_width
        return Score(static)

    def limit_nodes(self, nodes: int) -> None:
        """Stop the search after this many nodes."""
        self.record[0]["node_limit"] = nodes

    @property
    def nodes(self) -> int:
        """Nodes searched since `set_root`."""
        return int(self._nodes[0])

    def share_of(self, move: int) -> float:
        """The share of the nodes since `set_root` spent on this root move, 0..1."""
        return float(self.record[0]["root_nodes"][move & SQUARES]) / max(1, self.nodes)

    @property
    def stopped(self) -> bool:
        """Whether the last search was interrupted."""
        return bool(self._stopped[0])

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

        An interrupted search yields its best result so far, if any, as a lower bound.
        """
        self.record[0]["seldepth"] = 0
        _open_window(self.record, self._window, depth, state.NO_SCORE if guess is None else guess)
        while True:
            alpha, beta = int(self._window[0]), int(self._window[1])
            score = int(_search(self.record, self._window, depth))
            if self.stopped:
                if self._pv():
                    yield self._line(score, "lowerbound")
                return
            if alpha < score < beta:
                yield self._line(score, "")
                return
            yield self._line(score, "upperbound" if score <= alpha else "lowerbound")

    def deepen_until_stopped(self, first_depth: int) -> None:
        """The work of a helper thread of lazy SMP: deepen, and so fill the shared table, until the stop flag is set."""
        guess: int | None = None
        for depth in range(first_depth, MAX_PLY):
            for line in self.search_window(depth, guess):
                guess = line.score
            if self.stopped:
                return

    def _line(self, score: int, bound: str) -> RootLine:
        return RootLine(Score(score), bound, self._pv(), int(self.record[0]["seldepth"]))

    def _pv(self) -> tuple[Move, ...]:
        length = int(self.record[0]["plies"][0]["pv_length"])
        return tuple(Move(move) for move in self.record[0]["pv"][0, :length])
