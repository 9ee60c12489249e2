"""Tournaments: one match for each pairing, until all are played or one is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations, product

from merino.inner.match.errors import MatchError
from merino.inner.match.games import Tally
from merino.inner.match.runner import MatchResult

Pairing = tuple[int, int]  # two players by number
PlayMatch = Callable[[Pairing], tuple[MatchResult, MatchError | None]]


class Schedule(StrEnum):
    """Who meets whom."""

    GAUNTLET = "gauntlet"  # the first player plays each of the others
    ROUND_ROBIN = "round-robin"  # each player plays each other one

    def pairings(self, players: int, pool: int = 0) -> list[Pairing]:
        """The matches in order. The players of a pool come last and meet only players outside it."""
        if pool:
            return list(product(range(players), range(players, players + pool)))
        every = list(combinations(range(players), 2))
        return [pairing for pairing in every if pairing[0] == 0] if self is Schedule.GAUNTLET else every


@dataclass
class TournamentResult:
    """A tournament, or the part that was played: the games of each pairing that has any, and why it stopped."""

    tallies: dict[Pairing, Tally] = field(default_factory=dict)
    interrupted: bool = False
    fault: MatchError | None = None


def run_tournament(pairings: Iterable[Pairing], play: PlayMatch) -> TournamentResult:
    """Play each match with `play`; stop after one that was interrupted or failed."""
    result = TournamentResult()
    for pairing in pairings:
        match, result.fault = play(pairing)
        result.interrupted = match.interrupted
        if match.tally.games:
            result.tallies[pairing] = match.tally
        if result.interrupted or result.fault:
            break
    return result
