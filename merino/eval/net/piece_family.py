"""Piece-value nets in a search and as an `Evaluation`: the score is the sum of a value for each piece.

After its neurons, each side's sums hold the sum of its own pieces' output rows, and then the sum of their constants. So
only longer rows have to be updated, and the sum of all values costs no more than a single value.
"""

from __future__ import annotations

import numpy as np

from merino.core.board.bitboard import EMPTY, KING, U64, WHITE
from merino.core.board.position import side_to_move
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import array_at, evaluation_address
from merino.eval.net.family import NetEvaluation, countable
from merino.eval.net.features import SCRATCH
from merino.eval.net.network import QA, QB, QR, QV, SCALE, VALUE, Network
from merino.eval.net.play import (
    HIDDEN,
    MAX_ACTIVE,
    OUTPUT_BIAS,
    PIECE_ROWS,
    fill_root,
    fill_sums,
    net_at,
    next_by_piece,
    sums_at,
    update_sums,
)
from merino.eval.net.view import VIEW_SIZE

ROW_OF_NEURONS = U64(2)  # bytes of each number


@kernel
def _value(net, own, other, row):
    """The value of a piece's row, or of a sum of rows, to its owner in centipawns; all three are addresses.

    `own` and `other` are the sums of its owner's view and of the other one.
    """
    hidden = np.int64(net.numbers[HIDDEN])
    mine, theirs = array_at(own, np.int16, hidden), array_at(other, np.int16, hidden)
    weights = array_at(row, np.int16, 2 * hidden + 1)
    total = np.int64(0)
    for k in range(hidden):
        first, second = np.int64(min(max(mine[k], 0), QA)), np.int64(min(max(theirs[k], 0), QA))
        if net.squares:
            first, second = first * first, second * second
        total += first * np.int64(weights[k]) + second * np.int64(weights[hidden + k])
    scaled = total * (1 / QA) if net.squares else float(total)
    return (scaled * (1 / (QA * QR)) + weights[2 * hidden] * (VALUE / QV)) * SCALE


@kernel
def _sum_of_values(net, sums, side):
    """White's score from the address of both sides' sums; `side` is to move."""
    white, black = sums, sums + net.row
    behind = ROW_OF_NEURONS * net.numbers[HIDDEN]
    score = _value(net, white, black, white + behind) - _value(net, black, white, black + behind)
    to_move = array_at(net.numbers[OUTPUT_BIAS], np.int16, 1)[0] * (SCALE / (QA * QB))
    return score + to_move if side == WHITE else score - to_move


@kernel
def white_score_by_values(s, ply):
    """White's score at `ply` of a search record before draw rules, float64."""
    net = net_at(s.evaluation_data)
    update_sums(s, net, ply, next_by_piece, fill_root)
    return _sum_of_values(net, sums_at(s, net, ply), side_to_move(s.positions[ply]))


@entry
def install_by_values(records):
    """Let a search record evaluate by `white_score_by_values`."""
    s = records[0]
    s.evaluation = evaluation_address(white_score_by_values, s)


@entry
def value_all(positions, numbers, memory, scores, values):
    """Fill `scores`, float64[n], with White's scores, `values`, float64[n, 64], with each piece's value to its owner.

    If `values` is float64[0, 64], it is not filled. `memory`, int16[2 * 32 * blocks], is scratch.
    """
    net, sums = net_at(numbers.ctypes.data), U64(memory.ctypes.data)
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(SCRATCH, dtype=np.int32)
    active = np.zeros((2, 1 + np.int64(numbers[MAX_ACTIVE])), dtype=np.int32)
    for index in range(len(positions)):
        position = positions[index]
        fill_sums(net, position, sums, view, scratch, active)
        scores[index] = _sum_of_values(net, sums, side_to_move(position))
        if len(values):
            _fill_values(net, position, sums, values[index])


@kernel
def _fill_values(net, position, sums, values):
    """Fill float64[64] with the value of each piece for its owner; 0 for kings and empty squares."""
    behind = ROW_OF_NEURONS * net.numbers[HIDDEN]
    for square in range(64):
        piece = np.int64(position.board[square])
        if piece & 7 >= KING or piece == EMPTY:
            values[square] = 0.0
            continue
        side = piece >> 3
        row = net.numbers[PIECE_ROWS] + U64(2 * (64 * piece + square) + side) * net.row
        own, other = sums + U64(side) * net.row, sums + U64(1 - side) * net.row
        values[square] = _value(net, own, other, row + behind)


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
        value_all(countable(positions), self._numbers, self._sums(), scores, values)
        return scores, values


def net_evaluation(network: Network, name: str = "net") -> NetEvaluation:
    """The evaluation of a net of either kind."""
    return (PieceNetEvaluation if network.shape.piece_values else NetEvaluation)(network, name)
