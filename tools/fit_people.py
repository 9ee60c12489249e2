"""`python -m tools.fit_people FILE.pgn ...`: fit what is known of players before their games are seen.

Each of the most frequent players gets a profile of their own, from a prior that says hardly anything. The means over
players, how they change with the rating, and how much players differ beyond the uncertainty of their fits are written
to `weights/people.toml`. Only these numbers are kept; the games stay where they are.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from merino.core.common.files import write_whole
from merino.engine.search.choice import COLUMNS, FIRST_HABIT, FIRST_TERM
from merino.engine.search.people import FILE, People, Prior, as_toml
from merino.eval.families import default
from merino.formats.pgn_games import games_of, play_games
from merino.formats.sources import open_source
from merino.lab.people.profile.choices import MAX_CHOICES, Choices, choices_of, fit
from merino.lab.people.profile.players import PlayerGames, games_of_player

WIDE = np.repeat([30.0, 3.0, 1.0], [FIRST_HABIT, FIRST_TERM - FIRST_HABIT, len(COLUMNS) - FIRST_TERM])
MIN_SPREAD = 0.02  # of a coefficient, so that no player is taken to be just like the others


def frequent_players(path: Path, count: int, least: int) -> list[str]:
    """The players with the most games in a file, with at least so many."""
    games: Counter[str] = Counter()
    with open_source(path) as source:
        for text in games_of(source):
            table = play_games(text.data, text.table, 2)
            for index in range(len(table)):
                games.update(filter(None, {table.tag(index, "White"), table.tag(index, "Black")}))
    return [name for name, number in games.most_common(count) if number >= least]


def choices_in(
    paths: Sequence[Path], players: int, least: int, positions: int
) -> Iterator[tuple[PlayerGames, Choices]]:
    """The most frequent players of each file, and their choices in so many positions; tells who is done."""
    evaluation = default()
    for path in paths:
        for name in frequent_players(path, players, least):
            player = games_of_player(path, name)
            yield player, choices_of(player, evaluation, positions)
            print(f"{name}: {len(player.games)} games", file=sys.stderr, flush=True)


def combined(ratings: np.ndarray, found: np.ndarray, variances: np.ndarray) -> People:
    """What players with these coefficients, float64[players, columns], and their variances have in common."""
    known = ~np.isnan(ratings)
    middle = float(ratings[known].mean()) if known.any() else 2500.0
    away = np.where(known, (ratings - middle) / 100, 0.0)
    means, slopes, spreads = np.zeros((3, len(COLUMNS)))
    for column in range(len(COLUMNS)):
        weights = 1 / (variances[:, column] + np.var(found[:, column]))
        means[column] = np.average(found[:, column], weights=weights)
        rest = found[:, column] - means[column]
        slope, error = _slope(away, rest, weights)
        slopes[column] = slope if abs(slope) > 2 * error else 0.0
        rest = rest - slopes[column] * away
        spreads[column] = max(MIN_SPREAD, np.average(rest**2 - variances[:, column], weights=weights)) ** 0.5
    spreads[FIRST_TERM:] = np.maximum(spreads[FIRST_TERM:], MIN_SPREAD)
    low, high = (float(ratings[known].min()), float(ratings[known].max())) if known.any() else (middle, middle)
    return People(middle, low, high, means, slopes, spreads)


def _slope(away: np.ndarray, rest: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The slope of a line through the origin, and its standard error."""
    square = float((weights * away**2).sum())
    return (float((weights * away * rest).sum()) / square, square**-0.5) if square else (0.0, np.inf)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit and write."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit_people", description="Fit the prior of profiles.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.pgn")
    parser.add_argument("--players", type=int, default=40, help="of each file, the most frequent ones (40)")
    parser.add_argument("--least", type=int, default=60, help="games that a player must have (60)")
    parser.add_argument("--positions", type=int, default=MAX_CHOICES, help=f"of a player ({MAX_CHOICES})")
    parser.add_argument("--out", type=Path, default=FILE)
    args = parser.parse_args(arguments)
    ratings, found, variances = [], [], []
    wide = Prior(np.zeros(len(COLUMNS)), WIDE)
    for player, choices in choices_in(args.files, args.players, args.least, args.positions):
        fitted = fit(choices, wide)
        ratings.append(np.nan if player.rating is None else player.rating)
        found.append(fitted.coefficients)
        variances.append(np.diag(fitted.covariance))
    people = combined(np.array(ratings), np.array(found), np.array(variances))
    names = ", ".join(path.name for path in args.files)
    header = [
        "What is known of players before their games are seen: the prior of `merino profile`.",
        f"Fitted on {date.today()} by tools/fit_people.py to {len(found)} players of {names},",
        f"{args.positions} positions each.",
    ]
    write_whole(args.out, as_toml(people, header).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
