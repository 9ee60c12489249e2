"""The point values of the games of some files, divided into sets on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from merino.inner.study.errors import StudyError
from merino.inner.study.points.reading import Extras, PointsSource
from merino.inner.study.points.sets import BY, Filters, grouped
from merino.inner.study.points.values import SEED, SKIP, PointValues, enough_to_fit, point_values
from merino.inner.study.points.vectors import PHASES, Vectors, joined

MIN_GAMES = 100  # in a set
MAX_SETS_SHOWN = 20
SUGGESTED_PLAYERS = 5
BY_PHASE = "phase"


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
        return _by_phase(joined([source.vectors for source in wanted]), request.min_games)
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


def _by_phase(vectors: Vectors, least: int) -> GameSets:
    """The vectors by phase of the game, in the games that have some; raises StudyError where all are too small."""
    sets = [(name, vectors.of_phase(number)) for number, name in enumerate(PHASES)]
    large = [(name, found) for name, found in sets if found.games >= least]
    if not large:
        raise StudyError(f"no phase has {least} games here (--min-games)")
    return GameSets(large, len(sets) - len(large))


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
