"""What the stage that reads hands on: the positions of some files, and the samples that settings ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from merino.inner.formats.pgn_games import Fault
from merino.inner.formats.sources import name_of
from merino.inner.learn.errors import LearnError
from merino.inner.learn.loss_and_gradient import Samples
from merino.inner.learn.settings import Settings


@dataclass(frozen=True)
class PositionSource(ABC):
    """The positions of some files: the number of finished games, and the games that could not be read."""

    games: int
    faults: tuple[tuple[Path, Fault], ...]

    @abstractmethod
    def __len__(self) -> int:
        """The number of positions."""

    @property
    @abstractmethod
    def tell_results(self) -> bool:
        """Whether the games with a position have more than one result, so that there is something in them to learn."""

    @abstractmethod
    def sample(self, settings: Settings) -> Samples:
        """The sample that these settings ask for, with its validation set; raises LearnError."""


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
