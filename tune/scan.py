"""A scan: Elo by the value of one parameter, each value played against the same one, and its significant optima.

Two optima are significant if a value between them is significantly worse than both. Any two of n values may be
compared, n (n - 1) / 2 times; each comparison is so strict that at most one scan in twenty finds a second optimum that
does not exist (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from merino.inner.core.common.nearest import did_you_mean
from merino.inner.engine.search.parameters import current_name, parameters_for
from merino.inner.eval.evaluation import Evaluation, Number
from merino.inner.match.errors import MatchError
from merino.inner.match.games import Tally
from merino.inner.match.players import OwnPlayer
from merino.inner.match.runner import MatchResult
from merino.inner.match.statistics import COIN, Estimate, estimate, moments
from merino.inner.tune.parameters import TuneError, check_whole, own_parameters

ERROR_RATE = 0.05  # of a second optimum in a scan of a curve with one
PlayValue = Callable[[int], tuple[MatchResult, MatchError | None]]


@dataclass(frozen=True)
class ScanRequest:
    """The number to scan: its values, ascending, and the one they play against. The rest is as in `evaluation`."""

    name: str
    values: tuple[int, ...]
    against: int
    evaluation: Evaluation

    def players(self, value: int) -> tuple[OwnPlayer, OwnPlayer]:
        """The player with this value, and the opponent of all values."""
        return self._player(value), self._player(self.against)

    def _player(self, value: int) -> OwnPlayer:
        label, change = f"{self.name}={value}", {self.name: value}
        if self.name in self.evaluation.numbers:
            return OwnPlayer(label, self.evaluation.with_numbers(change))
        return OwnPlayer(label, self.evaluation, parameters_for(self.evaluation, change))


@dataclass(frozen=True)
class ScanPoint:
    """The result of one value: `results` are losses, draws and wins, `pairs` the pentanomial counts.

    The value that the others play against is a point, too: without games, at 0 Elo by definition.
    """

    value: int
    results: tuple[int, ...] = (0, 0, 0)
    pairs: tuple[int, ...] = (0, 0, 0, 0, 0)

    @classmethod
    def of(cls, value: int, tally: Tally) -> ScanPoint:
        """The point that these games make."""
        return cls(value, tuple(tally.points.tolist()), tuple(tally.pairs.tolist()))

    @property
    def games(self) -> int:
        """The number of games; 0 for the value that the others play against."""
        return sum(self.results)

    @property
    def estimate(self) -> Estimate:
        """Elo against the common value, half its 95% interval, and LOS; infinite Elo for a clean score."""
        return estimate(self._counts) if self.games else Estimate(0.0, 0.0, 0.0, 0.0, 0.5)

    @property
    def score(self) -> float:
        """The mean score of a game, 0 to 1."""
        return float(moments(self._counts)[1]) if self.games else 0.5

    @property
    def score_error(self) -> float:
        """The standard error of the score."""
        if not self.games:
            return 0.0
        number, _, variance = (float(moment) for moment in moments(self._counts))
        return math.sqrt((number * variance + COIN) / (number + 1) / number)

    @property
    def _counts(self) -> np.ndarray:
        return np.array(self.pairs if sum(self.pairs) else self.results)


@dataclass(frozen=True)
class Scan:
    """A scan as far as it was played: points by ascending value, and the error that ended it."""

    request: ScanRequest
    points: tuple[ScanPoint, ...]
    interrupted: bool = False
    fault: MatchError | None = None

    @property
    def best(self) -> ScanPoint:
        """The point with the best score."""
        return max(self.points, key=lambda point: point.score)

    @property
    def optima(self) -> tuple[ScanPoint, ...]:
        """The significant optima, by ascending value; none if no two values differ significantly."""
        limit = limit_for(len(self.points))
        if not any(_is_better(one, other, limit) for one in self.points for other in self.points):
            return ()
        found: list[ScanPoint] = []
        for point in sorted(self.points, key=lambda point: -point.score):
            if all(self._are_apart(point, better, limit) for better in found):
                found.append(point)
        return tuple(sorted(found, key=lambda point: point.value))

    @property
    def rivals(self) -> tuple[ScanPoint, ...]:
        """The points that are not significantly worse than the best."""
        limit, best = limit_for(len(self.points)), self.best
        return tuple(point for point in self.points if point is not best and not _is_better(best, point, limit))

    def between(self, one: ScanPoint, other: ScanPoint) -> tuple[ScanPoint, ...]:
        """The points between two values."""
        low, high = sorted((one.value, other.value))
        return tuple(point for point in self.points if low < point.value < high)

    def _are_apart(self, one: ScanPoint, other: ScanPoint, limit: float) -> bool:
        """Whether a value between them is significantly worse than both."""
        return any(_is_better(one, low, limit) and _is_better(other, low, limit) for low in self.between(one, other))


def limit_for(points: int) -> float:
    """The number of standard errors by which two of the points must differ."""
    comparisons = max(1, points * (points - 1) // 2)
    return NormalDist().inv_cdf(1 - ERROR_RATE / comparisons)


def _is_better(one: ScanPoint, other: ScanPoint, limit: float) -> bool:
    return one.score - other.score > limit * math.hypot(one.score_error, other.score_error)


def values_between(low: int, high: int, points: int) -> tuple[int, ...]:
    """`count` whole numbers from `low` to `high`, evenly spaced; fewer if the range has fewer."""
    return tuple(sorted({round(low + (high - low) * step / (points - 1)) for step in range(points)}))


def make_request(name: str, values: Iterable[int], against: int | None, evaluation: Evaluation) -> ScanRequest:
    """The scan of a number of `evaluation` or of the search; raises TuneError for what cannot be scanned.

    If `against` is None, all values play against the one in use.
    """
    name, number = find_number(name, evaluation)
    reference = round(number.value) if against is None else against
    scanned = tuple(sorted(set(values)))
    for value in (*scanned, reference):
        if not number.low <= value <= number.high:
            raise TuneError(f"{name} = {value} is outside {number.low:g}..{number.high:g}")
    if set(scanned) <= {reference}:
        raise TuneError(f"{name}: no value is left to scan besides {reference}, which the others would meet")
    return ScanRequest(name, scanned, reference, evaluation)


def find_number(name: str, evaluation: Evaluation) -> tuple[str, Number]:
    """A number that can be scanned, by its present name; raises TuneError with the nearest one."""
    known, name = own_parameters(evaluation), current_name(name)
    check_whole(name, known, "scan")
    if name not in known:
        raise TuneError(f"there is no search parameter or weight '{name}'{did_you_mean(name, known)}")
    return name, known[name]


def run_scan(request: ScanRequest, play: PlayValue) -> Scan:
    """Let `play` play each value in turn, until one is interrupted or fails.

    A scan that ends early has the points with games so far.
    """
    points = [ScanPoint(request.against)]
    for value in request.values:
        if value == request.against:
            continue
        result, fault = play(value)
        if result.tally.games:
            points.append(ScanPoint.of(value, result.tally))
        if result.interrupted or fault:
            return Scan(request, _ascending(points), result.interrupted, fault)
    return Scan(request, _ascending(points))


def _ascending(points: Iterable[ScanPoint]) -> tuple[ScanPoint, ...]:
    return tuple(sorted(points, key=lambda point: point.value))
