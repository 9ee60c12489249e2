"""The contract of evaluations, between every family and all code that uses one.

A family turns a position into White's score, a real number in centipawns, by compiled code. Everything after that is
shared by all families and written once: draw rules, rounding and the side to move (`eval.material`), the expected score
(`eval.outlook`), and how the search adjusts a static evaluation (`engine.search.static_eval`).

Code that searches, plays, tunes or explains knows no family by name: `eval.families` makes one from a file.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, KING, PAWN, PIECE_LETTERS, SQUARES
from merino.core.common.errors import MerinoError, instance, real_number
from merino.eval import explanation, material, outlook

WIDTH = 80  # columns of text
MIN_K, MAX_K = 1e-3, 1e9


class EvaluationError(MerinoError, ValueError):
    """An evaluation cannot be read, or cannot do what was asked; the message says why."""


@dataclass(frozen=True)
class Number:
    """A tunable number of an evaluation, and its bounds.

    `part_of` is the name of the whole that it is a part of; if that is a number too, it changes all its parts at once.
    """

    value: float
    low: float
    high: float
    part_of: str | None = None


class Evaluation(ABC):
    """An evaluation to play with. It is immutable.

    `name` is for people; `k` is the scale of the expected score in centipawns.
    """

    name: str
    k: float = outlook.DEFAULT_K
    has_terms = False  # whether `explain` splits its score into terms
    has_attributed = False  # whether there is an `attributed`
    keeps_search_numbers = False  # whether its file has room for `search_numbers`

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Everything its scores depend on, as plain JSON data for `eval.families.from_identity`."""

    @abstractmethod
    def install(self, record: np.ndarray) -> object:
        """Let `record`, a search record SEARCH[1], use this evaluation.

        Sets `evaluation`, the address of a kernel (record, ply) -> White's score before draw rules, float64, and what
        that kernel needs: `evaluation_data`, and for a family that updates itself move by move `accumulators`.
        What is returned must be kept as long as the record uses it.
        """

    @abstractmethod
    def white_scores(self, positions: np.ndarray) -> np.ndarray:
        """White's scores of POSITION[n] before draw rules and rounding, float64[n], each from scratch."""

    def scores(self, positions: np.ndarray) -> np.ndarray:
        """Scores of POSITION[n] in centipawns for the side to move, int64[n], after the draw rules."""
        return material.final_scores(positions, self.white_scores(positions))

    def with_k(self, k: float) -> Self:
        """The same with another scale of the expected score, in centipawns; raises TypeError and ValueError."""
        real_number("k", k, MIN_K, MAX_K)
        other = copy(self)
        other.k = k
        return other

    def expected_score(self, centipawns: float) -> float:
        """The expected score of a side with this score, 0..1; raises TypeError and ValueError for what is no number."""
        return outlook.expected_score(real_number("centipawns", centipawns, -math.inf, math.inf), self.k)

    @property
    def numbers(self) -> Mapping[str, Number]:
        """Its tunable numbers by name; empty for a family without any."""
        return {}

    @property
    def bounds(self) -> Mapping[str, tuple[float, float]]:
        """The bounds of all that `with_numbers` takes: the numbers, and wholes without a value, whose parts differ."""
        return {
            own: (number.low, number.high)
            for name, number in self.numbers.items()
            for own in (number.part_of, name)
            if own is not None
        }

    def with_numbers(self, values: Mapping[str, float]) -> Evaluation:
        """The same with other values for some of its numbers; a whole sets all its parts.

        Raises EvaluationError for an unknown name and for a value out of its bounds.
        """
        instance("values", values, Mapping, "a mapping from names to numbers")
        bounds = self.bounds
        for name, value in values.items():
            if name not in bounds:
                raise EvaluationError(f"{self.name} has no number named {name!r}")
            instance(name, value, (int, float, np.number), "a number")
            low, high = bounds[name]
            if not low <= value <= high:
                is_huge = isinstance(value, int) and abs(value) > sys.float_info.max
                shown = "a number beyond all floating-point numbers" if is_huge else f"{value:g}"
                raise EvaluationError(f"{name} = {shown} is outside {low:g}..{high:g}")
        return self

    @property
    def search_numbers(self) -> Mapping[str, int]:
        """Numbers of the search that were tuned for it, by name; the search has its defaults for the others."""
        return {}

    def with_search_numbers(self, values: Mapping[str, int]) -> Evaluation:
        """The same with these `search_numbers` and no others; raises EvaluationError if it cannot keep them."""
        raise EvaluationError(f"{self.name} keeps no numbers of the search")

    def save(self, path: Path, header: Iterable[str] = ()) -> None:
        """Write the file that `eval.families.load` reads, `header` as comments; raises EvaluationError, OSError."""
        raise EvaluationError(f"{self.name} has no file of its own")

    def describe(self, width: int = WIDTH) -> str:
        """Its description, as text of at most `width` columns; raises EvaluationError if it has none."""
        raise EvaluationError(f"{self.name} cannot be shown as text")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _repr_html_(self) -> str:
        """What Jupyter shows: its name and its description."""
        try:
            described = f"<pre>{escape(self.describe())}</pre>"
        except EvaluationError:
            described = ""
        return f"<p><b>{escape(Path(self.name).name)}</b></p>{described}"

    def explain(self, record: np.ndarray) -> explanation.Explanation:
        """The score of POSITION[1] taken apart: by terms where a family has them, else whole and with the reason."""
        white, score = float(self.white_scores(record)[0]), int(self.scores(record)[0])
        reason = f"{Path(self.name).name} does not split its score into terms"
        return explanation.explained(record, score, self.k, (), white, reason)

    def value_pieces(self, record: np.ndarray) -> explanation.PieceValues:
        """What each piece of POSITION[1] is worth: by removal, and what it adds to the score where a family knows.

        The pawn of relative values is the mean pawn on the board; without one they are None.
        """
        board, removal = record[0]["board"].tolist(), self.removals(record)[0].tolist()
        attributed = self.attributed(record)[0].tolist() if self.has_attributed else [None] * len(board)
        pawns = [removal[square] for square in SQUARES if board[square] % BLACK_PIECE == PAWN]
        pawn = sum(pawns) / len(pawns) if pawns else 0.0
        pieces = []
        for square in (square for square in SQUARES if board[square] != EMPTY):
            worth = None if board[square] % BLACK_PIECE == KING else removal[square]
            relative = worth / pawn if worth is not None and pawn else None
            pieces.append(
                explanation.PieceValue(square, PIECE_LETTERS[board[square]], worth, relative, attributed[square])
            )
        return explanation.PieceValues(self.explain(record), tuple(pieces))

    def removals(self, positions: np.ndarray) -> np.ndarray:
        """What the owner of each piece loses without it: int64[n, 64] in centipawns, 0 for kings and empty squares."""
        return explanation.removals(positions, self.scores)

    def attributed(self, positions: np.ndarray) -> np.ndarray:
        """What each piece adds to the score for its owner, by terms or a value of its own: float64[n, 64], centipawns.

        Raises EvaluationError unless the family `has_attributed`.
        """
        raise EvaluationError(f"{self.name} does not know what a piece adds to the score")
