"""The moves of a player by phase, colour, clock and time: what they lose, and how many are mistakes.

Means come with the intervals in which they lie with 95%.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.eval.material import FULL_BOARD
from merino.lab.people.profile.choices import Choices
from merino.lab.people.profile.players import PlayerGame, PlayerGames
from merino.match.statistics import t_95, wilson_interval

PERIODS = 6  # of one's games, at most
MIN_MOVES = 50  # of a period
_DAY = re.compile(r"\d{4}\.(\d\d|\?\?)\.(\d\d|\?\?)")
WIDE = 0.5  # of a mean: an interval that reaches farther to a side says too little
MIN_GAMES = 5  # that an interval of means by game needs
COIN_OF_A_GAME = 0.25  # variance of a game that is lost or won by chance


@dataclass(frozen=True)
class JudgedMoves:
    """The moves that a player chose, and what a longer search says of each."""

    choices: Choices
    losses: np.ndarray  # of the expected score, float64[n]; below zero where the search has come to think better of it
    are_mistakes: np.ndarray  # bool[n]

    def group(self, name: str, chosen: np.ndarray) -> MoveGroup:
        """The moves for which bool[n] is true, at least one."""
        losses, games = self.losses[chosen], self.choices.games[chosen]
        mistakes = share_by_game(self.are_mistakes[chosen], games)
        return MoveGroup(name, len(np.unique(games)), len(losses), mean_of(losses, games), mistakes)

    def groups(self, named: Iterable[tuple[str, np.ndarray]]) -> tuple[MoveGroup, ...]:
        """The groups with their names; those without moves are left out."""
        return tuple(self.group(name, chosen) for name, chosen in named if chosen.any())


@dataclass(frozen=True)
class MoveGroup:
    """Some of the moves: their number, the share of a point that they lose on average, and the share of mistakes."""

    name: str
    games: int
    moves: int
    loss: Interval
    mistakes: Interval

    @property
    def is_enough(self) -> bool:
        """Whether the interval of what is lost says something."""
        return self.games >= MIN_GAMES and not self.loss.is_wide


@dataclass(frozen=True)
class OverTime:
    """The moves by periods, the earliest first, and how much more is lost in the later half of the games."""

    by: str  # "date", or "place in the file" where not every game has a date
    periods: tuple[MoveGroup, ...]
    change: Interval | None  # None with too few games

    @property
    def direction(self) -> int:
        """1 if less is lost later, -1 if more is, 0 if the interval does not tell."""
        if self.change is None or self.change.low <= 0 <= self.change.high:
            return 0
        return -1 if self.change.low > 0 else 1


def parts_of(player: PlayerGames, moves: JudgedMoves) -> tuple[MoveGroup, ...]:
    """The moves by phase, colour and clock."""
    choices = moves.choices
    colours = np.array([game.colour for game in player.games])[choices.games]
    named = {
        "all moves": np.ones(len(choices), dtype=bool),
        "opening and middlegame": choices.stages > FULL_BOARD // 2,
        "endgame": choices.stages <= FULL_BOARD // 2,
        "with White": colours == WHITE,
        "with Black": colours != WHITE,
    }
    places = zip(choices.games.tolist(), choices.plies.tolist(), strict=True)
    left = np.array([_seconds_left(player.games[game], ply) for game, ply in places])
    if not np.isnan(left).all():
        named |= {"a minute or more left": left >= 60, "less than a minute left": left < 60}
    return moves.groups(named.items())


def _seconds_left(game: PlayerGame, ply: int) -> float:
    """What the player's clock showed before a move; nan if that is not told."""
    return float(game.clocks[ply - 2]) if len(game.clocks) else math.nan


