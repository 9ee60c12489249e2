"""Tournaments: a match for each pairing, until all are played or one is interrupted, and ratings from the results.

Ratings are those of maximum likelihood, with one player's rating fixed. The expected score is the logistic one of the
Elo scale; a draw counts as half a win and half a loss. The errors use the observed variance of the pairs (the
"sandwich" estimator of White 1982), so that draws and openings that favour a side count correctly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations, pairwise, product

import numpy as np

from merino.match.errors import MatchError
from merino.match.games import Tally
from merino.match.report import points_text
from merino.match.runner import MatchResult
from merino.match.statistics import Z_95

Pairing = tuple[int, int]  # two players by number
PlayMatch = Callable[[Pairing], tuple[MatchResult, MatchError | None]]
ELO = math.log(10) / 400
STEPS = 200
PRIOR_GAMES = 1.0  # draws against an average player of the table, so that a clean score has a finite rating


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


@dataclass(frozen=True)
class Rating:
    """One row of a rating table."""

    name: str
    rating: float
    error: float  # half of the 95% interval, 0 for the anchor
    games: int
    points: float
    los: float | None  # the likelihood that it is stronger than the anchor; None for the anchor
    los_next: float | None = None  # the likelihood that it is stronger than the next row; None for the last


def rate(names: list[str], results: Mapping[tuple[int, int], Tally], anchor: int, rating: float) -> list[Rating]:
    """The table, best first. `results` are those of player i against player j; player `anchor` has this `rating`."""
    count = len(names)
    elo = np.zeros(count)
    free = [index for index in range(count) if index != anchor]
    for _ in range(STEPS):
        gradient, curvature, _ = _derivatives(elo, results, count)
        step = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        elo[free] += np.clip(step, -200, 200)
        if np.max(np.abs(step), initial=0) < 1e-9:
            break
    _, curvature, spread = _derivatives(elo, results, count)
    inverse = np.linalg.inv(curvature[np.ix_(free, free)])
    covariance = np.zeros((count, count))
    covariance[np.ix_(free, free)] = inverse @ spread[np.ix_(free, free)] @ inverse

    def superiority(one: int, other: int) -> float:
        """The likelihood that one player is stronger than another."""
        variance = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
        return 0.5 * (1 + math.erf((elo[one] - elo[other]) / math.sqrt(2 * max(variance, 1e-12))))

    rows = []
    for index, name in enumerate(names):
        tallies = [(tally, side) for pair, tally in results.items() for side in (0, 1) if pair[side] == index]
        games = sum(tally.games for tally, _ in tallies)
        points = sum(_points(tally) if side == 0 else tally.games - _points(tally) for tally, side in tallies)
        error = Z_95 * math.sqrt(covariance[index, index])
        los = None if index == anchor else superiority(index, anchor)
        rows.append(Rating(name, rating + elo[index], error, games, points, los))
    order = sorted(range(count), key=lambda index: -rows[index].rating)
    below = {index: superiority(index, other) for index, other in pairwise(order)}
    return [replace(rows[index], los_next=below.get(index)) for index in order]


def _points(tally: Tally) -> float:
    return float(tally.points @ (0, 0.5, 1))


def _derivatives(
    elo: np.ndarray, results: Mapping[tuple[int, int], Tally], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient and negative curvature of the log-likelihood by the ratings, and the variance of the gradient."""
    from_mean = np.eye(count) - 1 / count  # so that the anchor changes no difference between players
    ahead = ELO * (elo - elo.mean()) / 2
    gradient = from_mean @ (-PRIOR_GAMES * ELO / 2 * np.tanh(ahead))
    curvature = from_mean @ np.diag(PRIOR_GAMES * ELO**2 / 4 / np.cosh(ahead) ** 2) @ from_mean
    spread = curvature.copy()
    for (first, second), tally in results.items():
        expected = 1 / (1 + math.exp(ELO * (elo[second] - elo[first])))
        side = np.zeros(count)
        side[first], side[second] = 1, -1
        outer = np.outer(side, side)
        gradient += ELO * (_points(tally) - tally.games * expected) * side
        curvature += ELO**2 * tally.games * expected * (1 - expected) * outer
        spread += ELO**2 * _variance(tally, expected) * outer
    return gradient, curvature, spread


def _variance(tally: Tally, expected: float) -> float:
    """The variance of the points of this pairing, from its pairs; without pairs, that of a coin."""
    pairs = float(tally.pairs @ (np.linspace(0, 2, 5) - 2 * expected) ** 2)
    single = tally.games - 2 * int(tally.pairs.sum())
    coins = tally.games * expected * (1 - expected)
    return max(pairs + single * expected * (1 - expected), coins / 4)


def table(rows: list[Rating], anchor: str) -> str:
    """The table as Markdown."""
    lines = [
        f"| # | Player | Rating | 95% | Games | Score | LOS to {_cell(anchor)} | LOS to next |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for number, row in enumerate(rows, start=1):
        error = "anchor" if row.name == anchor else f"+- {row.error:.0f}"
        share = f"{row.points / row.games:.1%}" if row.games else ""
        likelihoods = " | ".join("" if los is None else f"{los:.1%}" for los in (row.los, row.los_next))
        cells = f"{_cell(row.name)} | {round(row.rating)} | {error} | {row.games} | {share} | {likelihoods}"
        lines.append(f"| {number} | {cells} |")
    return "\n".join(lines)


def _cell(name: str) -> str:
    """A name as a cell of a table in Markdown."""
    return name.replace("|", "\\|")


def pool_table(
    versions: Sequence[str], opponents: Sequence[str], results: Mapping[tuple[int, int], Tally], rows: Sequence[Rating]
) -> str:
    """What each version scored against each opponent, and its rating, as Markdown.

    `results` are those of version i against opponent j, which has the number len(versions) + j; `rows` those of `rate`.
    """
    by_name = {row.name: row for row in rows}
    lines = [
        f"| Version | {' | '.join(map(_cell, opponents))} | Elo | 95% | LOS |",
        f"| --- |{' ---: |' * (len(opponents) + 3)}",
    ]
    for first, version in enumerate(versions):
        row, cells = by_name[version], []
        for second in range(len(versions), len(versions) + len(opponents)):
            tally = results.get((first, second))
            cells.append(f"{points_text(_points(tally))} of {tally.games}" if tally else "")
        error, los = ("anchor", "") if row.los is None else (f"+- {row.error:.0f}", f"{row.los:.1%}")
        lines.append(f"| {_cell(version)} | {' | '.join(cells)} | {round(row.rating)} | {error} | {los} |")
    return "\n".join(lines)
