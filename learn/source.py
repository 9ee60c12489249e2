"""Positions read from files, wherever their rows are: what the stage that reads hands to the stage that fits.

Two makers make them: `learn.inputs` in this process, and `learn.remote_reading` with the workers of a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from merino.inner.formats.pgn_games import Fault
from merino.inner.formats.sources import name_of
from merino.inner.learn.errors import LearnError
from merino.inner.learn.loss_and_gradient import Samples
from merino.inner.learn.rows import Rows
from merino.inner.learn.sample import Sample, check_holdout, choose_holdout, sample_of
from merino.inner.learn.settings import Settings


@dataclass(frozen=True)
class PositionSource(ABC):
    """The positions of some files: the number of finished games, and the games that could not be read."""

    games: int
    faults: tuple[tuple[Path, Fault], ...]

    @abstractmethod
    def __len__(self) -> int:
        """The number of positions."""

    @abstractmethod
    def sample(self, settings: Settings) -> Samples:
        """The sample that these settings ask for, with its validation set; raises LearnError."""


@dataclass(frozen=True)
class PositionsHere(PositionSource):
    """Positions whose rows are in this process."""

    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def sample(self, settings: Settings) -> Samples:
        """The sample that these settings ask for; raises LearnError."""
        return split(self.rows, settings)


def split(rows: Rows, settings: Settings, from_game: int = 0) -> Sample:
    """The sample with its validation set: a fifth of the games from number `from_game` on, or of all positions.

    Raises LearnError if nothing can be learned from the rows.
    """
    holdout = choose_holdout(rows.rows_of_games(), rows.results, settings.seed, settings.split_by_position, from_game)
    is_validation = holdout.rows(rows.game)
    if settings.split_by_position:
        check_holdout(len(rows), int(np.count_nonzero(is_validation)))
    return sample_of(rows, is_validation, settings.decay, settings.target, settings.even_stages)


def check_found(paths: Sequence[Path], rows: int, games: int, unscored: int) -> None:
    """Raise LearnError if the files gave no row; `unscored` positions were left out because they have no score."""
    names = ", ".join(name_of(path, True) for path in paths)
    if unscored and not rows:
        raise LearnError(
            f"no position in {names} comes with the score of a search; "
            "--rescore 1000 makes them, by a search of 1000 nodes each"
        )
    if not games or not rows:
        raise LearnError(f"no finished game with a usable position in {names}")
