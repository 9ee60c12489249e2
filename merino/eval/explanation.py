"""A score and where it comes from, for every family: by terms where it has them, and by pieces.

For a family without terms, the whole score is `non_term`. All are frozen dataclasses; nothing here prints.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from merino.core.board.bitboard import BLACK, BLACK_PIECE, EMPTY, KING, ONE, WHITE, bit, colour_of, lsb, type_of
from merino.core.board.position import POSITION, occupied_squares, piece_on
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.eval import material, outlook

if TYPE_CHECKING:
    from merino.eval.linear.registry import Group, Phase


@dataclass(frozen=True)
class TermLine:
    """What one term adds for each side.

    Counts include phase share and group multiplier, so `weight` times count is centipawns. `weight` is what its two
    values, those of middlegame and endgame, come to at the stage of the position. A table, which has many weights, has
    a weight of 1 and counts in centipawns.
    """

    number: int  # from 1, in the order of the weights; that of its first weight for a table
    name: str
    group: Group
    phase: Phase
    weight: float
    white_count: float
    black_count: float
    values: tuple[float, float]
    cells: int = 0  # how many weights a table has; 0 for a term that is none

    @property
    def white_cp(self) -> float:
        """White's centipawns."""
        return self.weight * self.white_count

    @property
    def black_cp(self) -> float:
        """Black's centipawns, as Black counts them: good for Black if positive."""
        return self.weight * self.black_count

    @property
    def net(self) -> float:
        """Centipawns for White."""
        return self.white_cp - self.black_cp


@dataclass(frozen=True)
class Explanation:
    """A score and where it comes from. Everything is in centipawns."""

    lines: tuple[TermLine, ...]  # empty where a family has no terms
    score_white: int  # the engine's own number, after the draw rules, from White's side
    after_rule: float  # the sum after the draw rules, not yet rounded
    turn: int  # WHITE or BLACK
    rule: str | None  # the draw rule that changed the sum, if any
    middlegame: tuple[float, float]  # how much White's and Black's middlegame terms count; the endgame has the rest
    k: float  # the scale of the expected score
    stage: float  # 1 with all pieces on the board to 0 without: the share of the first of a weight's two values
    non_term: float = 0.0  # the part of the sum that comes from no term: all of it for a family without terms
    without_terms: str | None = None  # the reason why there are no terms, None if there are

    @property
    def sum(self) -> float:
        """White's score before draw rules and rounding: the sum of the lines and `non_term`."""
        return math.fsum(line.net for line in self.lines) + self.non_term

    @property
    def rule_cp(self) -> float:
        """What the draw rules add to the sum."""
        return self.after_rule - self.sum

    @property
    def rounding(self) -> float:
        """What rounding to whole centipawns adds: sum, rule and this are the score."""
        return self.score_white - self.after_rule

    @property
    def expected_score(self) -> float:
        """The share of the points White may expect, wins plus half the draws, 0..1."""
        return outlook.expected_score(self.score_white, self.k)

    def of_group(self, group: Group) -> tuple[TermLine, ...]:
        """The lines of one group."""
        return tuple(line for line in self.lines if line.group is group)

    def group_net(self, group: Group) -> float:
        """Centipawns for White of one group."""
        return math.fsum(line.net for line in self.of_group(group))


def explained(
    record: np.ndarray,
    score: int,
    k: float,
    lines: tuple[TermLine, ...] = (),
    non_term: float = 0.0,
    without_terms: str | None = None,
) -> Explanation:
    """The explanation of POSITION[1], which has this score for the side to move after the draw rules.

    It comes from `lines`, or `non_term` is White's score before the draw rules, and `without_terms` says why.
    """
    turn, (shares, stage) = int(record[0]["side"]), material.game_stage(record)
    total = math.fsum(line.net for line in lines) + non_term
    return Explanation(
        lines=lines,
        score_white=-score if turn == BLACK else score,
        after_rule=material.after_rules(record, total),
        turn=turn,
        rule=material.rule_of(record, total),
        middlegame=shares,
        k=k,
        stage=stage,
        non_term=non_term,
        without_terms=without_terms,
    )


