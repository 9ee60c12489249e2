"""What is known of players before their games are seen: the prior of the model, fitted to many players.

The numbers lie in `weights/people.toml`, with where they come from; `tools/fit_people.py` fits them again. No games are
needed to use them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import merino.inner.eval.linear.weights as shipped
from merino.inner.study.profile.choices import COLUMNS
from merino.inner.study.profile.model import Prior

FILE = Path(shipped.DEFAULT_FILE).with_name("people.toml")
WIDENING = 100.0  # points of rating beyond those seen after which players may differ once more as much
UNKNOWN = 400.0  # points that an unknown rating may be away
ANY_SPREAD = 1.0  # of a coefficient of which the file says nothing


@dataclass(frozen=True)
class People:
    """The mean of each coefficient over players, its change with 100 points of rating, and how much players differ."""

    rating: float  # at which the means hold
    low: float  # ratings between which players were seen
    high: float
    means: np.ndarray
    slopes: np.ndarray
    spreads: np.ndarray

    def prior(self, rating: float | None) -> Prior:
        """What to expect of a player with this rating: of the nearest that were seen, and the less the farther away."""
        if rating is None:
            return Prior(self.means, self.spreads * (1 + UNKNOWN / WIDENING))
        nearest = min(max(rating, self.low), self.high)
        means = self.means + (nearest - self.rating) / 100 * self.slopes
        return Prior(means, self.spreads * (1 + abs(rating - nearest) / WIDENING))


@cache
def people() -> People:
    """The players that come with Merino."""
    return from_toml(tomllib.loads(FILE.read_text(encoding="utf-8")))


def from_toml(found: dict[str, Any]) -> People:
    """The contents of a file; a column that it does not name has mean 0 and a wide spread."""
    rows = [found["columns"].get(name, {}) for name in COLUMNS]
    means, slopes, spreads = (
        np.array([float(row.get(key, other)) for row in rows])
        for key, other in (("mean", 0.0), ("slope", 0.0), ("spread", ANY_SPREAD))
    )
    low, high = map(float, found["ratings"])
    return People(float(found["rating"]), low, high, means, slopes, spreads)


def as_toml(people_: People, header: list[str]) -> str:
    """The contents of a file."""
    lines = [*(f"# {line}".rstrip() for line in header), ""]
    lines += [f"rating = {people_.rating:.0f}", f"ratings = [{people_.low:.0f}, {people_.high:.0f}]", ""]
    for name, mean, slope, spread in zip(COLUMNS, people_.means, people_.slopes, people_.spreads, strict=True):
        lines += [f'[columns."{name}"]', f"mean = {mean:.5g}", f"slope = {slope:.5g}", f"spread = {spread:.5g}", ""]
    return "\n".join(lines)
