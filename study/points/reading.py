"""Files read into vectors: games as a stream, in bounded memory, by the learner's reader; and matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from merino.inner.core.common.work import in_order
from merino.inner.formats.pgn_games import Fault, Games, play_games
from merino.inner.formats.pgn_stream import GamesText, games_of
from merino.inner.formats.pgn_tokens import UNFINISHED
from merino.inner.formats.sources import Source as Stream
from merino.inner.formats.sources import SourceError, name_of, open_source, plain_name
from merino.inner.study.errors import StudyError
from merino.inner.study.points.matrix import is_matrix, read_matrix
from merino.inner.study.points.sets import Collection, Filters
from merino.inner.study.points.vectors import Vectors, joined, vectors_of_games

# Makes a context for some work, named for people, in which to report the share that is done, None if unknown.
ProgressOf = Callable[[str], AbstractContextManager[Callable[[float | None], object]]]


@dataclass(frozen=True)
class SourceFaults:
    """The problems of a file: games left out, and the number of games without a result, which count as drawn."""

    label: str
    faults: Sequence[Fault]
    unfinished: int


@dataclass(frozen=True)
class Extras:
    """What to read besides the balance of material: features of the pieces left, phase, scores of searches."""

    features: bool = False
    phase: bool = False
    scores: bool = False


NOTHING_MORE = Extras()


@dataclass(frozen=True)
class PointsSource:
    """A file as read: its vectors, and the tags of its games, empty if not asked for; None for a matrix."""

    label: str
    vectors: Vectors
    collection: Collection | None

    def filtered(self, filters: Filters) -> PointsSource:
        """The games that pass; raises StudyError if a matrix lacks the data for it."""
        if filters == Filters():
            return self
        if self.collection is None:
            raise StudyError(f"'{self.label}' is a matrix: it has no players, ratings or games to choose from")
        keep = self.collection.chosen(filters)
        return PointsSource(f"{self.label} ({filters})", self.vectors.of_games(keep), self.collection.of(keep))


@dataclass(frozen=True)
class _VectorPart:
    """The result of a thread for some of a file's games."""

    vectors: Vectors
    collection: Collection
    faults: tuple[Fault, ...]
    unfinished: int


def read_source(
    path: Path,
    with_tags: bool,
    progress_of: ProgressOf,
    notice: Callable[[SourceFaults], object],
    extras: Extras = NOTHING_MORE,
) -> PointsSource:
    """The vectors of a file, and with `with_tags` the tags of its games.

    `notice` is called with the problems, if there are any. Raises SourceError, and StudyError if a matrix lacks
    something that was asked for.
    """
    with open_source(path) as stream:
        ending = plain_name(path).suffix.lower()
        if is_matrix(stream.head, ending):
            if extras != NOTHING_MORE:
                raise StudyError(
                    f"'{stream.name}' is a matrix: it has no positions, which features, phases and scores need"
                )
            return PointsSource(stream.name, read_matrix(path, b"".join(stream.lines()), ending), None)
        parts = list(_parts(stream, with_tags, extras, progress_of))
    faults = [fault for part in parts for fault in part.faults]
    unfinished = sum(part.unfinished for part in parts)
    if faults or unfinished:
        notice(SourceFaults(name_of(path), faults, unfinished))
    vectors = joined([part.vectors for part in parts])
    if not vectors.games:
        raise SourceError(f"{name_of(path, quoted=True)} holds no game that can be read")
    return PointsSource(name_of(path), vectors, Collection.joined([part.collection for part in parts]))


def _parts(stream: Stream, with_tags: bool, extras: Extras, progress_of: ProgressOf) -> Iterator[_VectorPart]:
    with progress_of(f"Reading {stream.name}") as progress:
        for part in in_order(lambda text: _part_of(text, with_tags, extras), games_of(stream)):
            yield part
            progress(stream.done)


def _part_of(text: GamesText, with_tags: bool, extras: Extras) -> _VectorPart:
    games = play_games(text.data, text.table, 1, text.lines_before, extras.scores)
    vectors, numbers = vectors_of_games(games, extras.features, extras.phase, extras.scores)
    count = vectors.games if with_tags else 0
    collection = Collection.of_games(games, numbers[:count], vectors.results[:count])
    faults = faults_of("", games)
    return _VectorPart(vectors, collection, tuple(faults.faults), faults.unfinished)


def faults_of(label: str, games: Games) -> SourceFaults:
    """The problems of these games."""
    unfinished = int(np.count_nonzero((games.table["result"] == UNFINISHED) & (games.table["plies"] > 0)))
    return SourceFaults(label, tuple(games.faults()), unfinished)
