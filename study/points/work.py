"""The point values of the games of some files, put into sets where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from study.errors import StudyError
from study.points.reading import Source
from study.points.sets import BY, Filters, grouped
from study.points.values import SEED, SKIP, PointValues, enough_to_fit, point_values
from study.points.vectors import Vectors, joined

LEAST_GAMES = 100  # in a set
MOST_SETS_SHOWN = 20
SUGGESTED_PLAYERS = 5


@dataclass(frozen=True)
class PointsRequest:
    """Which games count, in which sets, and how drawn games do; `by` is a key of BY, None for a set a file."""

    filters: Filters = field(default_factory=Filters)
    by: str | None = None
    min_games: int = LEAST_GAMES  # in a set of `by`
    top: int = MOST_SETS_SHOWN  # sets of `by`, the largest
    draws: str = SKIP
    seed: int = SEED

    @property
    def needs_tags(self) -> bool:
        """Whether the games must tell of themselves."""
        return bool(self.by) or self.filters != Filters()


@dataclass(frozen=True)
class GameSets:
    """The vectors of the games of each set, by its label; `left_out` counts the smaller sets."""

    sets: Sequence[tuple[str, Vectors]]
    left_out: int = 0


@dataclass(frozen=True)
class Findings:
    """The values of the sets that can have some, and label and number of games of those that are too small."""

    values: Sequence[PointValues]
    too_small: Sequence[tuple[str, int]]


def sets_of(sources: Sequence[Source], request: PointsRequest) -> GameSets:
    """The games of all files that count, in sets; raises StudyError where there are none."""
    wanted = [source.filtered(request.filters) for source in sources]
    if not sum(source.vectors.games for source in wanted):
        raise StudyError(_nothing_found(sources, request.filters))
    if request.by is None:
        return GameSets([(source.label, source.vectors) for source in wanted])
    labels: list[tuple[str, ...]] = []
    for source in wanted:
        if source.collection is None:
            raise StudyError(f"'{source.label}' is a matrix, which does not tell --by {request.by}")
        labels += BY[request.by](source.collection, request.filters)
    sets, left_out = grouped(labels, request.min_games, request.top)
    if not any(labels):
        raise StudyError(f"no game here has the tags that --by {request.by} looks at")
    if not sets:
        raise StudyError(f"no set by {request.by} has {request.min_games} games here (--min-games)")
    vectors = joined([source.vectors for source in wanted])
    return GameSets([(label, vectors.of_games(chosen)) for label, chosen in sets.items()], left_out)


def values_of(sets: Sequence[tuple[str, Vectors]], request: PointsRequest) -> Findings:
    """The values of each set; none where no set has games enough to fit."""
    values, too_small = [], []
    for label, vectors in sets:
        if enough_to_fit(vectors, request.draws):
            values.append(point_values(label, vectors, request.draws, request.seed))
        else:
            too_small.append((label, vectors.games))
    return Findings(values, too_small)


def _nothing_found(sources: Sequence[Source], filters: Filters) -> str:
    collections = [source.collection for source in sources if source.collection is not None]
    if filters.player and not any(c.chosen(Filters(player=filters.player)).any() for c in collections):
        known = ", ".join(f"'{name}'" for name in collections[0].frequent_players(SUGGESTED_PLAYERS))
        return f"no game of '{filters.player}' here; most games are by {known}"
    return "no game passes all filters"
