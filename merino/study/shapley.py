"""Shapley values: what each piece adds to the score, on average over all orders in which the pieces could come.

In one order a piece adds the difference that it makes to the score of those before it. So what pieces earn together
is shared evenly, and the values add up to the score. With few pieces every set is scored, which is exact. With more,
orders are drawn, each together with its reverse: a piece that comes early in one comes late in the other (antithetic
sampling). They are drawn until the standard error of each value is small enough; the same position and evaluation
always give the same values.

What a set of pieces scores is the score of the position without the others. A piece that is left out is taken off the
board. A king cannot be: one that is left out stands at home, on e1 or e8, or on the nearest square to it that no piece
needs. So his value is that of his place, and a king at home has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import chess
import numpy as np

from merino.core.board import bitboard
from merino.core.board.position import POSITION, occupied_squares, piece_on
from merino.core.compiled import memory
from merino.core.compiled.jit import entry
from merino.engine.report.schema import ShapleyReport
from merino.eval.evaluation import Evaluation
from merino.eval.explanation import take_off

MAX_EXACT = 17  # pieces of which every set is scored
DEFAULT_ERROR = 2.0  # centipawns, of a value
MOVE_ERROR = 5.0  # where values before and after a move are compared
MIN_ERROR, MAX_ERROR = 0.05, 1000.0
MAX_PAIRS = 1 << 16  # of orders: enough for 0.2 centipawns
_PAIRS_AT_ONCE = 32
_SEED = 20261124
HOMES = (chess.E1, chess.E8)  # of the kings
POSITIONS_AT_ONCE = 1024  # that fit into the processor's cache

WhiteScores = Callable[[np.ndarray], np.ndarray]  # POSITION[n] -> White's scores in centipawns, float64[n]


@dataclass(frozen=True)
class ShapleyValues:
    """The values of all pieces by square, from a1 to h8, from White's view: `baseline` and they add up to `score`.

    `baseline` is the score of the two kings at home; `orders` is the number of those drawn, 0 if all sets were scored.
    """

    pieces: Mapping[str, ShapleyReport]
    baseline: float
    score: float
    orders: int

    @property
    def error(self) -> float:
        """The largest standard error."""
        return max((piece.error for piece in self.pieces.values()), default=0.0)


def shapley_values(
    record: np.ndarray, evaluation: Evaluation, error: float = DEFAULT_ERROR, origins: Mapping[int, int] | None = None
) -> ShapleyValues:
    """The values of the pieces of POSITION[1] in the score after the draw rules, in whole centipawns.

    No value has a larger standard error than `error`, in centipawns, unless MAX_PAIRS of orders are not enough.
    `origins` has where pieces stood before a move, by their squares: then each order is that of the position before,
    and what changes by the move has a smaller error than the values.
    """
    sign = 1.0 if record[0]["side"] == bitboard.WHITE else -1.0
    return shapley_of(record, lambda positions: sign * evaluation.scores(positions) + 0.0, error, origins)  # never -0


def shapley_of(
    record: np.ndarray,
    white_scores: WhiteScores,
    error: float = DEFAULT_ERROR,
    origins: Mapping[int, int] | None = None,
) -> ShapleyValues:
    """The same for any score of positions, with the turn of POSITION[1], from White's view."""
    game = Coalitions(record, white_scores)
    players = len(game.squares)
    everyone = game.sets_of(np.arange(players)).sum(keepdims=True, dtype=np.uint64)
    baseline, score = game.scores(np.concatenate([np.zeros(1, dtype=np.uint64), everyone])).tolist()

    def found(values: np.ndarray, errors: np.ndarray, drawn: int) -> ShapleyValues:
        known = dict(zip(game.squares, zip(values.tolist(), errors.tolist(), strict=True), strict=True))
        occupied = np.flatnonzero(record[0]["board"] != bitboard.EMPTY).tolist()
        pieces = {bitboard.SQUARE_NAMES[square]: ShapleyReport(*known.get(square, (0.0, 0.0))) for square in occupied}
        return ShapleyValues(pieces, baseline, score, drawn)

    if players <= MAX_EXACT:
        return found(_exact(game), np.zeros(players), 0)
    places = [(origins or {}).get(square, square) for square in game.squares]
    draw = np.random.default_rng(_SEED)
    total, squares, pairs = np.zeros(players), np.zeros(players), 0
    while True:
        orders = draw.random((_PAIRS_AT_ONCE, len(bitboard.SQUARES)))[:, places].argsort(axis=1)
        gains = _gains_of_pairs(game, orders, baseline, score)
        total, squares, pairs = total + gains.sum(axis=0), squares + (gains**2).sum(axis=0), pairs + len(gains)
        mean = total / pairs
        errors = np.sqrt(np.maximum(squares / pairs - mean**2, 0) / (pairs - 1))
        if errors.max() <= error or pairs >= MAX_PAIRS:
            return found(mean, errors, 2 * pairs)


