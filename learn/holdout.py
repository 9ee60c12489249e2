"""Which rows are held out to judge by: a fifth of the games, or of the positions, by a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learn.errors import LearnError

VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class Holdout:
    """What is held out: the games for which `games`, bool[games], is true, or rows by `seed` where that is None."""

    games: np.ndarray | None
    seed: int

    def rows(self, game: np.ndarray, rows_before: int = 0) -> np.ndarray:
        """Which rows are held out, bool[n], of those with these games; so many rows of the whole come before them."""
        if self.games is not None:
            return np.asarray(self.games[game])
        chance = np.random.PCG64(self.seed)
        chance.advance(rows_before)  # a random number each
        return np.random.Generator(chance).random(len(game)) < VALIDATION_SHARE

    def of(self, first_game: int, last_game: int) -> Holdout:
        """The same for some games, numbered from `first_game`."""
        return self if self.games is None else Holdout(self.games[first_game:last_game], self.seed)


def choose_holdout(
    rows_of_games: np.ndarray, results: np.ndarray, seed: int, by_position: bool, from_game: int = 0
) -> Holdout:
    """What to hold out of games with so many rows, int64[games], and these results, float32[games].

    Games before number `from_game` are all learned from. Raises LearnError where the games cannot teach.
    """
    games = np.flatnonzero(rows_of_games)
    results = results[games]
    if len(results) < 2:
        raise LearnError("one game is too few to learn from")
    if (results == results[0]).all():
        outcome = {0.0: "lost for White", 0.5: "drawn", 1.0: "won for White"}.get(float(results[0]), "of one result")
        raise LearnError(f"all {len(results)} games are {outcome}: there is nothing to tell good from bad")
    if by_position:
        return Holdout(None, seed)
    chosen = np.zeros(len(rows_of_games), dtype=np.bool_)
    chance = np.random.Generator(np.random.PCG64(seed))
    games = games[games >= from_game]
    chosen[chance.permutation(games)[: max(1, round(VALIDATION_SHARE * len(games)))]] = True
    return Holdout(chosen, seed)


def check_holdout(rows: int, held: int) -> None:
    """Raise LearnError where a choice by position left one of the sets empty."""
    if held in (0, rows):
        raise LearnError(f"{rows} positions are too few to keep some aside")
