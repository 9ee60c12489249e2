"""Files read into vectors: games as a stream, in bounded memory, by the learner's reader; matrices, also written.

A matrix has rows of five differences and the result, for other programs. Plain text, as Medvedev's program writes it,
has six numbers a row and nothing else. CSV (`.csv`) and JSON (`.json`) name the columns and add the number of the game,
which plain text lacks.

`values_of` goes on to the point values of their games, which `sets_of` divides into sets on request.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from merino.core.common.sealed import parsed
from merino.core.common.work import in_order
from merino.formats.pgn_games import Fault, Games, GamesText, games_of, play_games
from merino.formats.pgn_tokens import UNFINISHED
from merino.formats.sources import Source as Stream
from merino.formats.sources import SourceError, name_of, open_source, plain_name
from merino.lab.points.sets import BY, Collection, Filters, grouped
from merino.lab.points.values import SEED, SKIP, PointValues, enough_to_fit, point_values
from merino.lab.points.vectors import DRAW, PHASES, PIECES, Vectors, joined, vectors_of_games
from merino.study.errors import StudyError

# Makes a context for some work, named for people, in which to report the share that is done, None if unknown.
ProgressOf = Callable[[str], AbstractContextManager[Callable[[float | None], object]]]
COLUMNS = (*PIECES, "result", "game")
_NUMBERS = len(COLUMNS) - 1  # in a row of plain text
_MAX_PIECES = 64  # pieces of a kind on a board
MIN_GAMES = 100  # in a set
MAX_SETS_SHOWN = 20
SUGGESTED_PLAYERS = 5
BY_PHASE = "phase"


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
    faults: SourceFaults


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
    tell_faults(name_of(path), [part.faults for part in parts], notice)
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
    return _VectorPart(vectors, collection, faults_of(games))


def faults_of(games: Games) -> SourceFaults:
    """The problems of these games, of a file that has no label yet."""
    unfinished = int(np.count_nonzero((games.table["result"] == UNFINISHED) & (games.table["plies"] > 0)))
    return SourceFaults("", tuple(games.faults()), unfinished)


def tell_faults(label: str, parts: Sequence[SourceFaults], notice: Callable[[SourceFaults], object]) -> None:
    """Call `notice` with the problems of all parts of a file, if there are any."""
    faults = [fault for part in parts for fault in part.faults]
    unfinished = sum(part.unfinished for part in parts)
    if faults or unfinished:
        notice(SourceFaults(label, faults, unfinished))


def render_matrix(vectors: Vectors, ending: str) -> str:
    """The text of the file: CSV or JSON by `ending`, else plain."""
    table = np.column_stack([vectors.differences, vectors.outcomes, vectors.game + np.int32(1)])
    if ending == ".json":
        return json.dumps({"columns": COLUMNS, "rows": table.tolist()}) + "\n"
    text = io.StringIO()
    if ending == ".csv":
        np.savetxt(text, table, fmt="%d", delimiter=",", header=",".join(COLUMNS), comments="")
    else:
        np.savetxt(text, table[:, :_NUMBERS], fmt="%2d")
    return text.getvalue()


def is_matrix(text: bytes, ending: str) -> bool:
    """Whether a file has vectors instead of games: by its ending, or by six integers in its first row."""
    first = next((line for line in io.BytesIO(text[:4096]) if line.strip()), b"").split()
    return ending in (".csv", ".json") or len(first) == _NUMBERS and all(_is_integer(word) for word in first)


def read_matrix(path: Path, text: bytes, ending: str) -> Vectors:
    """The vectors that `render_matrix` wrote; raises SourceError with the row at fault.

    Plain text does not show where games begin. A normal game begins with level material, so the rows from one level
    balance to the next with the same result count as a game; sometimes this is only part of one.
    """
    rows = list(_json_rows(path, text) if ending == ".json" else _text_rows(text))
    for number, row in rows:
        _check(path, number, row, len(rows[0][1]))
    if not rows:
        raise SourceError(f"'{path}' holds no row of a matrix")
    table = np.array([[int(word) for word in row] for _, row in rows])
    differences, results = table[:, : len(PIECES)].astype(np.int8), table[:, len(PIECES)].astype(np.int8)
    knows_games = table.shape[1] == len(COLUMNS)
    begins = np.ones(len(table), dtype=bool)
    if knows_games:
        begins[1:] = np.diff(table[:, -1]) != 0
    else:
        begins[1:] = (np.diff(results) != 0) | ~differences[1:].any(axis=1)
    game = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    return Vectors(differences, game, results[begins], knows_games)


def _text_rows(text: bytes) -> Iterable[tuple[int, list[str]]]:
    """The words of each row that is not empty, and its number; a line of names at the top is left out."""
    for number, line in enumerate(text.decode("latin-1").splitlines(), 1):
        words = line.replace(",", " ").split()
        if words and (number > 1 or words != list(COLUMNS)):
            yield number, words


def _json_rows(path: Path, text: bytes) -> Iterable[tuple[int, list[str]]]:
    try:
        content = parsed(text)
        return [(number, [str(word) for word in row]) for number, row in enumerate(content["rows"], 1)]
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f'\'{path}\' is not a matrix in JSON, an object with "columns" and "rows"') from error


def _check(path: Path, number: int, row: list[str], width: int) -> None:
    if len(row) not in (_NUMBERS, len(COLUMNS)) or len(row) != width or not all(_is_integer(word) for word in row):
        found = " ".join(row)[:40]
        raise SourceError(f"'{path}', row {number}: five differences and a result are expected, not '{found}'")
    *differences, result = (int(word) for word in row[:_NUMBERS])
    if not 0 <= result <= 2 * DRAW or any(abs(difference) > _MAX_PIECES for difference in differences):
        raise SourceError(f"'{path}', row {number}: results are 0, 1 or 2 and differences at most {_MAX_PIECES}")


def _is_integer(word: str | bytes) -> bool:
    digits = word.lstrip("-" if isinstance(word, str) else b"-")  # type: ignore[arg-type]
    return digits.isascii() and digits.isdigit() and len(word) - len(digits) <= 1 and len(digits) < 10


@dataclass(frozen=True)
class PointsRequest:
    """The files and filters, the division into sets, the treatment of draws, and optional fits.

    `by` is a key of BY or BY_PHASE, None for one set per file.
    """

    filters: Filters = field(default_factory=Filters)
    by: str | None = None
    min_games: int = MIN_GAMES  # in a set of `by`
    top: int = MAX_SETS_SHOWN  # sets of `by`, the largest
    draws: str = SKIP
    seed: int = SEED
    features: bool = False
    descent: bool = False
    search: bool = False  # also the values by the scores of searches

    @property
    def needs_tags(self) -> bool:
        """Whether the tags of the games are needed."""
        return self.by in BY or self.filters != Filters()

    @property
    def extras(self) -> Extras:
        """What to read besides the balance."""
        return Extras(self.features, self.by == BY_PHASE, self.search)


@dataclass(frozen=True)
class GameSets:
    """The vectors of the games of each set, by its label; `left_out` counts the smaller sets."""

    sets: Sequence[tuple[str, Vectors]]
    left_out: int = 0


@dataclass(frozen=True)
class PointsResult:
    """The values of the sets that can have some, and label and number of games of those that are too small."""

    values: Sequence[PointValues]
    too_small: Sequence[tuple[str, int]]


def sets_of(sources: Sequence[PointsSource], request: PointsRequest) -> GameSets:
    """The games of all files that count, in sets; raises StudyError where there are none."""
    wanted = [source.filtered(request.filters) for source in sources]
    if not sum(source.vectors.games for source in wanted):
        raise StudyError(_nothing_found(sources, request.filters))
    if request.by is None:
        return GameSets([(source.label, source.vectors) for source in wanted])
    if request.by == BY_PHASE:
        return _by_phase(joined([source.vectors for source in wanted]), request.min_games, request.top)
    labels: list[tuple[str, ...]] = []
    for source in wanted:
        if source.collection is None:
            raise StudyError(f"'{source.label}' is a matrix, which has no data for --by {request.by}")
        labels += BY[request.by](source.collection, request.filters)
    sets, left_out = grouped(labels, request.min_games, request.top)
    if not any(labels):
        raise StudyError(f"no game here has the tags that --by {request.by} looks at")
    if not sets:
        raise StudyError(f"no set by {request.by} has {request.min_games} games here (--min-games)")
    vectors = joined([source.vectors for source in wanted])
    return GameSets([(label, vectors.of_games(chosen)) for label, chosen in sets.items()], left_out)


def _by_phase(vectors: Vectors, least: int, most: int) -> GameSets:
    """The vectors by phase of the game, in the games that have some: the `most` phases with the most games.

    Raises StudyError where all are too small.
    """
    sets = [(name, vectors.of_phase(number)) for number, name in enumerate(PHASES)]
    large = sorted((each for each in sets if each[1].games >= least), key=lambda each: -each[1].games)[:most]
    if not large:
        raise StudyError(f"no phase has {least} games here (--min-games)")
    return GameSets(sorted(large, key=lambda each: PHASES.index(each[0])), len(sets) - len(large))


def values_of(sets: Sequence[tuple[str, Vectors]], request: PointsRequest) -> PointsResult:
    """The values of each set; none where no set has games enough to fit.

    Raises StudyError where scores of searches are asked for and too few games have some.
    """
    values, too_small = [], []
    for label, vectors in sets:
        if enough_to_fit(vectors, request.draws):
            values.append(point_values(label, vectors, request.draws, request.seed, request.descent))
        else:
            too_small.append((label, vectors.games))
    return PointsResult(values, too_small)


def _nothing_found(sources: Sequence[PointsSource], filters: Filters) -> str:
    collections = [source.collection for source in sources if source.collection is not None]
    if filters.player and not any(c.chosen(Filters(player=filters.player)).any() for c in collections):
        known = ", ".join(f"'{name}'" for name in collections[0].frequent_players(SUGGESTED_PLAYERS))
        return f"no game of '{filters.player}' here; most games are by {known}"
    return "no game passes all filters"
