"""The matches of recipes: each version against the start and a pool of other engines, the best at other limits too.

A version that beats its start may have learned that alone; what it scores against others says more. The states of all
matches are kept in a folder, so that a stopped comparison continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from merino.match.config import CLEAR_WIN, MatchConfig, TimeControl
from merino.match.games import Tally
from merino.match.players import OwnPlayer, Player
from merino.match.report import Rating, Schedule, duration, live_line, rate
from merino.match.runner import MatchOutput, run_match
from merino.match.statistics import Sprt

MARGIN_MS = 100  # by which a move of the pool may be late


class ComparisonStoppedError(Exception):
    """Ctrl-C; the work so far is kept."""


@dataclass(frozen=True)
class Limit:
    """The limits of a move, and how many games are played with them."""

    time_control: TimeControl
    games: int


@dataclass(frozen=True)
class Pool:
    """Other engines that each version meets, so many games each; the start has this `rating`.

    `absent` says of those that are not on this machine why they are left out.
    """

    opponents: tuple[Player, ...]
    limit: Limit
    rating: float = 0.0
    absent: tuple[str, ...] = ()


def pool_match(name: str, number: int) -> str:
    """The name of the match of a version against an opponent of the pool, numbered from 1."""
    return f"{name}-pool{number}"


def control_match(name: str, number: int) -> str:
    """The name of the match of a version against the start at the limits of a control, numbered from 1."""
    return f"{name}-control{number}"


@dataclass(frozen=True)
class PoolResult:
    """What versions scored against each opponent: by the numbers of both, the opponents after all versions."""

    versions: tuple[str, ...]
    opponents: tuple[str, ...]
    tallies: Mapping[tuple[int, int], Tally]
    rows: tuple[Rating, ...]


class RecipeMatches:
    """Matches whose states lie in a folder; a method that plays raises MatchError and ComparisonStoppedError."""

    def __init__(self, folder: Path, seed: int, threads: int, show: Callable[[str], object]) -> None:
        self._folder, self._seed, self._threads, self._show = folder, seed, threads, show

    def play(self, name: str, players: tuple[Player, Player], limit: Limit, later: int = 0) -> Tally:
        """A match with its state in `name`.state; as many games `later` at the same limit count for the time left."""
        timed = limit.time_control.is_timed
        config = MatchConfig(
            players,
            limit.time_control,
            limit.games,
            self._seed,
            adjudication=CLEAR_WIN,
            margin=MARGIN_MS if timed else 0,
        )
        output = MatchOutput(self._show, state=self._folder / f"{name}.state", line=partial(_line, name, later))
        # A clock is fair only where each game has its core.
        result = run_match(config, 1 if timed else self._threads, None, output)
        if result.interrupted:
            raise ComparisonStoppedError
        return result.tally

    def meet_pool(self, versions: Sequence[OwnPlayer], pool: Pool) -> PoolResult:
        """Each version against each opponent; the first version has the rating of the pool."""
        players = (*versions, *pool.opponents)
        pairings = Schedule.GAUNTLET.pairings(len(versions), len(pool.opponents))
        tallies = {}
        for number, (first, second) in enumerate(pairings, start=1):
            one, other = players[first], players[second]
            name = pool_match(one.label, second - len(versions) + 1)
            later = pool.limit.games * (len(pairings) - number)
            tallies[first, second] = self.play(name, (one, other), pool.limit, later)
        labels = tuple(player.label for player in players)
        rows = tuple(rate(list(labels), tallies, 0, pool.rating))
        return PoolResult(labels[: len(versions)], labels[len(versions) :], tallies, rows)


def _line(name: str, later: int, tally: Tally, games: int, speed: float | None, sprt: Sprt | None) -> str:
    """The live line of a match, with the time that it and all later ones of its kind take."""
    line = f"{name}  {live_line(tally, games, speed, sprt)}"
    if not later or not speed:
        return line
    return f"{line}, {duration((games - tally.games + later) / speed)} with those after it"
