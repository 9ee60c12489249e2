"""Tournaments: which players meet, one match for each pairing, until all are played or one is broken off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations, product

from match.errors import MatchError
from match.games import Tally
from match.runner import MatchResult

Pairing = tuple[int, int]  # two players by number
PlayMatch = Callable[[Pairing], tuple[MatchResult, MatchError | None]]


class Schedule(StrEnum):
    """Who meets whom."""

    GAUNTLET = "gauntlet"  # the first player each of the others
    ROUND_ROBIN = "round-robin"  # each player each other one

    def pairings(self, players: int, pool: int = 0) -> list[Pairing]:
        """The matches in their order; of a pool, whose players come last, each meets each player and nobody else."""
        if pool:
            return list(product(range(players), range(players, players + pool)))
        every = list(combinations(range(players), 2))
        return [pairing for pairing in every if pairing[0] == 0] if self is Schedule.GAUNTLET else every


@dataclass
class TournamentResult:
    """A tournament as far as it was played: the games of each pairing that has any, and what broke it off."""

    tallies: dict[Pairing, Tally] = field(default_factory=dict)
    interrupted: bool = False
    fault: MatchError | None = None


def run_tournament(pairings: Iterable[Pairing], play: PlayMatch) -> TournamentResult:
    """Let `play` play each match; none follows one that was interrupted or broken off."""
    result = TournamentResult()
    for pairing in pairings:
        match, result.fault = play(pairing)
        result.interrupted = match.interrupted
        if match.tally.games:
            result.tallies[pairing] = match.tally
        if result.interrupted or result.fault:
            break
    return result
