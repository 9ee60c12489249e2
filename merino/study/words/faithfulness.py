"""How far the words on a net can be trusted, as figures over many positions.

A sentence says that the net sees more for one side than the terms tell, and how much of that goes without the piece to
which most of it is due. It is confirmed where the rest becomes less by at least a quarter of that without the piece,
and where it does so on average when the piece goes to other squares that it attacks. In the control the parts are
shuffled among the pieces: it says the same of another piece, by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import chess
import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, WHITE
from merino.core.board.fen import to_fen
from merino.engine.report.summary import MIN_TOLD
from merino.eval.evaluation import Evaluation
from merino.eval.linear.evaluate import stages_of
from merino.eval.material import FULL_BOARD
from merino.eval.removal import without_each
from merino.study.shapley import shapley_values
from merino.study.words.account import account_around, start_of
from merino.study.words.telling import rests_of, tell

MIN_REST = 10.0  # centipawns; a smaller rest is not asked about
MIN_FALL = 0.25  # of what is said: by so much the rest must become less
SUM_ERROR = 20.0  # centipawns, the standard error of the Shapley values whose sum is checked
PHASES = ("opening", "middlegame", "endgame")
WAYS = ("removed", "moved")  # of asking whether a piece makes up the rest
_SEED = 5


@dataclass(frozen=True)
class Confirmed:
    """The number of statements of a kind, and of those that are confirmed."""

    statements: int
    confirmed: int

    @property
    def share(self) -> float:
        """The share confirmed, 0..1."""
        return self.confirmed / self.statements if self.statements else 0.0


@dataclass(frozen=True)
class Faithfulness:
    """The figures over some positions.

    `largest_gap` is the largest difference, in centipawns, of a score and what should add up to it. `r2` is the mean of
    the accounts around the positions by phase. `named` and `shuffled` are by the way of asking: removed, moved.
    """

    positions: int
    largest_gap: float
    r2: dict[str, tuple[int, float]]
    named: dict[str, Confirmed]
    shuffled: dict[str, Confirmed]


def faithfulness(evaluation: Evaluation, positions: np.ndarray) -> Faithfulness:
    """The figures over POSITION[n], legal ones."""
    draw = np.random.default_rng(_SEED)
    gaps, r2 = [0.0], {phase: list[float]() for phase in PHASES}
    answers = {who: {way: list[bool]() for way in WAYS} for who in ("named", "shuffled")}
    for index in range(len(positions)):
        record = positions[index : index + 1]
        told, values = tell(record, evaluation), shapley_values(record, evaluation, SUM_ERROR)
        gaps.append(abs(sum(term.cp for term in told.terms) + told.rest - told.score))
        score = int(evaluation.scores(record)[0]) * (1 if record[0]["side"] == WHITE else -1)
        gaps.append(abs(values.baseline + sum(piece.value for piece in values.pieces) - score))
        r2[phase_of(record)].append(told.r2)
        pieces = [part for part in told.parts if part.piece not in "Kk"]
        sign = 1 if told.rest > 0 else -1
        largest = max(pieces, key=lambda part: sign * part.cp, default=None)
        if abs(told.rest) < MIN_REST or largest is None or sign * largest.cp < MIN_TOLD or len(pieces) == 1:
            continue
        others = [part for part in pieces if part is not largest]
        for who, piece in (("named", largest), ("shuffled", others[draw.integers(len(others))])):
            for way, fall in _falls(record, evaluation, piece.square):
                answers[who][way].append(sign * fall >= MIN_FALL * sign * largest.cp)
    named, shuffled = (
        {way: Confirmed(len(given), sum(given)) for way, given in answers[who].items()} for who in answers
    )
    means = {phase: (len(found), float(np.mean(found))) for phase, found in r2.items() if found}
    return Faithfulness(len(positions), max(gaps), means, named, shuffled)


def _falls(record: np.ndarray, evaluation: Evaluation, square: int) -> Iterator[tuple[str, float]]:
    """How much the rest falls, for White, without the piece on a square, and on average where it goes elsewhere."""
    by_terms = account_around(record, evaluation, start_of(evaluation)).evaluation(evaluation.k, "account")

    def rest_of(positions: np.ndarray) -> float:
        return float(rests_of(positions, evaluation, by_terms).mean())

    for way, others in zip(WAYS, ([_without(record, square)], list(_elsewhere(record, square))), strict=True):
        if others:
            yield way, rest_of(record) - rest_of(np.concatenate(others))


def phase_of(record: np.ndarray) -> str:
    """The phase of POSITION[1], by thirds of the pieces on the board."""
    return PHASES[2 - min(2, int(3 * stages_of(record)[0] / (FULL_BOARD + 1)))]


def _without(record: np.ndarray, square: int) -> np.ndarray:
    """POSITION[1] without the piece on a square, which is no king."""
    without, places = without_each(record)
    return without[places == square]


def _elsewhere(record: np.ndarray, square: int) -> Iterator[np.ndarray]:
    """POSITION[1] with the piece on a square on each empty square that it could go to, whoever is to move."""
    board, letters = chess.Board(to_fen(record)), record[0]["board"].tolist()
    board.turn, board.ep_square = letters[square] < BLACK_PIECE, None
    targets = {move.to_square for move in board.generate_pseudo_legal_moves(chess.BB_SQUARES[square])}
    for target in sorted(targets):
        if letters[target] == EMPTY and not (letters[square] % BLACK_PIECE == 0 and target // 8 in (0, 7)):
            found = _without(record, square)
            position, there, piece = found[0], np.uint64(1 << target), letters[square]
            position["board"][target] = piece
            position["pieces"][piece % BLACK_PIECE] |= there
            position["colours"][piece // BLACK_PIECE] |= there
            yield found