def over_time(player: PlayerGames, moves: JudgedMoves) -> OverTime:
    """The moves in the order in which they were played, in periods with as many moves each."""
    dated = all(_DAY.fullmatch(game.date) for game in player.games)
    keys = [game.date if dated else "" for game in player.games]
    order = sorted(range(len(player.games)), key=lambda index: (keys[index], player.games[index].number))
    ranks = np.zeros(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    rank = ranks[moves.choices.games]
    periods = [period for period in _cut(rank, min(PERIODS, len(rank) // MIN_MOVES)) if period.any()]
    ends = [(rank[period].min(), rank[period].max()) for period in periods]
    names = _names([(player.games[order[first]], player.games[order[last]]) for first, last in ends], dated)
    early, late = _cut(rank, 2)
    halves = [moves.group("", half) for half in (early, late) if half.any()]
    enough = len(halves) == 2 and min(half.games for half in halves) >= MIN_GAMES
    change = difference(halves[0].loss, halves[1].loss) if enough else None
    return OverTime("date" if dated else "place in the file", moves.groups(zip(names, periods, strict=True)), change)


def _cut(rank: np.ndarray, parts: int) -> list[np.ndarray]:
    """Which moves belong to each part, bool[n]: whole games by rank, the parts about as large."""
    counts = np.cumsum(np.bincount(rank))
    part = ((counts - 1) * max(parts, 1) // counts[-1])[rank]
    return [part == number for number in range(max(parts, 1))]


def _names(periods: Sequence[tuple[PlayerGame, PlayerGame]], dated: bool) -> list[str]:
    """What periods are called by their first and last games: "2001.02.03 to 2002.01.01", or "games 3 to 40".

    One of a single day or game has the name of that. Several of one day have both: "2001.02.03, games 3 to 40".
    """
    numbers = [
        f"games {first.number} to {last.number}" if first.number != last.number else f"game {first.number}"
        for first, last in periods
    ]
    if not dated:
        return numbers
    dates = [tuple(game.date.rstrip("?.") for game in period) for period in periods]
    return [
        f"{span[0]}, {places}" if dates.count(span) > 1 else " to ".join(dict.fromkeys(span))
        for span, places in zip(dates, numbers, strict=True)
    ]


@dataclass(frozen=True)
class Interval:
    """A mean, and where it lies with 95%."""

    value: float
    low: float
    high: float

    @property
    def is_wide(self) -> bool:
        """Whether the interval reaches farther than the mean allows."""
        return (self.high - self.low) / 2 > WIDE * abs(self.value)


def mean_of(values: np.ndarray, games: np.ndarray) -> Interval:
    """The mean of what moves lose, float64[n], n > 0, of which those of one game, int64[n], go together; from -1 to 1.

    With less than MIN_GAMES games it may lie anywhere.
    """
    value, clusters = float(values.mean()), len(np.unique(games))
    if clusters < MIN_GAMES:
        return Interval(value, -1.0, 1.0)
    error = t_95(clusters - 1) * math.sqrt(_variance_of_mean(values, games))
    return Interval(value, max(-1.0, value - error), min(1.0, value + error))


def mean_score(scores: np.ndarray) -> Interval:
    """The mean score of games, float64[n], n > 0, from 0 to 1; with less than MIN_GAMES it may lie anywhere.

    A game that could have been lost or won counts as one more, so that a few equal results do not look certain.
    """
    value, count = float(scores.mean()), len(scores)
    if count < MIN_GAMES:
        return Interval(value, 0.0, 1.0)
    squares = float(((scores - value) ** 2).sum()) + COIN_OF_A_GAME
    error = t_95(count - 1) * math.sqrt(squares / (count - 1) / count)
    return Interval(value, max(0.0, value - error), min(1.0, value + error))


def share_by_game(flags: np.ndarray, games: np.ndarray) -> Interval:
    """The share of moves, bool[n], n > 0, of which those of one game, int64[n], go together.

    Moves that agree within games count as so many fewer (L. Kish's design effect).
    """
    share, count = float(flags.mean()), len(flags)
    alone = share * (1 - share) / count
    several = len(np.unique(games)) > 1 and alone > 0
    effect = max(1.0, _variance_of_mean(flags, games) / alone) if several else 1.0
    return share_of(share * count / effect, count / effect)


def _variance_of_mean(values: np.ndarray, games: np.ndarray) -> float:
    """The variance of the mean of values of moves, those of one game taken together."""
    _, places = np.unique(games, return_inverse=True)
    sums = np.bincount(places, weights=values - values.mean())
    return float((sums**2).sum()) / len(values) ** 2 * len(sums) / (len(sums) - 1)


def share_of(count: float, of: float) -> Interval:
    """A share, of at least one."""
    share = count / of
    low, high = map(float, wilson_interval(share, of))
    return Interval(share, max(0.0, min(share, low)), min(1.0, max(share, high)))


def difference(first: Interval, second: Interval) -> Interval:
    """How much more the second is, by other games than the first."""
    value = second.value - first.value
    error = math.hypot((first.high - first.low) / 2, (second.high - second.low) / 2)
    return Interval(value, value - error, value + error)
