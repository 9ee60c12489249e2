"""Levels of strength, by Elo: how sharply a player sees what searches of several sizes see.

A strength is one number, in Elo. It sets the coefficients of the searches in the model of choice
(`engine.search.choice`): a weak player hardly sees more than the next captures, a strong one goes by the deeper
searches. They follow from ladders whose rungs were measured by matches (`weights/levels.toml`, written by
`tools/calibrate_strength.py`; docs/gui.md). Imports nothing heavy.
"""

import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from merino.core.common.about import SHIPPED

FILE = Path(SHIPPED) / "levels.toml"
DEFAULT_ELO = 1500
FULL_LEVEL = 20  # the level, 0..20, of full strength
TERMS, NETS = "terms", "nets"  # kinds of evaluations, each with a ladder of its own


class Rung(NamedTuple):
    """A measured strength, and the coefficients of the searches, from the shallowest on."""

    elo: int
    sights: tuple[float, ...]


class Ladder(NamedTuple):
    """The rungs of a kind of evaluations, the weakest first, and a digest of what they were measured with."""

    rungs: tuple[Rung, ...]
    measured_with: str


def ladders_in(found: dict[str, Any]) -> dict[str, Ladder]:
    """The ladders in the contents of a file, by the kind of evaluation."""
    return {
        kind: Ladder(tuple(Rung(elo, tuple(map(float, sights))) for elo, *sights in one["rungs"]), one["measured_with"])
        for kind, one in found.items()
    }


LADDERS = ladders_in(tomllib.loads(FILE.read_text(encoding="utf-8")))
MIN_ELO = max(ladder.rungs[0].elo for ladder in LADDERS.values())
MAX_ELO = min(ladder.rungs[-1].elo for ladder in LADDERS.values())


@dataclass(frozen=True)
class Strength:
    """The strength of weakened play."""

    elo: int

    def sights(self, kind: str) -> tuple[float, ...]:
        """The coefficients of the searches with this kind of evaluation: interpolated between the rungs."""
        rungs = LADDERS[kind].rungs
        elo = min(max(self.elo, rungs[0].elo), rungs[-1].elo)
        lower, upper = next((low, high) for low, high in pairwise(rungs) if elo <= high.elo)
        share = (elo - lower.elo) / (upper.elo - lower.elo)
        return tuple(low + share * (high - low) for low, high in zip(lower.sights, upper.sights, strict=True))


def at_elo(elo: int) -> Strength:
    """The strength for this Elo, clamped to those that were measured."""
    return Strength(min(max(elo, MIN_ELO), MAX_ELO))


def at_level(level: int) -> Strength | None:
    """The strength of a level 0..20, spread evenly over the ladder; None for the last, which is full strength."""
    if level >= FULL_LEVEL:
        return None
    return at_elo(round(MIN_ELO + (MAX_ELO - MIN_ELO) * max(level, 0) / (FULL_LEVEL - 1)))
