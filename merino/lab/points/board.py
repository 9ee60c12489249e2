"""The value of a piece on the board, on average: by the evaluation, over all positions of games.

Removal and attributed values (see `eval.linear.explain`) of each piece in each position, by kind of piece and phase of
the game: their number, mean, spread and quantiles. The unit is the mean pawn of all these positions, as in the table of
Team 44's report on a network that gives each piece a value; each way of valuing has its own unit. The module also
counts how often the side preferred by the evaluation won the game.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, KING, WHITE
from merino.core.board.makemove import make
from merino.core.board.position import POSITION
from merino.core.common.work import in_order
from merino.core.compiled.jit import entry
from merino.core.compiled.memory import copy_record
from merino.eval.evaluation import Evaluation
from merino.formats.pgn_games import Games, GamesText, games_of, play_games
from merino.formats.pgn_tokens import BLACK_WON, WHITE_WON
from merino.formats.sources import SourceError, name_of, open_source, plain_name
from merino.lab.points.games import (
    PHASES,
    PIECES,
    Collection,
    Notice,
    PointsRequest,
    ProgressOf,
    SourceFaults,
    Vectors,
    is_matrix,
    joined,
    notice_faults,
    phase_of,
    vectors_of_games,
)
from merino.study.errors import StudyError

WAYS = ("removal", "attributed")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
TEAM_44 = (1.00, 2.94, 3.13, 4.96, 9.87)  # the table of their report
TEAM_44_PREDICTED = 0.75  # share of winners predicted by White's expected score above one half, by their report
GAMES_AT_ONCE = 32  # whose positions are valued together
_MIN_VALUE, _MAX_VALUE = -4000, 8000  # centipawns; values beyond count as these in quantiles, not in means
_BINS = _MAX_VALUE - _MIN_VALUE + 1


@dataclass(frozen=True)
class Spread:
    """The values of pieces of one kind: number, mean, standard deviation and QUANTILES; nan if there are none."""

    number: int
    mean: float
    deviation: float
    quantiles: tuple[float, ...]

    def over(self, unit: float) -> Spread:
        """The same in other units."""
        return Spread(self.number, self.mean / unit, self.deviation / unit, tuple(q / unit for q in self.quantiles))


@dataclass(frozen=True)
class Prediction:
    """How often the side with an expected score above one half has won: the share of positions of decided games.

    A position at one half predicts no winner and counts half. `share` is nan if there is no position; `error` is half
    the width of its 95% interval, clustered by game.
    """

    positions: int
    share: float
    error: float


@dataclass(frozen=True)
class BoardValues:
    """The values of the pieces on the board in these games.

    `spreads` are in pawns, by way, piece and phase, None for all phases; `pawns` are these pawns in centipawns by way;
    `predictions` are by phase, None for all; `vectors` are those of the same games, for the regression.
    """

    label: str
    evaluation: str
    games: int
    positions: int
    pawns: dict[str, float]
    spreads: dict[tuple[str, str, str | None], Spread]
    predictions: dict[str | None, Prediction]
    vectors: Vectors


class BoardTally:
    """Sums over pieces and positions: by way, phase and kind, and by phase and game."""

    def __init__(self) -> None:
        shape = (len(WAYS), len(PHASES), len(PIECES))
        self.counts = np.zeros((*shape, _BINS), dtype=np.int64)
        self.sums, self.squares = np.zeros(shape), np.zeros(shape)
        self.right: list[np.ndarray] = []  # float64[games, phases], positions of decided games predicted right
        self.seen: list[np.ndarray] = []  # float64[games, phases], positions of decided games
        self.positions = 0

    def add(self, other: BoardTally) -> None:
        """Add the counts of another."""
        self.counts += other.counts
        self.sums += other.sums
        self.squares += other.squares
        self.right += other.right
        self.seen += other.seen
        self.positions += other.positions

    def add_values(self, way: int, phase: np.ndarray, kind: np.ndarray, values: np.ndarray) -> None:
        """Values in centipawns of pieces by phase and kind, [n] each."""
        cell = phase.astype(np.int64) * len(PIECES) + kind
        size = len(PHASES) * len(PIECES)
        bins = np.clip(np.rint(values).astype(np.int64), _MIN_VALUE, _MAX_VALUE) - _MIN_VALUE
        shape = self.sums[way].shape
        self.counts[way] += np.bincount(cell * _BINS + bins, minlength=size * _BINS).reshape(*shape, _BINS)
        self.sums[way] += np.bincount(cell, weights=values, minlength=size).reshape(shape)
        self.squares[way] += np.bincount(cell, weights=values**2, minlength=size).reshape(shape)

    def spread(self, way: int, kind: int, phase: int | None) -> Spread:
        """The values of a kind of piece in centipawns."""
        phases = slice(None) if phase is None else slice(phase, phase + 1)
        counts = self.counts[way, phases, kind].sum(axis=0)
        number = int(counts.sum())
        if not number:
            return Spread(0, math.nan, math.nan, (math.nan,) * len(QUANTILES))
        mean = float(self.sums[way, phases, kind].sum()) / number
        square = float(self.squares[way, phases, kind].sum()) / number
        reached = np.cumsum(counts)
        places = [int(np.searchsorted(reached, share * number)) + _MIN_VALUE for share in QUANTILES]
        return Spread(number, mean, math.sqrt(max(0.0, square - mean**2)), tuple(map(float, places)))

    def predictions(self, phase: int | None) -> Prediction:
        """The share of positions predicted right, by resampled games."""
        phases = slice(None) if phase is None else slice(phase, phase + 1)
        right, seen = (np.concatenate(parts)[:, phases].sum(axis=1) for parts in (self.right, self.seen))
        total = seen.sum()
        if not total:
            return Prediction(0, math.nan, math.nan)
        share = right.sum() / total
        error = 1.96 * math.sqrt(float(((right - share * seen) ** 2).sum())) / total
        return Prediction(int(total), float(share), float(error))


@entry
def _unfold(table, numbers, starts, moves, positions, game):
    """Fill in every position of the games table[numbers] after a move; how many."""
    stack, found = np.zeros(2, dtype=POSITION), 0
    for index in range(len(numbers)):
        record = table[numbers[index]]
        copy_record(stack[0], starts[record.position])
        for ply in range(record.plies):
            before, after = stack[ply & 1], stack[(ply + 1) & 1]
            make(after, before, np.int64(moves[record.first + ply]))
            copy_record(positions[found], after)
            game[found] = index
            found += 1
    return found


@entry
def _phases(positions, phases):
    for index in range(len(positions)):
        phases[index] = phase_of(positions[index])


def positions_of(games: Games, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every position after a move of the games of these numbers, POSITION[n], and the place of its game in them."""
    capacity = int(games.table["plies"][numbers].sum())
    positions, game = np.empty(capacity, dtype=POSITION), np.zeros(capacity, dtype=np.int32)
    _unfold(games.table, numbers, games.starts, games.moves, positions, game)
    return positions, game


