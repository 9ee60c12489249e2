"""How strong the players are: by the ratings that their games give, else fitted to their results, with a prior.

The model of the fit is that of Elo and of Bradley and Terry (Biometrika 39, 1952), with an advantage of the first move:
White's expected points are 1 / (1 + 10^-(gap / 400)), and a draw is half a point. A player is taken to be about as
strong as his ratings in other games say, or as the mean of all ratings, until his results tell better.

A result must not foretell itself: of each game the two players' strengths are those without it, by a step of Newton's
method. So one who has no other game has no strength.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from merino.core.compiled.jit import entry, kernel
from merino.formats.labelled import hash_of_text
from merino.formats.pgn_games import TAG_NAMES, games_of
from merino.formats.pgn_tokens import UNFINISHED
from merino.formats.sources import open_source

NOBODY = 0  # the key of a player without a name
UNRATED_ELO, RATED_ELO = 200.0, 50.0  # standard deviations from the prior, without and with ratings in other games
FIRST_MOVE_ELO = 35.0  # the advantage of the first move before any game, and the deviation from it
ELO = math.log(10) / 400
ROUNDS, STEPS = 20, 200  # of Newton's method, and of conjugate gradients in each
TOLERANCE = 0.01  # Elo
_NAMES, _RATINGS = (tuple(map(TAG_NAMES.index, names)) for names in (("White", "Black"), ("WhiteElo", "BlackElo")))


class Players(NamedTuple):
    """Who met whom: `keys` uint64[games, 2], White's first, and `ratings` float32[games, 2], NaN if not given."""

    keys: np.ndarray
    ratings: np.ndarray

    @property
    def gaps(self) -> np.ndarray:
        """White's rating above Black's, NaN if one is missing: float32[games]."""
        found: np.ndarray = self.ratings[:, 0] - self.ratings[:, 1]
        return found


class Strengths(NamedTuple):
    """The strengths of players, by rising key: `elo`, the `precision` of each, and of how many things they are known.

    `known` counts their games, and one more if they have ratings elsewhere. `advantage` is that of the first move.
    """

    keys: np.ndarray
    elo: np.ndarray
    precision: np.ndarray
    known: np.ndarray
    advantage: float

    def gaps(self, keys: np.ndarray, results: np.ndarray) -> np.ndarray:
        """White's strength above Black's without the result of the game, NaN if one has no strength: float32[games]."""
        found = np.full(len(keys), np.nan, dtype=np.float32)
        if not len(self.keys):
            return found
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        is_known = (self.keys[at] == keys) & (self.known[at] > 1)
        chosen = is_known.all(axis=1) & (keys[:, 0] != keys[:, 1])
        elo, precision = self.elo[at[chosen]], self.precision[at[chosen]]
        slope, curvature = _derivatives(elo[:, 0] - elo[:, 1] + self.advantage, results[chosen])
        own = slope[:, None] / (precision - curvature[:, None])  # what the game itself has added, to White
        found[chosen] = elo[:, 0] - elo[:, 1] - own.sum(axis=1)
        return found


@entry
def _read_players(data, table, names, ratings, keys, elo):
    for number in range(len(table)):
        tags = table[number].tags
        for side in range(2):
            keys[number, side] = _key(data, tags, names[side])
            elo[number, side] = _rating(data, tags, ratings[side])


@kernel
def _key(data, tags, row):
    """What tells the name in a tag from others; NOBODY for none."""
    start, stop = tags[row, 0], tags[row, 1]
    if start == stop or data[start] == ord("?"):
        return np.uint64(NOBODY)
    return hash_of_text(data, start, stop)


@kernel
def _rating(data, tags, row):
    """The rating in a tag, float32: NaN if it is not a number above 0."""
    rating = 0
    for at in range(tags[row, 0], tags[row, 1]):
        if data[at] < ord("0") or data[at] > ord("9") or rating > 9999:
            return np.float32(np.nan)
        rating = 10 * rating + np.int64(data[at]) - ord("0")
    return np.float32(rating) if rating > 0 else np.float32(np.nan)


def players_of(data: np.ndarray, table: np.ndarray) -> Players:
    """Who met whom in the games of a text, GAME[n], by their tags."""
    keys, ratings = np.empty((len(table), 2), dtype=np.uint64), np.empty((len(table), 2), dtype=np.float32)
    _read_players(data, table, _NAMES, _RATINGS, keys, ratings)
    return Players(keys, ratings)


def gaps_of(players: Players, results: np.ndarray, strengths: Strengths | None) -> np.ndarray:
    """White's rating above Black's, or where one is missing that of their strengths; NaN without: float32[games]."""
    gaps = players.gaps
    if strengths is not None:
        without = np.isnan(gaps)
        gaps[without] = strengths.gaps(players.keys[without], results[without])
    return gaps


