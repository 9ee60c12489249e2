"""`python -m tools.fit_people FILE.pgn ...`: fit the coefficients of the model of choice to the moves of many players.

Each of the most frequent players gets coefficients of their own, from a prior that says hardly anything: a conditional
logit (D. McFadden, Conditional logit analysis of qualitative choice behavior, 1974) by Newton's method. The means over
players and their slopes with the rating are written to `weights/people.toml`, by which levels of strength choose. Only
these numbers are kept; the games stay where they are.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.common import files, work
from merino.engine.search import choice
from merino.eval.families import default
from merino.eval.linear.family import LinearEvaluation
from merino.formats import pgn_games, sources
from merino.lab.people.games import MAX_CHOICES, PlayerGames, choices_of, games_of_player
from merino.learn.rescoring import Rescore

WIDE = np.repeat(
    [30.0, 3.0, 1.0],
    [choice.FIRST_HABIT, choice.FIRST_TERM - choice.FIRST_HABIT, len(choice.COLUMNS) - choice.FIRST_TERM],
)
MAX_STEPS = 40
SMALL = 1e-8  # relative gain of a step that ends a fit


TOGETHER = 8  # positions whose moves are searched with one table


@dataclass(frozen=True)
class Shown:
    """What the legal moves of positions show, and the ones that were played."""

    firsts: np.ndarray  # int64[n + 1]: the rows of the moves of each position
    played: np.ndarray  # int64[n], the row of the move played
    columns: np.ndarray  # float64[m, COLUMNS]

    def chances(self, coefficients: np.ndarray) -> np.ndarray:
        """The chance of each move by the model, float64[m]; those of a position add up to 1."""
        firsts, lengths = self.firsts[:-1], np.diff(self.firsts)
        strengths = self.columns @ coefficients
        strengths -= np.repeat(np.maximum.reduceat(strengths, firsts), lengths)
        shares = np.exp(strengths)
        return np.maximum(shares / np.repeat(np.add.reduceat(shares, firsts), lengths), 1e-300)


def shown_to(player: PlayerGames, evaluation: LinearEvaluation, most: int) -> Shown:
    """What a player saw in at most so many positions."""
    choices = choices_of(player, most)
    places = list(zip(choices.games.tolist(), choices.plies.tolist(), strict=True))
    moves_of = [np.concatenate([np.zeros(2, dtype=np.int64), player.games[game].moves]) for game, _ in places]
    before = np.array([moves[ply : ply + 2] for moves, (_, ply) in zip(moves_of, places, strict=True)])
    firsts, moves, children, columns = choice.shown_by(choices.positions, before)
    owner = np.repeat(np.arange(len(choices)), np.diff(firsts))
    signs = np.where(choices.positions["side"] == WHITE, 1.0, -1.0)
    for depth, nodes in enumerate(choice.SIGHTS):
        scores = signs[owner] * _scores(children, firsts, Rescore(nodes, evaluation))
        expected = choice.expected_scores(scores, evaluation.k)
        columns[:, depth] = expected - np.maximum.reduceat(expected, firsts[:-1])[owner]
    played = np.array([player.games[game].moves[ply] for game, ply in places])
    return Shown(firsts, np.flatnonzero(moves == played[owner]), columns)


def _scores(children: np.ndarray, firsts: np.ndarray, rescore: Rescore) -> np.ndarray:
    """White's scores after the moves."""
    stop, edges = np.zeros(1, dtype=np.uint64), [*firsts[:-1:TOGETHER].tolist(), int(firsts[-1])]
    scored = work.in_order(lambda span: rescore.scores_of(children[slice(*span)], stop), pairwise(edges))
    return np.concatenate([*scored])