@dataclass(frozen=True)
class Credit:
    """A term to which a piece adds, or that pieces share. `count` includes phase share and group multiplier."""

    number: int  # that of its `TermLine`
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
    attributed: float | None  # what it adds to the score: by its terms, or as a net values it; None where none does
    credits: tuple[Credit, ...] = ()  # the terms it adds to, in the order of the registry

    @property
    def colour(self) -> int:
        """WHITE or BLACK."""
        return WHITE if self.letter.isupper() else BLACK


@dataclass(frozen=True)
class PieceValues:
    """All pieces of a position and what they share. White's attributed less Black's plus `shared_cp` is the sum."""

    explanation: Explanation
    pieces: tuple[PieceValue, ...]  # from a1 to h8
    shared: tuple[Credit, ...] = ()  # by term, for White; not given to any one piece, or taken off again

    @property
    def is_attributed(self) -> bool:
        """Whether each piece has a known share of the score."""
        return all(piece.attributed is not None for piece in self.pieces)

    @property
    def shared_cp(self) -> float | None:
        """The shared rest in centipawns for White, None if the pieces have no known shares."""
        if self.shared:
            return math.fsum(credit.cp for credit in self.shared)
        return self.explanation.sum - self.attributed(WHITE) + self.attributed(BLACK) if self.is_attributed else None

    def attributed(self, colour: int) -> float:
        """The sum of the attributed values of one colour's pieces, in centipawns."""
        return math.fsum(piece.attributed or 0.0 for piece in self.pieces if piece.colour == colour)


# Piece values by removal, for every family: by how much the owner's score falls without the piece.

POSITIONS_AT_ONCE = 1024  # whose copies, one for each piece, fit into the processor's cache


@kernel
def take_off(position, square):
    """Take the piece on a square off the board, and what it may castle; the key stays as it is."""
    piece, others = piece_on(position, square), ~bit(square)
    position.pieces[type_of(piece)] &= others
    position.colours[colour_of(piece)] &= others
    position.castling &= others
    position.board[square] = EMPTY


@entry
def _without_each(positions, without, places):
    """Fill `without` with the positions after removing each piece except kings, and `places` with 64 * index + square.

    Returns their number.
    """
    found = 0
    for index in range(len(positions)):
        position = positions[index]
        pieces = occupied_squares(position) & ~position.pieces[KING]
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            memory.copy_record(without[found], position)
            take_off(without[found], square)
            places[found] = 64 * index + square
            found += 1
    return found


def without_each(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """POSITION[n] without each piece but kings: POSITION[m], and of each 64 * index + square, int64[m]."""
    capacity = int((positions["board"] != EMPTY).sum())
    without, places = np.empty(capacity, dtype=POSITION), np.zeros(capacity, dtype=np.int64)
    found = _without_each(positions, without, places)
    return without[:found], places[:found]


def removals(positions: np.ndarray, scores: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """What the owner of the piece on each square loses when it is taken off the board, the side to move unchanged.

    int64[n, 64] in centipawns for POSITION[n], 0 for kings and empty squares. `scores` returns those of POSITION[m]
    for the side to move, int64[m], after the draw rules.
    """
    values = np.zeros((len(positions), 64), dtype=np.int64)
    for first in range(0, len(positions), POSITIONS_AT_ONCE):
        some = positions[first : first + POSITIONS_AT_ONCE]
        without, places = without_each(some)
        index = places >> 6
        falls = scores(some)[index] - scores(without)  # for the side to move
        mover_is_black = some["side"][index] != WHITE
        owner_is_black = some["board"].ravel()[places] >= BLACK_PIECE
        part = values[first : first + POSITIONS_AT_ONCE].reshape(-1)
        part[places] = np.where(mover_is_black == owner_is_black, falls, -falls)
    return values
