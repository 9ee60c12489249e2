"""Means of what moves and games show, with the intervals in which they lie with 95%."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from merino.inner.match.statistics import Z_95, wilson_interval

WIDE = 0.5  # of a mean: an interval that reaches farther to a side says too little
MIN_GAMES = 5  # that an interval of means by game needs


@dataclass(frozen=True)
class Interval:
    """A mean, and where it lies with 95%."""

    value: float
    low: float
    high: float

    @property
    def is_wide(self) -> bool:
        """Whether the interval reaches farther than the mean allows."""
        return (self.high - self.low) / 2 > WIDE * abs(self.value)


def mean_of(values: np.ndarray, games: np.ndarray) -> Interval:
    """The mean of moves, float64[n], n > 0, of which those of one game, int64[n], go together; from 0 to 1.

    With less than MIN_GAMES games it may lie anywhere.
    """
    value = float(values.mean())
    _, places = np.unique(games, return_inverse=True)
    sums = np.bincount(places, weights=values - value)
    if len(sums) < MIN_GAMES:
        return Interval(value, 0.0, 1.0)
    variance = float((sums**2).sum()) / len(values) ** 2 * len(sums) / (len(sums) - 1)
    error = Z_95 * math.sqrt(variance)
    return Interval(value, max(0.0, value - error), min(1.0, value + error))


def share_of(count: float, of: int) -> Interval:
    """A share, of at least one."""
    share = count / of
    low, high = map(float, wilson_interval(share, of))
    return Interval(share, max(0.0, min(share, low)), min(1.0, max(share, high)))


def difference(first: Interval, second: Interval) -> Interval:
    """How much more the second is, by other games than the first."""
    value = second.value - first.value
    error = math.hypot((first.high - first.low) / 2, (second.high - second.low) / 2)
    return Interval(value, value - error, value + error)
