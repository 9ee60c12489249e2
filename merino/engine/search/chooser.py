"""Weakened play: a move drawn as a person of some strength would choose it, by what searches see and by habit."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from merino.core.board.bitboard import BISHOP, ROOK, popcount
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.engine.search.choice import FIRST_HABIT, SIGHTS, expected_scores, people, search_all, shown_by
from merino.engine.search.known_openings import known_moves
from merino.engine.search.limits import MATE_IN_MAX_PLY, MAX_PLY
from merino.engine.search.state import PAST
from merino.engine.search.strength import NETS, TERMS, Strength
from merino.engine.search.transposition import TranspositionTable
from merino.engine.search.worker import Worker
from merino.eval.evaluation import Evaluation
from merino.eval.linear.family import LinearEvaluation

DEEP_SIGHTS = (8192, 32768)  # nodes of searches that strong levels make, beyond those of the model of choice
_WORTH_A_LOOK = 5.0  # a move e^-5 times as likely as the likeliest so far is not looked at more deeply
_UNHEARD_OF = 20.0  # a rook or bishop in place of a queen, which only some endings want, is e^-20 times as likely
_TABLE_MB = 1
KNOWN_SHARE = 0.95  # of the moves where an opening with a name goes on, which players of all levels know


def has_bare_king(position: Position, side: int) -> bool:
    """Whether this side has nothing but its king."""
    return popcount(position.record[0]["colours"][side]) == 1


class ChosenMove(NamedTuple):
    """A move, and the nodes that the choice took."""

    move: Move
    nodes: int


class Chooser:
    """Chooses moves with one evaluation. What it knows lies in the position alone: no earlier search changes a choice.

    Only one thread at a time may use it.
    """

    def __init__(self, evaluation: Evaluation, parameters: tuple[int, ...], stop_flag: np.ndarray) -> None:
        """`stop_flag` is uint64[1]; a choice is made soon after it is set."""
        self._table = TranspositionTable(_TABLE_MB)
        self._worker = Worker(self._table, stop_flag, evaluation, parameters)
        self._stop_flag, self._k = stop_flag, evaluation.k
        self._kind = TERMS if isinstance(evaluation, LinearEvaluation) else NETS

    def choose(
        self,
        position: Position,
        allowed: Sequence[int],
        strength: Strength,
        random: Random,
        last_depth: int = MAX_PLY - 1,
        most_nodes: int | None = None,
    ) -> ChosenMove:
        """One of the allowed legal moves, drawn by its chance for a player of this strength.

        Known openings are mostly followed, and a mate that is seen is played. `last_depth` and `most_nodes` bound the
        searches; that of the shallowest sight is made in any case.
        """
        known = {move: count for move, count in known_moves(position).items() if move in allowed}
        if known and random.random() < KNOWN_SHARE:
            return ChosenMove(Move(random.choices(list(known), list(known.values()))[0]), 0)
        before = np.array([[0, 0, *position.moves][-2:]], dtype=np.int64)
        _, moves, children, columns = shown_by(position.record, before)
        wanted = np.flatnonzero(np.isin(moves, np.array(allowed, dtype=np.int32)))
        moves, children = moves[wanted], children[wanted]
        likings = columns[wanted, FIRST_HABIT:] @ people().usual(strength.elo)[FIRST_HABIT:]
        likings[[Move(move).promotion in (BISHOP, ROOK) for move in moves.tolist()]] -= _UNHEARD_OF
        past = np.array(position.keys[-PAST:], dtype=np.uint64)
        self._worker.forget()
        self._table.clear()
        kept, total = np.arange(len(moves)), 0
        for number, (nodes, weight) in enumerate(
            zip((*SIGHTS, *DEEP_SIGHTS), strength.sights(self._kind), strict=False)
        ):
            if number and (weight == 0 or (most_nodes is not None and total + nodes * len(kept) > most_nodes)):
                continue
            scores = np.zeros(len(kept), dtype=np.int64)
            total += search_all(self._worker.record, children[kept], past, nodes, max(1, last_depth - 1), scores)
            if self._stop_flag[0]:
                break
            if (-scores).max() >= MATE_IN_MAX_PLY:
                return ChosenMove(Move(int(moves[kept[np.argmin(scores)]])), total)
            chances = expected_scores(-scores, self._k)
            likings[kept] += weight * (chances - chances.max())
            kept = kept[likings[kept] >= likings[kept].max() - _WORTH_A_LOOK]
        weights = np.exp(likings[kept] - likings[kept].max())
        return ChosenMove(Move(random.choices(moves[kept].tolist(), weights.tolist())[0]), total)
