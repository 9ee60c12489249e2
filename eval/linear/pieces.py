"""What each piece on the board is worth, in three ways that answer three questions.

removal     how much the evaluation falls for its owner when it is taken off the board: lines open, phases shift, draw
            rules begin to apply. The king cannot be taken off.
relative    the same in pawns: removal over the weight of a pawn.
attributed  the terms that this piece brings its own side: how much less each of them counts when this piece is left
            out of the count and everything else stays, the piece still standing in the way. A king brings the whole of
            the terms that a bare king has (his place, his missing shield).

What two pieces have only together, as the bishop pair or a guarded outpost, is given to each of them in full. The
shared rest takes that off again, term by term, so that the attributed values with it are the sum of the evaluation.
All counts are those of the term definitions; there is no second list of terms here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.board.bitboard import (
    BLACK,
    BLACK_PIECE,
    EMPTY,
    KING,
    ONE,
    PIECE_LETTERS,
    SQUARE_NAMES,
    SQUARES,
    U64,
    WHITE,
    bit,
    lsb,
)
from engine.board.position import king_square
from engine.compiled.jit import entry
from eval.linear.breakdown import Explanation, explain
from eval.linear.evaluate import NUMBER_OF_TERMS, counts_of_view, scores_of
from eval.linear.registry import TERMS
from eval.linear.view import not_counting, seen_by, view
from eval.outlook import DEFAULT_K

PAWN_VALUE = [term.name for term in TERMS].index("VAL_P")  # the unit of relative values


@dataclass(frozen=True)
class Credit:
    """A term to which a piece adds, or that pieces share. `count` includes phase share and group multiplier."""

    number: int  # from 1, in the order of the registry
    name: str
    count: float
    cp: float  # weight times count


@dataclass(frozen=True)
class PieceValue:
    """One piece. All values are centipawns for its owner, except `relative`, which is in pawns."""

    square: int  # 0 for a1 to 63 for h8
    letter: str  # "N" for a white knight, "n" for a black one
    removal: int | None  # None for kings
    relative: float | None  # None for kings, and where a pawn weighs nothing
    credits: tuple[Credit, ...]  # the terms it adds to, in the order of the registry

    @property
    def colour(self) -> int:
        """WHITE or BLACK."""
        return WHITE if self.letter.isupper() else BLACK

    @property
    def attributed(self) -> float:
        """The terms that this piece brings its side."""
        return math.fsum(credit.cp for credit in self.credits)

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`."""
        return {
            "square": SQUARE_NAMES[self.square],
            "piece": self.letter,
            "removal_cp": self.removal,
            "relative_pawns": self.relative,
            "attributed_cp": self.attributed,
            "terms": {credit.name: credit.cp for credit in self.credits},
        }


@dataclass(frozen=True)
class PieceValues:
    """All pieces of a position and what they share. White's attributed less Black's plus `shared_cp` is the sum."""

    explanation: Explanation
    pieces: tuple[PieceValue, ...]  # from a1 to h8
    shared: tuple[Credit, ...]  # by term, for White; not given to any one piece, or taken off again

    @property
    def shared_cp(self) -> float:
        """The shared rest in centipawns for White."""
        return math.fsum(credit.cp for credit in self.shared)

    def attributed(self, colour: int) -> float:
        """What the pieces of one colour bring it, in centipawns."""
        return math.fsum(piece.attributed for piece in self.pieces if piece.colour == colour)

    def at(self, square: int) -> PieceValue | None:
        """The piece on a square, None where there is none."""
        return next((piece for piece in self.pieces if piece.square == square), None)

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`."""
        return {
            "pieces": [piece.as_json() for piece in self.pieces],
            "shared_cp": self.shared_cp,
            "shared_terms": {credit.name: credit.cp for credit in self.shared},
        }


@entry
def _credit_pieces(positions, credited):
    """Fill float64[64, terms] with what the piece on each square adds to each count of its side."""
    position = positions[0]
    whole, partial = np.zeros(NUMBER_OF_TERMS), np.zeros(NUMBER_OF_TERMS)
    for colour in range(2):
        side_view = view(position, colour)
        counts_of_view(side_view, whole)
        own = position.colours[colour]
        king = king_square(position, colour)
        pieces = own
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            left_out = own if square == king else bit(square)
            counts_of_view(not_counting(side_view, seen_by(colour, left_out)), partial)
            for index in range(NUMBER_OF_TERMS):
                if square != king:
                    credited[square, index] = whole[index] - partial[index]
                elif partial[index] != 0:
                    credited[square, index] = whole[index]


def value_pieces(record: np.ndarray, weights: np.ndarray, k: float = DEFAULT_K) -> PieceValues:
    """The values of all pieces of `record`, POSITION[1]; `weights` and `k` are those of `explain`."""
    explanation = explain(record, weights, k)
    numbers = np.array([line.weight for line in explanation.lines])
    credited = np.zeros((64, NUMBER_OF_TERMS))
    _credit_pieces(record, credited)
    board = record[0]["board"]
    occupied = [square for square in SQUARES if board[square] != EMPTY]
    removals = _removals(record, weights, explanation, [s for s in occupied if board[s] % BLACK_PIECE != KING])
    pieces = tuple(
        PieceValue(
            square=square,
            letter=PIECE_LETTERS[board[square]],
            removal=removals.get(square),
            relative=removals[square] / numbers[PAWN_VALUE] if square in removals and numbers[PAWN_VALUE] else None,
            credits=_credits(credited[square], numbers),
        )
        for square in occupied
    )
    sign = np.where(board >= BLACK_PIECE, -1.0, 1.0)
    net = np.array([line.white_count - line.black_count for line in explanation.lines])
    return PieceValues(explanation, pieces, _credits(net - sign @ credited, numbers))


def _credits(counts: np.ndarray, weights: np.ndarray) -> tuple[Credit, ...]:
    """The terms of float64[terms] counts that are not nothing."""
    return tuple(
        Credit(number, term.name, float(count), float(weight * count))
        for number, (term, count, weight) in enumerate(zip(TERMS, counts, weights, strict=True), start=1)
        if abs(count) > 1e-12
    )


def _removals(record: np.ndarray, weights: np.ndarray, explanation: Explanation, squares: list[int]) -> dict[int, int]:
    """By square, what its owner loses when the piece there is taken off the board, side to move unchanged."""
    without = np.repeat(record, len(squares))
    is_black = {}
    for position, square in zip(without, squares, strict=True):
        kind, is_black[square] = int(position["board"][square]) % BLACK_PIECE, position["board"][square] >= BLACK_PIECE
        others = ~(ONE << U64(square))
        position["board"][square] = EMPTY
        position["pieces"][kind] &= others
        position["colours"][BLACK if is_black[square] else WHITE] &= others
        position["castling"] &= others
    scores = scores_of(without, weights) * (1 if explanation.turn == WHITE else -1)
    return {
        square: int(score - explanation.score_white if is_black[square] else explanation.score_white - score)
        for square, score in zip(squares, scores, strict=True)
    }