def fit(shown: Shown, deviations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest coefficients of a player, and their covariance; the prior is normal around 0, float64[COLUMNS]."""
    precision = np.diag(deviations**-2.0)
    at = np.zeros(len(deviations))
    value, gradient, curvature = _at(shown, precision, at)
    for _ in range(MAX_STEPS):
        step, share = np.linalg.solve(curvature, gradient), 1.0
        while True:
            trial = _at(shown, precision, at + share * step)
            if trial[0] >= value or share < 1e-3:
                break
            share /= 2
        gain = trial[0] - value
        if gain <= 0:
            break
        at = at + share * step
        value, gradient, curvature = trial
        if gain < SMALL * (1 + abs(value)):
            break
    return at, np.linalg.inv(curvature)


def _at(shown: Shown, precision: np.ndarray, at: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The logarithm of the posterior, its gradient and its negative curvature."""
    chances = shown.chances(at)
    weighted = chances[:, None] * shown.columns
    means = np.add.reduceat(weighted, shown.firsts[:-1])
    value = float(np.log(chances[shown.played]).sum()) - 0.5 * float(at @ precision @ at)
    gradient = (shown.columns[shown.played] - means).sum(axis=0) - precision @ at
    return value, gradient, precision + shown.columns.T @ weighted - means.T @ means


def frequent_players(path: Path, count: int, least: int) -> list[str]:
    """The players with the most games in a file, with at least so many."""
    games: Counter[str] = Counter()
    with sources.open_source(path) as source:
        for text in pgn_games.games_of(source):
            table = pgn_games.play_games(text.data, text.table, 2)
            for index in range(len(table)):
                games.update(filter(None, {table.tag(index, "White"), table.tag(index, "Black")}))
    return [name for name, number in games.most_common(count) if number >= least]


def players_in(paths: Sequence[Path], players: int, least: int, positions: int) -> Iterator[tuple[PlayerGames, Shown]]:
    """The most frequent players of each file, and what they saw in so many positions; says who is done."""
    evaluation = default()
    for path in paths:
        for name in frequent_players(path, players, least):
            player = games_of_player(path, name)
            yield player, shown_to(player, evaluation, positions)
            print(f"{name}: {len(player.games)} games", file=sys.stderr, flush=True)


def combined(ratings: np.ndarray, found: np.ndarray, variances: np.ndarray) -> choice.People:
    """What players with these coefficients, float64[players, columns], and their variances have in common."""
    known = ~np.isnan(ratings)
    middle = float(ratings[known].mean()) if known.any() else 2500.0
    away = np.where(known, (ratings - middle) / 100, 0.0)
    means, slopes = np.zeros((2, len(choice.COLUMNS)))
    for column in range(len(choice.COLUMNS)):
        weights = 1 / (variances[:, column] + np.var(found[:, column]))
        means[column] = np.average(found[:, column], weights=weights)
        slope, error = _slope(away, found[:, column] - means[column], weights)
        slopes[column] = slope if abs(slope) > 2 * error else 0.0
    low, high = (float(ratings[known].min()), float(ratings[known].max())) if known.any() else (middle, middle)
    return choice.People(middle, low, high, means, slopes)


def _slope(away: np.ndarray, rest: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The slope of a line through the origin, and its standard error."""
    square = float((weights * away**2).sum())
    return (float((weights * away * rest).sum()) / square, square**-0.5) if square else (0.0, np.inf)


def as_toml(people: choice.People, header: Sequence[str]) -> str:
    """The contents of the file."""
    lines = [*(f"# {line}".rstrip() for line in header), ""]
    lines += [f"rating = {people.rating:.0f}", f"ratings = [{people.low:.0f}, {people.high:.0f}]", ""]
    for name, mean, slope in zip(choice.COLUMNS, people.means, people.slopes, strict=True):
        lines += [f'[columns."{name}"]', f"mean = {mean:.5g}", f"slope = {slope:.5g}", ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit and write."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit_people", description="Fit the model of choice.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.pgn")
    parser.add_argument("--players", type=int, default=40, help="of each file, the most frequent ones (40)")
    parser.add_argument("--least", type=int, default=60, help="games that a player must have (60)")
    parser.add_argument("--positions", type=int, default=MAX_CHOICES, help=f"of a player ({MAX_CHOICES})")
    parser.add_argument("--out", type=Path, default=choice.FILE)
    args = parser.parse_args(arguments)
    shown_to_players = players_in(args.files, args.players, args.least, args.positions)
    fitted = [(player.rating, *fit(shown, WIDE)) for player, shown in shown_to_players]
    ratings, found, covariances = map(list, zip(*fitted, strict=True))
    variances = np.array([np.diag(each) for each in covariances])
    people = combined(np.array(ratings, dtype=np.float64), np.array(found), variances)  # NaN: without a rating
    names = ", ".join(path.name for path in args.files)
    header = [
        "The coefficients of players in the model of choice, by which levels of strength choose.",
        f"Fitted on {date.today()} by tools/fit_people.py to {len(found)} players of {names},",
        f"{args.positions} positions each.",
    ]
    files.write_whole(args.out, as_toml(people, header).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