def _exact(game: Coalitions) -> np.ndarray:
    """The values from the scores of all sets, float64[players]."""
    players = len(game.squares)
    if not players:
        return np.zeros(0)
    sets = np.zeros(1, dtype=np.uint64)  # set number s has piece i where s has bit i
    for piece in game.sets_of(np.arange(players)):
        sets = np.concatenate([sets, sets | piece])
    scores = game.scores(sets)
    sizes = np.bitwise_count(np.arange(1 << players - 1))
    weights = np.array([1 / (players * math.comb(players - 1, size)) for size in range(players)])[sizes]
    values = np.zeros(players)
    for player in range(players):
        pairs = scores.reshape(-1, 2, 1 << player)  # without the player, and with him
        values[player] = (weights * (pairs[:, 1] - pairs[:, 0]).ravel()).sum()
    return values


def _gains_of_pairs(game: Coalitions, orders: np.ndarray, baseline: float, score: float) -> np.ndarray:
    """What each piece adds in these orders and their reverses, the mean of both: float64[orders, players]."""
    pairs = len(orders)
    orders = np.concatenate([orders, orders[:, ::-1]])
    sets = np.bitwise_or.accumulate(game.sets_of(orders), axis=1)[:, :-1]
    ends = [np.full((len(orders), 1), value) for value in (baseline, score)]
    steps = np.diff(np.concatenate([ends[0], game.scores(sets), ends[1]], axis=1), axis=1)
    gains = np.empty(steps.shape)
    np.put_along_axis(gains, orders, steps, axis=1)
    return (gains[:pairs] + gains[pairs:]) / 2


@entry
def _fill_coalitions(positions, kept, homes, found):
    """Fill POSITION[n] with positions[0], of whose pieces only those on the squares of kept, uint64[n], take part."""
    position = positions[0]
    for index in range(len(kept)):
        other, absent = found[index], occupied_squares(position) & ~kept[index]
        memory.copy_record(other, position)
        while absent:
            square = bitboard.lsb(absent)
            absent &= absent - bitboard.ONE
            take_off(other, square)
            piece = piece_on(position, square)
            if bitboard.type_of(piece) == bitboard.KING:
                home = homes[bitboard.colour_of(piece)]
                other.pieces[bitboard.KING] |= bitboard.bit(home)
                other.colours[bitboard.colour_of(piece)] |= bitboard.bit(home)
                other.board[home] = piece


class Coalitions:
    """The pieces of POSITION[1] that may be left out, and White's scores of positions with some of them.

    `squares` are theirs, in order; a king at home is not among them.
    """

    def __init__(self, record: np.ndarray, white_scores: WhiteScores) -> None:
        self._record, self._white_scores = record, white_scores
        board = record[0]["board"].tolist()
        self._homes = np.array(_homes(board), dtype=np.int64)
        fixed = [
            square
            for colour, square in enumerate(self._homes)
            if board[square] == bitboard.KING + bitboard.BLACK_PIECE * colour
        ]
        occupied = [square for square in bitboard.SQUARES if board[square] != bitboard.EMPTY]
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
        king = bitboard.KING + bitboard.BLACK_PIECE * colour
        free = [
            square for square in bitboard.SQUARES if board[square] in (bitboard.EMPTY, king) and square not in homes
        ]
        homes.append(min(free, key=lambda square: (chess.square_distance(square, home), square)))
    return homes
