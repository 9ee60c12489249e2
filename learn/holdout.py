"""The validation set: a fifth of the games, or of the positions, chosen by a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from merino.inner.learn.errors import LearnError

VALIDATION_SHARE = 0.2
_AT_ONCE = 1 << 20  # rows that random numbers are drawn for


@dataclass(frozen=True)
class Holdout:
    """The games for which `games`, bool[games], is true; if it is None, random rows by `seed`."""

    games: np.ndarray | None
    seed: int

    def rows(self, game: np.ndarray, rows_before: int = 0) -> np.ndarray:
        """Which of the rows with these games are held out, bool[n]; `rows_before` rows of the sample precede them."""
        if self.games is not None:
            return np.asarray(self.games[game])
        chance = np.random.PCG64(self.seed)
        chance.advance(rows_before)  # a random number each
        numbers, held = np.random.Generator(chance), np.zeros(len(game), dtype=np.bool_)
        for first in range(0, len(game), _AT_ONCE):
            mine = held[first : first + _AT_ONCE]
            mine[:] = numbers.random(len(mine)) < VALIDATION_SHARE
        return held

    def of(self, first_game: int, last_game: int) -> Holdout:
        """The same for games first_game..last_game, numbered from 0."""
        return self if self.games is None else Holdout(self.games[first_game:last_game], self.seed)


def choose_holdout(
    rows_of_games: np.ndarray, results: np.ndarray, seed: int, by_position: bool, from_game: int = 0
) -> Holdout:
    """Choose the validation set of games with `rows_of_games`, int64[games], and `results`, float32[games].

    Games before number `from_game` all go to the training set. Raises LearnError if nothing can be learned from the
    games: a single one, or only one result.
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
    rng = np.random.Generator(np.random.PCG64(seed))
    games = games[games >= from_game]
    chosen[rng.permutation(games)[: max(1, round(VALIDATION_SHARE * len(games)))]] = True
    return Holdout(chosen, seed)


def check_holdout(rows: int, held: int) -> None:
    """Raise LearnError if a split by position left one of the sets empty."""
    if held in (0, rows):
        raise LearnError(f"{rows} positions are too few to keep some aside")
