"""The score of an evaluation without terms told by the terms, with what they leave over, and which pieces that is.

The rest is the part of the score that the account does not tell. A piece's part of it is what goes when the piece is
taken off the board, by both scores. These parts need not add up: two pieces may make up the same part together. All
scores are those before the draw rules, which are the same for every evaluation and told apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from merino.core.board.bitboard import EMPTY, PIECE_LETTERS, SQUARE_NAMES, SQUARES
from merino.core.board.fen import COLOUR_NAMES
from merino.engine.report.summary import MIN_TOLD, largest_for_each_side
from merino.eval.evaluation import Evaluation
from merino.eval.explanation import PieceValues
from merino.study.shapley import Coalitions
from merino.study.words.account import account_around, start_of

NAMED_PIECES = 2  # in whose absence the rest would be less, at most
MIN_R2 = 0.005  # told as 1% or more
KINDS = dict(zip("PNBRQK", ("pawn", "knight", "bishop", "rook", "queen", "king"), strict=True))


@dataclass(frozen=True)
class ToldTerm:
    """What a term adds to White's score by the account, in centipawns."""

    name: str
    cp: float


@dataclass(frozen=True)
class RestPart:
    """How much the rest falls, in centipawns for White, without the piece on a square; a king at home has no part."""

    square: int
    piece: str  # its letter
    cp: float

    @property
    def name(self) -> str:
        """The piece in words: "White's knight on d5"."""
        return f"{COLOUR_NAMES[self.piece.islower()]}'s {KINDS[self.piece.upper()]} on {SQUARE_NAMES[self.square]}"


@dataclass(frozen=True)
class Telling:
    """A score by the account around its position, from White's view: `terms` and `rest` add up to `score`.

    `score` is that before the draw rules, in whole centipawns. `r2` is the share of how moves change the score that the
    account tells, up to 1. `parts` are those of all pieces in the rest, from a1 to h8; `sentences` say the same in
    words.
    """

    score: int
    terms: tuple[ToldTerm, ...]
    rest: float
    r2: float
    parts: tuple[RestPart, ...]
    sentences: tuple[str, ...]


def tell(record: np.ndarray, evaluation: Evaluation) -> Telling:
    """The score of the legal POSITION[1] told by the terms."""
    account = account_around(record, evaluation, start_of(evaluation))
    by_terms = account.evaluation(evaluation.k, "account")
    values = by_terms.value_pieces(record)
    terms = tuple(ToldTerm(line.name, line.net) for line in values.explanation.lines)
    score = int(np.rint(evaluation.white_scores(record)[0]))
    rest = score - math.fsum(term.cp for term in terms)
    parts = _parts_of_rest(Coalitions(record, lambda positions: rests_of(positions, evaluation, by_terms)), record)
    sentences = (*_by_terms(values), *_of_rest(rest, parts), _of_share(account.r2))
    return Telling(score, terms, rest, account.r2, parts, sentences)


def rests_of(positions: np.ndarray, evaluation: Evaluation, by_terms: Evaluation) -> np.ndarray:
    """What the scores of POSITION[n] have beyond the terms, float64[n], White's: both before the draw rules."""
    whole = (np.rint(each.white_scores(positions)) for each in (evaluation, by_terms))
    return np.subtract(*whole) + 0.0  # so that nothing is never -0


def _of_share(r2: float) -> str:
    """How much the account tells, where anything: an R2 of 0 or less is no better than the mean of all moves."""
    if r2 < MIN_R2:
        return "Around this position the terms do not tell how moves change the score."
    return f"Around this position the terms tell {r2:.0%} of how moves change the score."


def in_terms(record: np.ndarray, evaluation: Evaluation) -> Evaluation:
    """The evaluation itself if it has terms, else the account of it around the legal POSITION[1]."""
    if evaluation.has_terms:
        return evaluation
    return account_around(record, evaluation, start_of(evaluation)).evaluation(evaluation.k, "account")


def _parts_of_rest(game: Coalitions, record: np.ndarray) -> tuple[RestPart, ...]:
    """The parts of all pieces in what `game` scores."""
    squares = game.sets_of(np.arange(len(game.squares)))
    everyone = squares.sum(keepdims=True, dtype=np.uint64)
    falls = game.scores(everyone) - game.scores(everyone & ~squares)
    known = dict(zip(game.squares, falls.tolist(), strict=True))
    board = record[0]["board"].tolist()
    occupied = [square for square in SQUARES if board[square] != EMPTY]
    return tuple(RestPart(square, PIECE_LETTERS[board[square]], known.get(square, 0.0)) for square in occupied)


def _by_terms(values: PieceValues) -> Iterator[str]:
    """The sum of the terms, and the largest of them."""
    total, said = math.fsum(line.net for line in values.explanation.lines), largest_for_each_side(values)
    yield f"By the terms {_ahead(total)}."
    if said:
        yield said


def _ahead(centipawns: float) -> str:
    if abs(centipawns) < MIN_TOLD:
        return "the position is even"
    return f"{COLOUR_NAMES[centipawns < 0]} is ahead by {abs(centipawns) / 100:.2f}"


def _of_rest(rest: float, parts: Sequence[RestPart]) -> Iterator[str]:
    """What the score has beyond the terms, and the pieces without which it would have least of it."""
    if abs(rest) < MIN_TOLD:
        yield "The net sees no more than the terms tell."
        return
    sign = 1 if rest > 0 else -1
    yield f"The net sees {abs(rest) / 100:.2f} more for {COLOUR_NAMES[sign < 0]} than the terms tell."
    chosen = sorted((part for part in parts if sign * part.cp >= MIN_TOLD), key=lambda part: -abs(part.cp))
    said = " and ".join(f"{part.name} ({_without(part)})" for part in chosen[:NAMED_PIECES])
    if said:
        yield f"That depends most on {said}."


def _without(part: RestPart) -> str:
    """What becomes of the rest without a piece, for the side that it is good for."""
    place = "with the king at home" if part.piece in "Kk" else "without it"
    return f"{place} {abs(part.cp) / 100:.2f} less"
