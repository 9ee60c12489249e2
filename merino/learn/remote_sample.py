"""A sample whose rows stay with the workers of a `RemoteExecutor`: each keeps some shares and sends back sums.

A worker has a bundle for each thread: shares that follow each other. How many bundles there are decides who does what,
and nothing else.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import pairwise
from sys import getsizeof
from typing import Any, TypeVar

import numpy as np

from merino.core.common.array_files import is_in_file, joined
from merino.core.common.work import RemoteExecutor
from merino.learn.rows import Rows
from merino.learn.sample import (
    Holdout,
    Sample,
    Span,
    Totals,
    Weighting,
    blocks_of,
    check_holdout,
    check_results,
    choose_holdout,
    cut,
    spans,
    totals_of,
    weighted,
    weighting_of,
)
from merino.learn.settings import Settings

Found = TypeVar("Found")
BUNDLE_IN_MEMORY = 1 << 21  # rows of a bundle whose features, 110 MB, a worker keeps in memory


@dataclass(frozen=True)
class RemoteRows:
    """Rows as read, in parts that workers keep.

    `parts` stand for `Rows` whose games are numbered from 0; `part_games` are their numbers of games. `rows_of_games`,
    int64[games], and `results`, float32[games], are those of all parts in their order.
    """

    executor: RemoteExecutor
    parts: tuple[Any, ...]
    part_games: tuple[int, ...]
    rows_of_games: np.ndarray
    results: np.ndarray
    terms: int

    def __len__(self) -> int:
        return int(self.rows_of_games.sum())


@dataclass(frozen=True)
class _Bundle:
    """Consecutive shares with the rows of their games, which are numbered from 0."""

    rows: Rows
    held: np.ndarray
    cuts: np.ndarray
    before: np.ndarray

    def __sizeof__(self) -> int:
        """Its bytes."""
        return getsizeof(self.rows) + self.held.nbytes


@dataclass(frozen=True)
class _SampleBundle:
    """The sample of a bundle, in an object that reports its size to Dask, which a tuple does not."""

    sample: Sample

    def __sizeof__(self) -> int:
        """Its bytes in memory."""
        arrays = [column for column in self.sample if isinstance(column, np.ndarray)]
        return sum(column.nbytes for column in arrays if not is_in_file(column))


@dataclass(frozen=True)
class _Piece:
    """Rows first..last of a part, those of its games first_game..last_game."""

    first: int
    last: int
    first_game: int
    last_game: int


@dataclass(frozen=True)
class RemoteSample:
    """A sample kept by workers, see `Samples`; `bundles` stand for the samples of consecutive shares."""

    executor: RemoteExecutor
    bundles: tuple[Any, ...]
    bundle_games: np.ndarray
    size: int
    terms: int
    number_of_games: int
    score_k: float

    def each(self, work: Callable[[Sample, Span], Found]) -> list[Found]:
        """The results of `work`, callable plain data, for each share, in their order."""
        found = results_of([self.executor.submit(_each_share, work, bundle) for bundle in self.bundles])
        return [share for bundle in found for share in pickle.loads(bundle)]

    @property
    def validation_rows(self) -> int:
        """The number of rows of the validation set."""
        return int(sum(self.each(_count_held)))

    def games(self, is_validation: bool) -> np.ndarray:
        """The numbers of the games with a row in the validation set (`is_validation`) or training set, ascending."""
        return np.flatnonzero(np.concatenate(self.each(partial(_games_seen, is_validation))))

    def with_validation(self, games: np.ndarray) -> RemoteSample:
        """The sample with these games, by number, as the validation set."""
        chosen = np.zeros(self.number_of_games, dtype=np.bool_)
        chosen[games] = True
        return self._changed(_with_validation, chosen)

    def with_game_weight(self, weight: np.ndarray) -> RemoteSample:
        """The sample with other weights of games, float32[games]."""
        return self._changed(_weigh, weight)

    def _changed(
        self, change: Callable[[_SampleBundle, np.ndarray], _SampleBundle], by_game: np.ndarray
    ) -> RemoteSample:
        bundles = tuple(
            self.executor.keep(change, bundle, by_game[first:last])
            for bundle, first, last in zip(self.bundles, self.bundle_games[:-1], self.bundle_games[1:], strict=True)
        )
        return replace(self, bundles=bundles)


def results_of(futures: Sequence[Future[Found]]) -> list[Found]:
    """The results in their order; if one fails, or at Ctrl-C, the others are cancelled."""
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def remote_split(rows: RemoteRows, settings: Settings) -> RemoteSample:
    """Like `learn.inputs.split`, for rows that workers keep; raises LearnError."""
    holdout = choose_holdout(rows.rows_of_games, settings.seed, settings.split_by_position)
    check_results(rows.rows_of_games, rows.results, settings.target)
    cuts = cut(rows.rows_of_games)
    ends = np.linspace(0, len(cuts) - 1, min(len(cuts) - 1, rows.executor.slots) + 1).astype(np.int64)
    bundles = [_gathered(rows, holdout, cuts, first, last) for first, last in pairwise(ends.tolist())]
    futures = [rows.executor.submit(_totals, bundle, settings.target.needs_scores) for bundle in bundles]
    totals = [share for bundle in results_of(futures) for share in bundle]
    weighting = weighting_of(totals, settings.decay, settings.target, settings.even_stages)
    kept = tuple(rows.executor.keep(_weighted, bundle, weighting) for bundle in bundles)
    games = cuts[ends, 1]
    sample = RemoteSample(rows.executor, kept, games, len(rows), rows.terms, len(rows.results), weighting.score_k)
    if settings.split_by_position:
        check_holdout(sample.size, sample.validation_rows)
    return sample


def _gathered(rows: RemoteRows, holdout: Holdout, cuts: np.ndarray, first: int, last: int) -> Any:
    """A bundle of the shares first..last, made by a worker of the parts that have their rows."""
    (first_row, first_game), last_game = cuts[first], cuts[last, 1]
    part_ends = np.cumsum(rows.part_games)
    row_ends = np.append(0, np.cumsum(rows.rows_of_games))
    parts, pieces = [], []
    for number, (part, end) in enumerate(zip(rows.parts, part_ends, strict=True)):
        begin = end - rows.part_games[number]
        from_game, to_game = max(begin, first_game), min(end, last_game)
        if from_game < to_game:
            origin = row_ends[begin]
            span = (row_ends[from_game] - origin, row_ends[to_game] - origin, from_game - begin, to_game - begin)
            parts.append(part)
            pieces.append(_Piece(*map(int, span)))
    before = np.array([first_row, blocks_of(cuts)[first]], dtype=np.int64)
    own = cuts[first : last + 1] - cuts[first]
    mine = holdout.of(int(first_game), int(last_game))
    return rows.executor.keep(_put_together, tuple(pieces), own, before, mine, *parts)


def _put_together(
    pieces: tuple[_Piece, ...], cuts: np.ndarray, before: np.ndarray, holdout: Holdout, *parts: Rows
) -> _Bundle:
    """Make a bundle from these pieces of parts."""
    found, games = list[Rows](), 0
    for piece, part in zip(pieces, parts, strict=True):
        mine = part.between(piece.first, piece.last, piece.first_game, piece.last_game)
        found.append(replace(mine, game=mine.game + np.int32(games)))
        games += len(mine.results)
    features = joined([mine.features for mine in found], sum(map(len, found)) > BUNDLE_IN_MEMORY)
    others = [field.name for field in fields(Rows) if field.name != "features"]
    rows = Rows(features, **{name: np.concatenate([getattr(mine, name) for mine in found]) for name in others})
    return _Bundle(rows, holdout.rows(rows.game, int(before[0])), cuts, before)


def _totals(bundle: _Bundle, with_scores: bool) -> list[Totals]:
    shares = spans(bundle.cuts, bundle.before)
    return [totals_of(bundle.rows, bundle.held, span, with_scores) for span in shares]


def _weighted(bundle: _Bundle, weighting: Weighting) -> _SampleBundle:
    return _SampleBundle(weighted(bundle.rows, bundle.held, weighting, bundle.cuts, bundle.before))


def _each_share(work: Callable[[Sample, Span], Found], bundle: _SampleBundle) -> bytes:
    """What `work` makes of each share, a list, pickled in one piece: hundreds of small arrays would travel slowly."""
    sample = bundle.sample
    found = [sample.one(work, span) for span in spans(sample.cuts, sample.before)]
    return pickle.dumps(found, pickle.HIGHEST_PROTOCOL)


def _with_validation(bundle: _SampleBundle, chosen: np.ndarray) -> _SampleBundle:
    sample = bundle.sample
    return _SampleBundle(sample._replace(is_validation=chosen[sample.game]))


def _weigh(bundle: _SampleBundle, weight: np.ndarray) -> _SampleBundle:
    return _SampleBundle(bundle.sample._replace(game_weight=weight))


def _count_held(sample: Sample, span: Span) -> int:
    return int(np.count_nonzero(sample.is_validation[span.first : span.last]))


def _games_seen(held: bool, sample: Sample, span: Span) -> np.ndarray:
    """The games of a share with a row in one of the sets, bool[games]."""
    seen, mine = np.zeros(span.last_game - span.first_game, dtype=np.bool_), slice(span.first, span.last)
    seen[sample.game[mine][sample.is_validation[mine] == held] - span.first_game] = True
    return seen
