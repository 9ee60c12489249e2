"""Capablanca's five conditions on the values of the pieces, and the verdicts of games on them.

He wrote in "Chess Fundamentals" (1921) that a bishop is a shade better than a knight, that each is worth more than
three pawns, that bishop and knight balance rook and a pawn and a half, and that queen and pawn balance two rooks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from merino.inner.study.points.vectors import PIECES

MARGIN = 50.0  # centipawns: an interval that stays this close to zero makes two sides equal for any player


class PointsVerdict(StrEnum):
    """The verdict of the games on a condition."""

    HOLDS = "holds"
    EQUAL = "holds to half a pawn"
    FAILS = "does not hold"
    OPEN = "not decided by these games"


@dataclass(frozen=True)
class Condition:
    """A condition: the numbers of pieces on both sides, float64[5] each, and whether they should be equal."""

    name: str
    left: np.ndarray
    right: np.ndarray
    is_equality: bool

    def verdict(self, low: float, high: float) -> PointsVerdict:
        """The verdict of the interval of left minus right, in centipawns; an unknown one (nan) leaves it open."""
        if self.is_equality:
            if low > 0 or high < 0:
                return PointsVerdict.FAILS
            return PointsVerdict.EQUAL if low >= -MARGIN and high <= MARGIN else PointsVerdict.OPEN
        if low > 0:
            return PointsVerdict.HOLDS
        return PointsVerdict.FAILS if high < 0 else PointsVerdict.OPEN


def _pieces(text: str) -> np.ndarray:
    """float64[5] for pieces written like "R + 1.5P"."""
    counts = np.zeros(len(PIECES))
    for word in text.split(" + "):
        counts[PIECES.index(word[-1])] += float(word[:-1] or 1)
    return counts


def _condition(name: str) -> Condition:
    sign = ">" if ">" in name else "="
    left, right = name.split(f" {sign} ")
    return Condition(name, _pieces(left), _pieces(right), sign == "=")


CONDITIONS = tuple(_condition(name) for name in ("B > N", "B > 3P", "N > 3P", "B + N = R + 1.5P", "Q + P = 2R"))
