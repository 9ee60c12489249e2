"""The coefficients of the model of choice: of many players, before their games are seen, and of one, from a profile.

The chance of a move is proportional to exp(its columns times the coefficients); `engine.search.choice` has the columns.

What is known of many players lies in `weights/people.toml`, with where it comes from; `tools/fit_people.py` fits it
again. No games are needed to use it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import merino.eval.linear.weights as shipped
from merino.core.common.json_text import parsed
from merino.core.common.user_files import SETTINGS, read_user_text, user_path
from merino.engine.search.choice import COLUMNS, FIRST_HABIT, HABITS

FILE = Path(shipped.DEFAULT_FILE).with_name("people.toml")
WIDENING = 100.0  # points of rating beyond those seen after which players may differ once more as much
UNKNOWN = 400.0  # points that an unknown rating may be away
ANY_SPREAD = 1.0  # of a coefficient of which the file says nothing
MAX_COEFFICIENT = 1e6  # far beyond any player's, and small enough to be added up


class StyleError(ValueError):
    """A file that tells no style; the message says why."""


@dataclass(frozen=True)
class Prior:
    """Coefficients as they are expected, and their standard deviations."""

    means: np.ndarray
    deviations: np.ndarray


@dataclass(frozen=True)
class Style:
    """The coefficients of one player, by COLUMNS."""

    player: str
    coefficients: np.ndarray

    @property
    def sights(self) -> tuple[float, ...]:
        """What the player sees: the coefficients of the searches."""
        return tuple(self.coefficients[:FIRST_HABIT].tolist())

    @property
    def tastes(self) -> np.ndarray:
        """What the player likes: the coefficients of habits and terms."""
        return self.coefficients[FIRST_HABIT:]

    def named(self) -> dict[str, float]:
        """The coefficients by COLUMNS, what `style_of` makes a style of."""
        return dict(zip(COLUMNS, self.coefficients.tolist(), strict=True))


def read_style(name: str) -> Style:
    """The style in a file that `merino profile --json` wrote; raises StyleError and OSError."""
    text = read_user_text(user_path(name), SETTINGS)
    try:
        found = parsed(text)
        return style_of(str(found["player"]), found["coefficients"])
    except StyleError as error:
        raise StyleError(f"'{name}': {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise StyleError(f"'{name}' is no profile with coefficients: write one by 'merino profile --json'") from error


def style_of(player: str, named: Mapping[str, float]) -> Style:
    """The style with these coefficients by COLUMNS; raises StyleError for what cannot be one, and KeyError for none.

    Habits that are not among them, as an older Merino did not know them, are those of others.
    """
    usual = people().prior(None).means[FIRST_HABIT:]
    known = {**dict(zip(HABITS, usual.tolist(), strict=False)), **named}
    try:
        coefficients = np.array([float(known[column]) for column in COLUMNS])
    except (TypeError, ValueError, OverflowError) as error:
        raise StyleError(f"the coefficients of {player[:80]} are not numbers: {error}") from error
    if not (np.abs(coefficients) <= MAX_COEFFICIENT).all():
        raise StyleError(f"the coefficients of {player[:80]} are not finite, or beyond {MAX_COEFFICIENT:.0f}")
    return Style(player, coefficients)


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
