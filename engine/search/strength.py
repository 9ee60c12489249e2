"""Playing weaker than one can, like a person: by looking less far, and by not always taking the best move seen.

A strength is one number, in Elo. It buys a number of nodes, so that it does not depend on the machine; and the move
is drawn among the best lines found, each the less likely the more centipawns it gives away. Both follow from a
ladder whose rungs were measured by matches (`tools/calibrate_strength.py`, README).
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
FULL_LEVEL = 20  # the level, 0..20, that is not weakened


class SkillLevel(NamedTuple):
    """A strength that was measured, and what makes it."""

    elo: int
    nodes: int
    temperature: float  # centipawns: giving away so much makes a move 1/e as likely


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
WEAKEST, STRONGEST = LADDER[0].elo, LADDER[-1].elo


class Scored(Protocol):
    """A line of play with its score in centipawns for the side to move."""

    @property
    def score(self) -> int: ...  # noqa: D102 (a field)


Line = TypeVar("Line", bound=Scored)


@dataclass(frozen=True)
class Strength:
    """How strongly to play: `nodes` to search, `temperature` in centipawns to draw the move with."""

    elo: int
    nodes: int
    temperature: float

    def choose(self, lines: Sequence[Line], random: Random) -> Line:
        """One of the lines, drawn by score."""
        best = max(line.score for line in lines)
        weights = [math.exp((line.score - best) / self.temperature) for line in lines]
        return random.choices(lines, weights)[0]


def at_elo(elo: int) -> Strength:
    """The strength of so much Elo, between the rungs of the ladder by interpolation, its ends where it is beyond."""
    elo = min(max(elo, WEAKEST), STRONGEST)
    lower, upper = next((low, high) for low, high in pairwise(LADDER) if elo <= high.elo)
    share = (elo - lower.elo) / (upper.elo - lower.elo)
    nodes = round(lower.nodes * (upper.nodes / lower.nodes) ** share)
    return Strength(elo, nodes, lower.temperature * (upper.temperature / lower.temperature) ** share)


def at_level(level: int) -> Strength | None:
    """The strength of a level 0..20, spread evenly over the ladder; None for the last, which is full strength."""
    if level >= FULL_LEVEL:
        return None
    return at_elo(round(WEAKEST + (STRONGEST - WEAKEST) * max(level, 0) / (FULL_LEVEL - 1)))
