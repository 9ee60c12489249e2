"""A second family of evaluations: material alone, kept by ply and updated by what each move changes.

It is here to hold the contract of `eval.evaluation`: nothing in search, matches or tuning knows of it.
"""

from typing import Any

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, ONE, lsb
from merino.core.board.makemove import NOTHING, changes_of
from merino.core.board.position import occupied_squares, piece_on
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import array_at, evaluation_address
from merino.engine.search.state import SEARCH
from merino.eval.evaluation import Evaluation
from merino.eval.net.play import last_valid

PLIES = SEARCH["plies"].shape[0]
DEFAULT_VALUES = (100, 300, 300, 500, 900)


@kernel
def material(position, values):
    """White's material less Black's from scratch; `values` int64[14] by piece, Black's below 0."""
    total, pieces = 0, occupied_squares(position)
    while pieces:
        total += values[piece_on(position, lsb(pieces))]
        pieces &= pieces - ONE
    return total


@kernel
def _worth(values, change):
    return 0 if change == NOTHING else values[change >> 6]


@kernel
def white_score(s, ply):
    """White's material less Black's at `ply`, from the nearest ply where it is known."""
    keys = array_at(s.accumulators, np.uint64, PLIES)
    sums = array_at(s.accumulators + np.uint64(8 * PLIES), np.int64, PLIES)
    values = array_at(s.evaluation_data, np.int64, 14)
    known = last_valid(s, keys, ply)
    if known < 0:
        known = ply
        sums[ply] = material(s.positions[ply], values)
    for at in range(known, ply):
        changed = changes_of(s.positions[at], s.plies[at].move)
        gained = _worth(values, changed.added) + _worth(values, changed.added_too)
        sums[at + 1] = sums[at] + gained - _worth(values, changed.removed) - _worth(values, changed.removed_too)
    for at in range(known, ply + 1):
        keys[at] = s.positions[at].key
    return float(sums[ply])


@entry
def _install(records):
    s = records[0]
    s.evaluation = evaluation_address(white_score, s)


@entry
def _material_of_all(positions, values, scores):
    for index in range(len(positions)):
        scores[index] = material(positions[index], values)


class MaterialEvaluation(Evaluation):
    """Centipawns for P, N, B, R and Q."""

    def __init__(self, values: tuple[int, ...] = DEFAULT_VALUES) -> None:
        self.name, self._values = "material", values
        self._by_piece = np.zeros(14, dtype=np.int64)
        self._by_piece[:5] = values
        self._by_piece[BLACK_PIECE : BLACK_PIECE + 5] = [-value for value in values]
        assert EMPTY not in range(5)

    @property
    def identity(self) -> dict[str, Any]:
        return {"material": list(self._values)}

    def install(self, record: np.ndarray) -> object:
        kept = np.zeros(2 * PLIES, dtype=np.uint64)
        record[0]["accumulators"], record[0]["evaluation_data"] = kept.ctypes.data, self._by_piece.ctypes.data
        _install(record)
        return kept, self._by_piece

    def white_scores(self, positions: np.ndarray) -> np.ndarray:
        scores = np.zeros(len(positions))
        _material_of_all(positions, self._by_piece, scores)
        return scores
