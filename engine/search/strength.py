"""Weakened play, like a person's: it looks less far ahead, and does not always choose the best move found.

A strength is one number, in Elo. It sets a number of nodes, so that it does not depend on the machine. The move is
drawn from the best lines found; the more centipawns a line gives away, the less likely it is. Both follow from a
ladder whose rungs were measured by matches (`tools/calibrate_strength.py`, docs/gui.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from random import Random

CANDIDATES = 8  # lines the move is drawn from
DEFAULT_ELO = 1500
FULL_LEVEL = 20  # the level, 0..20, of full strength


class SkillLevel(NamedTuple):
    """A measured strength and its settings."""

    elo: int
    nodes: int
    temperature: float  # centipawns: a move that gives away this much is 1/e as likely


LADDER = (
    SkillLevel(870, 100, 250.0),
    SkillLevel(1030, 300, 130.0),
    SkillLevel(1310, 1000, 60.0),
    SkillLevel(1710, 3000, 35.0),
    SkillLevel(1990, 8000, 25.0),
    SkillLevel(2240, 20_000, 16.0),
    SkillLevel(2390, 50_000, 10.0),
    SkillLevel(2450, 100_000, 7.0),
)
MIN_ELO, MAX_ELO = LADDER[0].elo, LADDER[-1].elo


class Scored(Protocol):
    """A line of play with its score in centipawns for the side to move."""

    @property
    def score(self) -> int: ...  # noqa: D102 (a field)


Line = TypeVar("Line", bound=Scored)


@dataclass(frozen=True)
class Strength:
    """The settings of weakened play: `nodes` to search, `temperature` in centipawns for drawing the move."""

    elo: int
    nodes: int
    temperature: float

    def choose(self, lines: Sequence[Line], random: Random) -> Line:
        """One of the lines, drawn by score."""
        best = max(line.score for line in lines)
        weights = [math.exp((line.score - best) / self.temperature) for line in lines]
        return random.choices(lines, weights)[0]


def at_elo(elo: int) -> Strength:
    """The strength for this Elo: interpolated between the rungs of the ladder, clamped at its ends."""
    elo = min(max(elo, MIN_ELO), MAX_ELO)
    lower, upper = next((low, high) for low, high in pairwise(LADDER) if elo <= high.elo)
    share = (elo - lower.elo) / (upper.elo - lower.elo)
    nodes = round(lower.nodes * (upper.nodes / lower.nodes) ** share)
    return Strength(elo, nodes, lower.temperature * (upper.temperature / lower.temperature) ** share)


def at_level(level: int) -> Strength | None:
    """The strength of a level 0..20, spread evenly over the ladder; None for the last, which is full strength."""
    if level >= FULL_LEVEL:
        return None
    return at_elo(round(MIN_ELO + (MAX_ELO - MIN_ELO) * max(level, 0) / (FULL_LEVEL - 1)))
