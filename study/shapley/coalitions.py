"""Positions with some of the pieces of another one: what a score would be without the others.

A piece that is left out is taken off the board. A king cannot be: one that is left out stands at home, on e1 or e8, or
on the nearest square to it that no piece needs. So his value is that of his place, and a king at home has none.
"""

from __future__ import annotations

from collections.abc import Callable

import chess
import numpy as np

from merino.inner.core.board.bitboard import BLACK_PIECE, EMPTY, KING, ONE, SQUARES, WHITE, bit, lsb, type_of
from merino.inner.core.board.position import POSITION, occupied_squares, piece_on
from merino.inner.core.compiled.jit import entry
from merino.inner.core.compiled.memory import copy_record

HOMES = (chess.E1, chess.E8)  # of the kings
POSITIONS_AT_ONCE = 1024  # that fit into the processor's cache

WhiteScores = Callable[[np.ndarray], np.ndarray]  # POSITION[n] -> White's scores in centipawns, float64[n]


@entry
def _fill_coalitions(positions, kept, homes, found):
    """Fill POSITION[n] with positions[0], of whose pieces only those on the squares of kept, uint64[n], take part."""
    position = positions[0]
    for index in range(len(kept)):
        other, absent = found[index], occupied_squares(position) & ~kept[index]
        copy_record(other, position)
        other.castling &= kept[index]
        while absent:
            square = lsb(absent)
            absent &= absent - ONE
            piece, others = piece_on(position, square), ~bit(square)
            colour, kind = piece >> 3, type_of(piece)
            other.pieces[kind] &= others
            other.colours[colour] &= others
            other.board[square] = EMPTY
            if kind == KING:
                other.pieces[KING] |= bit(homes[colour])
                other.colours[colour] |= bit(homes[colour])
                other.board[homes[colour]] = piece


class Coalitions:
    """The pieces of POSITION[1] that may be left out, and White's scores of positions with some of them.

    `squares` are theirs, in order; a king at home is not among them.
    """

    def __init__(self, record: np.ndarray, white_scores: WhiteScores) -> None:
        self._record, self._white_scores = record, white_scores
        board = record[0]["board"].tolist()
        self._homes = np.array(_homes(board), dtype=np.int64)
        fixed = [square for colour, square in enumerate(self._homes) if board[square] == KING + BLACK_PIECE * colour]
        occupied = [square for square in SQUARES if board[square] != EMPTY]
        self.squares = tuple(square for square in occupied if square not in fixed)
        self._fixed = np.uint64(sum(1 << square for square in fixed))
        self._bits = np.array([1 << square for square in self.squares], dtype=np.uint64)

    def sets_of(self, players: np.ndarray) -> np.ndarray:
        """The squares of players, indices into `squares`: uint64 of the same shape."""
        return np.asarray(self._bits[players])

    def scores(self, kept: np.ndarray) -> np.ndarray:
        """White's score of each set of pieces, uint64 of any shape by their squares: float64 of that shape."""
        sets, scores = kept.ravel(), np.zeros(kept.size)
        for first in range(0, len(sets), POSITIONS_AT_ONCE):
            part = slice(first, first + POSITIONS_AT_ONCE)
            scores[part] = self._white_scores(self.positions(sets[part]))
        return scores.reshape(kept.shape)

    def positions(self, kept: np.ndarray) -> np.ndarray:
        """The positions with each set of pieces, uint64[n] by their squares: POSITION[n]."""
        found = np.empty(len(kept), dtype=POSITION)
        _fill_coalitions(self._record, kept | self._fixed, self._homes, found)
        return found


def _homes(board: list[int]) -> list[int]:
    """The squares of the kings that are left out, of White's and of Black's: they are empty, or his own."""
    homes: list[int] = []
    for colour, home in enumerate(HOMES):
        king = KING + BLACK_PIECE * colour
        free = [square for square in SQUARES if board[square] in (EMPTY, king) and square not in homes]
        homes.append(min(free, key=lambda square: (chess.square_distance(square, home), square)))
    return homes


def white_scores_of(record: np.ndarray, scores: WhiteScores) -> WhiteScores:
    """`scores` of the side to move in positions with the turn of POSITION[1], as White's."""
    sign = 1.0 if record[0]["side"] == WHITE else -1.0
    return lambda positions: sign * scores(positions) + 0.0  # so that nothing is never -0
