"""Piece-value nets as an `Evaluation`: the score is the sum of a value for each piece."""

from __future__ import annotations

import numpy as np

from merino.inner.core.board.position import POSITION
from merino.inner.eval.net.family import NetEvaluation
from merino.inner.eval.net.network import Network
from merino.inner.eval.net.piece_play import install_by_values, value_all


class PieceNetEvaluation(NetEvaluation):
    """A piece-value net. A constant for the side to move belongs to no piece."""

    has_attributed = True

    def _install(self, record: np.ndarray) -> None:
        install_by_values(record)

    def white_scores(self, positions: np.ndarray) -> np.ndarray:
        """See Evaluation."""
        return self._valued(positions, with_pieces=False)[0]

    def attributed(self, positions: np.ndarray) -> np.ndarray:
        """See Evaluation; 0 for kings, which have no value of their own."""
        return self._valued(positions, with_pieces=True)[1]

    def _valued(self, positions: np.ndarray, with_pieces: bool) -> tuple[np.ndarray, np.ndarray]:
        scores, values = np.zeros(len(positions)), np.zeros((len(positions) if with_pieces else 0, 64))
        value_all(np.asarray(positions, dtype=POSITION), self._numbers, self._sums(), scores, values)
        return scores, values


def net_evaluation(network: Network, name: str = "net") -> NetEvaluation:
    """The evaluation of a net of either kind."""
    return (PieceNetEvaluation if network.shape.piece_values else NetEvaluation)(network, name)