def strengths_in(
    paths: Sequence[Path], say: Callable[[str], object], progressed: Callable[[str, float | None], object]
) -> tuple[Strengths | None, bool]:
    """The strengths of the players of these files, and whether any game has known ones, by them or by its ratings.

    They are fitted to all finished games; None if all give ratings. A file that can be read only once, and one of
    positions, is left out. `say` gets a line for people, `progressed` the present work and the share of it that is
    done. Raises SourceError.
    """
    found, results = [Players(np.zeros((0, 2), np.uint64), np.zeros((0, 2), np.float32))], [np.zeros(0)]
    for path in paths:
        with open_source(path) as source:
            if source.is_passing or source.holds_positions():
                continue
            for piece in games_of(source):
                table = piece.table[piece.table["result"] != UNFINISHED]
                found.append(players_of(piece.data, table))
                results.append(table["result"] / 2)
                progressed(f"Reading the players of {source.name}", source.done)
    players = Players(np.concatenate([each.keys for each in found]), np.concatenate([each.ratings for each in found]))
    unrated = int(np.count_nonzero(np.isnan(players.gaps) & (players.keys != NOBODY).all(axis=1)))
    every, strengths = np.concatenate(results), None
    if unrated:
        strengths = fit_strengths(players, every)
        say(f"Strength of {len(strengths.keys)} players fitted to their results: {unrated} games lack ratings")
    return strengths, not np.isnan(gaps_of(players, every, strengths)).all()


def fit_strengths(players: Players, results: np.ndarray) -> Strengths:
    """The strengths of all who have a name that fit White's results, 0, 0.5 or 1, and the prior best."""
    keys, place = np.unique(players.keys, return_inverse=True)
    place = place.reshape(players.keys.shape)
    means, deviations, has_rating = _prior(place, players.ratings, len(keys))
    named = (players.keys != NOBODY).all(axis=1) & (players.keys[:, 0] != players.keys[:, 1])
    white, black, points = place[named, 0], place[named, 1], results[named]
    prior = np.append(deviations, FIRST_MOVE_ELO) ** -2.0
    start = np.append(means, FIRST_MOVE_ELO)

    def along(step: np.ndarray) -> np.ndarray:
        """By game, how much a step of all strengths, and last of the advantage, moves the gap."""
        return step[white] - step[black] + step[-1]

    def against(games: np.ndarray) -> np.ndarray:
        """The transpose: what the games say to each player, and to the advantage."""
        sums = np.bincount(white, games, len(keys)) - np.bincount(black, games, len(keys))
        return np.append(sums, games.sum())

    def curved(weights: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The matrix of second derivatives times a step; `weights` are those of the games."""
        return prior * step + against(weights * along(step))

    elo = start.copy()
    for _ in range(ROUNDS):
        slope, curvature = _derivatives(along(elo), points)
        precision = prior + _own(white, black, curvature, len(keys))
        step = _solved(partial(curved, curvature), against(slope) - prior * (elo - start), precision)
        elo += np.clip(step, -UNRATED_ELO, UNRATED_ELO)
        if np.abs(step).max(initial=0) < TOLERANCE:
            break
    games = np.bincount(np.append(white, black), minlength=len(keys)) + has_rating
    who = keys != NOBODY
    return Strengths(keys[who], elo[:-1][who], precision[:-1][who], games[who], float(elo[-1]))


def _derivatives(gap: np.ndarray, results: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the log-likelihood of results by the gap in Elo: the first one, and the second one without its sign."""
    expected = 1 / (1 + np.exp(-ELO * gap))
    return ELO * (results - expected), ELO**2 * expected * (1 - expected)


def _own(white: np.ndarray, black: np.ndarray, curvature: np.ndarray, count: int) -> np.ndarray:
    """What the games add to the precision of each player by himself, and of the advantage."""
    sums = np.bincount(white, curvature, count) + np.bincount(black, curvature, count)
    return np.append(sums, curvature.sum())


def _prior(place: np.ndarray, ratings: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By player: the mean of his ratings, or of all; the deviation from it; and whether he has ratings."""
    is_given = ~np.isnan(ratings)
    times = np.bincount(place[is_given], minlength=count)
    sums = np.bincount(place[is_given], ratings[is_given].astype(np.float64), count)
    overall = float(sums.sum() / times.sum()) if times.any() else 0.0
    means = np.where(times > 0, sums / np.maximum(times, 1), overall)
    return means, np.where(times > 0, RATED_ELO, UNRATED_ELO), times > 0


def _solved(matrix: Callable[[np.ndarray], np.ndarray], gradient: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """The x with matrix(x) = gradient, by conjugate gradients, preconditioned by the diagonal."""
    x, rest = np.zeros_like(gradient), gradient.copy()
    direction = scaled = rest / diagonal
    size = float(rest @ scaled)
    for _ in range(STEPS):
        if size <= 0:
            break
        image = matrix(direction)
        length = size / float(direction @ image)
        x, rest = x + length * direction, rest - length * image
        if np.abs(length * direction).max() < TOLERANCE / 10:
            break
        scaled = rest / diagonal
        size, before = float(rest @ scaled), size
        direction = scaled + size / before * direction
    return x
