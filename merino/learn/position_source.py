"""What the stage that reads hands on: the positions of some files, and the samples that settings ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from merino.formats.pgn_games import Fault
from merino.formats.sources import Source, is_passing, name_of, open_source
from merino.learn.errors import LearnError
from merino.learn.fen_file import has_strays
from merino.learn.loss_and_gradient import Samples
from merino.learn.positions import Selection
from merino.learn.settings import Settings


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


def check_positions(source: Source, selection: Selection, needs_results: bool) -> None:
    """Raise LearnError if a file of positions, which nothing was read of yet, cannot be learned from so."""
    name = name_of(source.path, True)
    if selection.skip_decided is not None:
        raise LearnError(f"--skip-decided needs games: {name} holds positions")
    if needs_results and has_strays(source.head):
        raise LearnError(
            f"{name} has strays, of which results say nothing, and here results count: name the games that it was "
            "made from"
        )


def gives_strays(path: Path) -> bool:
    """Whether a file holds games, or positions that were made from games with strays among them.

    What can be read only once counts as games. Raises SourceError.
    """
    if is_passing(path):
        return True
    with open_source(path) as source:
        return not source.holds_positions() or has_strays(source.head)


def keeps_strays(path: Path) -> bool:
    """Whether there are strays among the positions that a file holds; raises SourceError."""
    if is_passing(path):
        return False
    with open_source(path) as source:
        return has_strays(source.head)


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