def board_values(
    path: Path, evaluation: Evaluation, request: PointsRequest, progress_of: ProgressOf, notice: Notice
) -> BoardValues:
    """The values of the pieces on the board in the games of a file that pass the filters.

    Raises SourceError, StudyError if no game passes, and EvaluationError if the evaluation gives no values of pieces.
    """

    def part_of(text: GamesText) -> tuple[Vectors, SourceFaults, BoardTally]:
        games = play_games(text.data, text.table, 1, text.lines_before)
        vectors, numbers = vectors_of_games(games)
        if request.filters:
            chosen = Collection.of_games(games, numbers, vectors.results).chosen(request)
            vectors, numbers = vectors.of_games(chosen), numbers[chosen]
        tally = BoardTally()
        for first in range(0, len(numbers), GAMES_AT_ONCE):
            add_games(tally, games, numbers[first : first + GAMES_AT_ONCE], evaluation)
        return vectors, SourceFaults.of(games), tally

    parts, tally = [], BoardTally()
    with open_source(path) as stream:
        if is_matrix(stream.head, plain_name(path).suffix.lower()):
            raise StudyError(f"'{stream.name}' is a matrix: it has no positions")
        with progress_of(f"Valuing {stream.name}") as progress:
            for vectors, faults, part in in_order(part_of, games_of(stream)):
                parts.append((vectors, faults))
                tally.add(part)
                progress(stream.done)
    notice_faults(name_of(path), [faults for _, faults in parts], notice)
    if not tally.positions:
        raise SourceError(f"{name_of(path, quoted=True)} holds no game that can be read and passes the filters")
    return _values_of(name_of(path), evaluation, tally, joined([vectors for vectors, _ in parts]))


def add_games(tally: BoardTally, games: Games, numbers: np.ndarray, evaluation: Evaluation) -> None:
    """Value every piece in every position of these games."""
    positions, game = positions_of(games, numbers)
    phases = np.zeros(len(positions), dtype=np.int64)
    _phases(positions, phases)
    board = positions["board"]
    index, square = np.nonzero((board != EMPTY) & (board % BLACK_PIECE != KING))
    kind = (board[index, square] % BLACK_PIECE).astype(np.int64)
    for way, values in enumerate((evaluation.removals(positions), evaluation.attributed(positions))):
        tally.add_values(way, phases[index], kind, values[index, square].astype(np.float64))
    tally.positions += len(positions)
    scores = evaluation.scores(positions) * np.where(positions["side"] == WHITE, 1, -1)
    _count_predictions(tally, games.table["result"][numbers], game, phases, scores)


def _count_predictions(
    tally: BoardTally, results: np.ndarray, game: np.ndarray, phases: np.ndarray, scores: np.ndarray
) -> None:
    """Count the positions of decided games where White's scores are on the side of the winner."""
    winner = np.select([results == WHITE_WON, results == BLACK_WON], [1, -1], 0)[game]
    decided = winner != 0
    right = np.where(np.sign(scores) == winner, 1.0, np.where(scores == 0, 0.5, 0.0))
    cell, size = game.astype(np.int64) * len(PHASES) + phases, len(results) * len(PHASES)
    shape = (len(results), len(PHASES))
    tally.right.append(np.bincount(cell[decided], weights=right[decided], minlength=size).reshape(shape))
    tally.seen.append(np.bincount(cell[decided], minlength=size).reshape(shape).astype(np.float64))


def _values_of(label: str, evaluation: Evaluation, tally: BoardTally, vectors: Vectors) -> BoardValues:
    """The sums as values in pawns."""
    pawns = {way: tally.spread(number, 0, None).mean for number, way in enumerate(WAYS)}
    if not all(pawn > 0 for pawn in pawns.values()):
        raise StudyError(f"a pawn is worth nothing here by {evaluation.name}, so nothing can be said in pawns")
    named: list[tuple[int | None, str | None]] = [(None, None), *enumerate(PHASES)]
    spreads = {
        (way, piece, name): tally.spread(number, kind, phase).over(pawns[way])
        for number, way in enumerate(WAYS)
        for kind, piece in enumerate(PIECES)
        for phase, name in named
    }
    return BoardValues(
        label=label,
        evaluation=evaluation.name,
        games=vectors.games,
        positions=tally.positions,
        pawns=pawns,
        spreads=spreads,
        predictions={name: tally.predictions(phase) for phase, name in named},
        vectors=vectors,
    )
