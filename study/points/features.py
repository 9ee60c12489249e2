"""Features of the material beyond the numbers of pieces, the common claims about them, and what games show."""

from __future__ import annotations

from dataclasses import dataclass

from merino.inner.study.points.capablanca import PointsVerdict
from merino.inner.study.points.vectors import FEATURES, USUAL_PAWNS


@dataclass(frozen=True)
class Feature:
    """A feature, and the common claim about its value: `sign` 1 for good, -1 for bad."""

    name: str
    claim: str
    sign: int

    def verdict(self, low: float, high: float) -> PointsVerdict:
        """The verdict of the interval of its value, in centipawns, on the claim; an unknown one leaves it open."""
        if self.sign < 0:
            low, high = -high, -low
        if low > 0:
            return PointsVerdict.HOLDS
        return PointsVerdict.FAILS if high < 0 else PointsVerdict.OPEN


_CLAIMS = {
    "bishop pair": ("two are worth more than twice one", 1),
    "knight by own pawns": (f"gains with each beyond {USUAL_PAWNS} (Kaufman)", 1),
    "rook by own pawns": (f"loses with each beyond {USUAL_PAWNS} (Kaufman)", -1),
    "queen with knight": ("worth more than each alone (Capablanca)", 1),
    "last pawn": ("worth more than another one", 1),
}
STUDIED = tuple(Feature(name, *_CLAIMS[name]) for name in FEATURES)
