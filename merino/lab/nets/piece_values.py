"""Piece values of an evaluation over many positions: mean and spread by kind and phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.core.board.bitboard import EMPTY, KING
from merino.eval.evaluation import Evaluation

NAMES = ("pawn", "knight", "bishop", "rook", "queen")
ALL = "all"  # phases together
PHASES = {"opening": (21, 99), "middlegame": (9, 21), "endgame": (0, 9)}  # units of pieces, from and below
_UNITS = (0, 1, 1, 2, 4, 0)


@dataclass(frozen=True)
class PieceMean:
    """The value of a kind of piece in centipawns for its owner, over all such pieces on the boards of a phase."""

    piece: str
    phase: str  # "all", or one of PHASES
    pieces: int
    mean: float
    deviation: float


def piece_means(evaluation: Evaluation, positions: np.ndarray, own: bool = False) -> tuple[PieceMean, ...]:
    """By removal over POSITION[n], or with `own` by the evaluation's attributed values.

    Raises EvaluationError for `own` unless the evaluation `has_attributed`.
    """
    board = positions["board"]
    values = evaluation.attributed(positions) if own else evaluation.removals(positions)
    counted = (board != EMPTY) & (board & 7 != KING)
    kinds, flat = board[counted] & 7, values[counted]
    units = np.repeat(np.bitwise_count(positions["pieces"]) @ _UNITS, counted.sum(axis=1))
    found = []
    for phase, (low, high) in {ALL: (0, 99), **PHASES}.items():
        for kind, name in enumerate(NAMES):
            chosen = flat[(kinds == kind) & (units >= low) & (units < high)]
            if len(chosen):
                found.append(PieceMean(name, phase, len(chosen), float(chosen.mean()), float(chosen.std())))
    return tuple(found)
