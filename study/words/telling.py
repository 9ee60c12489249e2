"""The score of an evaluation without terms told by the terms, with what they leave over, and which pieces that is.

The rest is the part of the score that the account does not tell. A piece's part of it is what goes when the piece is
taken off the board, by both scores. These parts need not add up: two pieces may make up the same part together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from merino.inner.core.board.bitboard import EMPTY, PIECE_LETTERS, SQUARE_NAMES, SQUARES, WHITE
from merino.inner.core.board.fen import COLOUR_NAMES
from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.explanation import PieceValues, TermLine
from merino.inner.study.shapley.coalitions import Coalitions, white_scores_of
from merino.inner.study.words.account import account_around
from merino.inner.study.words.phrases import is_material, phrase
from merino.inner.study.words.shipped import start_of

MIN_TOLD = 3.0  # centipawns; smaller parts are not put into words
NAMED_TERMS, NAMED_PIECES = 3, 2  # of a list, at most
NAMED_SQUARES = 2  # of a term
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
    def absence(self) -> str:
        """Its absence in words: "without the knight on d5"."""
        place = SQUARE_NAMES[self.square]
        if self.piece in "Kk":
            return f"with {COLOUR_NAMES[self.piece == 'k']}'s king at home instead of on {place}"
        return f"without the {KINDS[self.piece.upper()]} on {place}"


@dataclass(frozen=True)
class Telling:
    """A score by the account around its position, from White's view: `terms` and `rest` add up to `score`.

    `r2` is the share of what moves change in the score that the account tells, up to 1. `parts` are those of all pieces
    in the rest, from a1 to h8; `sentences` say the same in words.
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
    explanation = by_terms.explain(record)
    terms = tuple(ToldTerm(line.name, line.net) for line in explanation.lines)
    score = int(evaluation.scores(record)[0]) * (1 if record[0]["side"] == WHITE else -1)
    rest = score - math.fsum(term.cp for term in terms)

    def difference(positions: np.ndarray) -> np.ndarray:
        return np.asarray(evaluation.scores(positions) - by_terms.scores(positions), dtype=np.float64)

    parts = _parts_of_rest(Coalitions(record, white_scores_of(record, difference)), record)
    sentences = (
        *_by_terms(explanation.lines, by_terms.value_pieces(record)),
        *_of_rest(rest, parts),
        f"Around this position the terms tell {max(account.r2, 0.0):.0%} of what moves change in the score.",
    )
    return Telling(score, terms, rest, account.r2, parts, sentences)


def _parts_of_rest(game: Coalitions, record: np.ndarray) -> tuple[RestPart, ...]:
    """The parts of all pieces in what `game` scores."""
    squares = game.sets_of(np.arange(len(game.squares)))
    everyone = squares.sum(keepdims=True, dtype=np.uint64)
    falls = game.scores(everyone) - game.scores(everyone & ~squares)
    known = dict(zip(game.squares, falls.tolist(), strict=True))
    board = record[0]["board"].tolist()
    occupied = [square for square in SQUARES if board[square] != EMPTY]
    return tuple(RestPart(square, PIECE_LETTERS[board[square]], known.get(square, 0.0)) for square in occupied)


def _by_terms(lines: Sequence[TermLine], values: PieceValues) -> Iterator[str]:
    """The sum of the terms, and the largest of them with the squares of the pieces that bring them."""
    total = math.fsum(line.net for line in lines)
    parts = [("material", math.fsum(line.net for line in lines if is_material(line.name)))]
    said = [
        f"for {side} {text}"
        for colour, side in enumerate(COLOUR_NAMES)
        if (text := _largest([*parts, *_named(lines, values, colour)], 1 if colour == WHITE else -1))
    ]
    yield f"By the terms {_ahead(total)}{': ' + '; '.join(said) if said else ''}."


def _ahead(centipawns: float) -> str:
    if abs(centipawns) < MIN_TOLD:
        return "the position is even"
    return f"{COLOUR_NAMES[centipawns < 0]} is ahead by {abs(centipawns) / 100:.2f}"


def _largest(parts: Sequence[tuple[str, float]], sign: int) -> str:
    chosen = sorted((part for part in parts if sign * part[1] >= MIN_TOLD), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {abs(cp) / 100:.2f}" for name, cp in chosen[:NAMED_TERMS])


def _named(lines: Sequence[TermLine], values: PieceValues, colour: int) -> Iterator[tuple[str, float]]:
    """The terms other than material that are good for a side, each with the pieces that bring most of it.

    A term that the other side brings says so: "Black's isolated pawns (d5)".
    """
    for line in lines:
        if is_material(line.name) or (line.net > 0) != (colour == WHITE):
            continue
        owner = WHITE if abs(line.white_cp) >= abs(line.black_cp) else 1 - WHITE
        squares = _bringing(line, values, owner)
        whose = "" if owner == colour else f"{COLOUR_NAMES[owner]}'s "
        yield f"{whose}{phrase(line.name)}{f' ({squares})' if squares else ''}", line.net


def _bringing(line: TermLine, values: PieceValues, owner: int) -> str:
    """The squares of the owner's pieces that bring most of a term."""
    own = line.white_cp if owner == WHITE else line.black_cp
    brought = [
        (-abs(credit.cp), piece.square)
        for piece in values.pieces
        if piece.colour == owner
        for credit in piece.credits
        if credit.name == line.name and credit.cp * own > 0
    ]
    return ", ".join(SQUARE_NAMES[square] for _, square in sorted(brought)[:NAMED_SQUARES])


def _of_rest(rest: float, parts: Sequence[RestPart]) -> Iterator[str]:
    """What the score has beyond the terms, and the pieces without which it would have least of it."""
    if abs(rest) < MIN_TOLD:
        yield "The net sees no more than they tell."
        return
    sign = 1 if rest > 0 else -1
    yield f"The net sees {abs(rest) / 100:.2f} more for {COLOUR_NAMES[sign < 0]}."
    chosen = sorted((part for part in parts if sign * part.cp >= MIN_TOLD), key=lambda part: -abs(part.cp))
    said = ", ".join(f"{part.absence} {abs(part.cp) / 100:.2f} less" for part in chosen[:NAMED_PIECES])
    if said:
        yield f"{said[0].upper()}{said[1:]}."
