"""Claims about the values of the pieces, and the verdicts of games on them.

Capablanca's five conditions are from "Chess Fundamentals" (1921): a bishop is a shade better than a knight, each is
worth more than three pawns, bishop and knight balance rook and a pawn and a half, and queen and pawn balance two rooks.
The others are common claims about features of the material beyond the numbers of pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from merino.lab.points.vectors import FEATURES, NEUTRAL_PAWNS, PIECES

MARGIN = 50.0  # centipawns: an interval that stays this close to zero makes two sides equal for any player
_CLAIMS = {
    "bishop pair": ("two are worth more than twice one", 1),
    "knight by own pawns": (f"gains with each beyond {NEUTRAL_PAWNS} (Kaufman)", 1),
    "rook by own pawns": (f"loses with each beyond {NEUTRAL_PAWNS} (Kaufman)", -1),
    "queen with knight": ("worth more than each alone (Capablanca)", 1),
    "last pawn": ("worth more than another one", 1),
}


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
        return _above_zero(low, high)


def _above_zero(low: float, high: float) -> PointsVerdict:
    """The verdict of an interval on the claim that what lies in it is more than 0."""
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


@dataclass(frozen=True)
class Feature:
    """A feature, and the common claim about its value: `sign` 1 for good, -1 for bad."""

    name: str
    claim: str
    sign: int

    def verdict(self, low: float, high: float) -> PointsVerdict:
        """The verdict of the interval of its value, in centipawns, on the claim; an unknown one leaves it open."""
        return _above_zero(low, high) if self.sign > 0 else _above_zero(-high, -low)


STUDIED = tuple(Feature(name, *_CLAIMS[name]) for name in FEATURES)
