"""The procedure of `learn`: split by game, fit K, fit the weights, round, accept only what is better beyond doubt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eval.registry import TERMS
from learn.fit import Point, Sample, Task, fit_k, gather, gauss_newton, mean_error, predictions
from learn.inputs import LearnError
from learn.positions import FEATURE_SCALE, Rows

VALIDATION_SHARE = 0.2
DOUBT = 2.0  # standard errors by which the validation error must fall
PAWN_TERM = 0  # its weight is the unit of all others
FEW_GAMES = 300  # below this even the validation cannot be trusted


@dataclass(frozen=True)
class Settings:
    """How to learn. `first` and `last` number the terms that may move, from 1; `lam` is None for equal importance."""

    first: int = 6
    last: int = len(TERMS)
    lam: float | None = 40.0
    k: float | None = None
    seed: int = 2015
    split_by_position: bool = False


@dataclass(frozen=True)
class Split:
    """The two samples, and the game of each row."""

    train: Sample
    valid: Sample
    train_games: np.ndarray
    valid_games: np.ndarray


@dataclass(frozen=True)
class Learned:
    """What came out: the point at the start and at the end (rounded), the errors, and whether to use it.

    `gain` is the fall of the validation error and `gain_error` its standard error, paired game by game.
    `spread` is the standard error of each weight, float64[27], clustered by game; 0 for weights that were frozen.
    """

    start: Point
    end: Point
    train_errors: tuple[float, float]
    valid_errors: tuple[float, float]
    gain: float
    gain_error: float
    spread: np.ndarray
    task: Task
    interrupted: bool

    @property
    def accepted(self) -> bool:
        """Whether the validation error fell beyond doubt."""
        return self.gain > DOUBT * self.gain_error and self.gain > 0


StepReport = Callable[[int, Point, float, float], None]


def split(rows: Rows, settings: Settings) -> Split:
    """A training and a validation sample; raises LearnError where the games cannot teach anything."""
    results = rows.results[np.unique(rows.game)]
    if len(results) < 2:
        raise LearnError("one game is too few to learn from")
    if (results == results[0]).all():
        outcome = {0.0: "lost for White", 0.5: "drawn", 1.0: "won for White"}[float(results[0])]
        raise LearnError(f"all {len(results)} games are {outcome}: there is nothing to tell good from bad")
    chance = np.random.default_rng(settings.seed)
    if settings.split_by_position:
        is_valid = chance.random(len(rows)) < VALIDATION_SHARE
    else:
        games = np.unique(rows.game)
        chosen = chance.permutation(games)[: max(1, round(VALIDATION_SHARE * len(games)))]
        is_valid = np.isin(rows.game, chosen)
    importance = np.ones(len(rows), dtype=np.float32)
    if settings.lam is not None:
        importance = np.exp(-rows.to_end / np.float32(settings.lam)).astype(np.float32)
    labels = rows.labels()
    train, valid = (Sample(rows.features[mask], labels[mask], importance[mask]) for mask in (~is_valid, is_valid))
    return Split(train, valid, rows.game[~is_valid], rows.game[is_valid])


def learn(parts: Split, weights: np.ndarray, settings: Settings, report: StepReport) -> Learned:
    """Fit the weights that may move; Ctrl-C ends the fit and keeps the best so far.

    `report` gets the number of each step, its point, and its training and validation error.
    """
    start = Point(weights, 1 / settings.k) if settings.k else fit_k(parts.train, weights)
    free = np.arange(settings.first - 1, settings.last)
    if settings.k is None:
        free = free[free != PAWN_TERM]  # K is free: were the pawn free too, nothing would fix the scale
    bounds = np.array([term.bounds for term in TERMS], dtype=np.float64)
    task = Task(free, bounds, fit_k=settings.k is None, start=weights)
    steps: list[Point] = []

    def note(point: Point) -> None:
        steps.append(point)
        report(len(steps) - 1, point, mean_error(parts.train, point), mean_error(parts.valid, point))

    interrupted = False
    try:
        best = gauss_newton(parts.train, start, task, note)
    except KeyboardInterrupt:
        interrupted, best = True, steps[-1] if steps else start
    end = _round(best, task)
    gain, gain_error = _paired_gain(parts, start, end)
    errors = [(mean_error(sample, start), mean_error(sample, end)) for sample in (parts.train, parts.valid)]
    return Learned(start, end, errors[0], errors[1], gain, gain_error, _spread(parts, end, task), task, interrupted)


def _round(point: Point, task: Task) -> Point:
    """Whole centipawns, within bounds."""
    weights = point.weights.copy()
    rounded = np.rint(weights[task.free])
    weights[task.free] = np.clip(rounded, np.ceil(task.bounds[task.free, 0]), np.floor(task.bounds[task.free, 1]))
    return Point(weights, point.steepness)


def _errors(sample: Sample, point: Point) -> np.ndarray:
    """The weighted squared error of each row."""
    errors = np.empty(len(sample), dtype=np.float32)
    for rows, _, _, predicted in predictions(sample, point):
        errors[rows] = sample.importance[rows] * np.square(predicted - sample.labels[rows])
    return errors


def _by_game(games: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of `values`, [n] or [n, m], over the rows of each game; `games` rises."""
    starts = np.flatnonzero(np.concatenate([[True], games[1:] != games[:-1]]))
    return np.add.reduceat(values, starts, axis=0, dtype=np.float64)


def _paired_gain(parts: Split, start: Point, end: Point) -> tuple[float, float]:
    """How far the validation error fell, and its standard error, both from differences within each game."""
    difference = _by_game(parts.valid_games, _errors(parts.valid, start) - _errors(parts.valid, end))
    importance = _by_game(parts.valid_games, parts.valid.importance)
    gain = difference.sum() / importance.sum()
    residual = difference - gain * importance
    count = len(difference)
    error = np.sqrt((residual**2).sum() * count / max(1, count - 1)) / importance.sum()
    return float(gain), float(error)


def _spread(parts: Split, point: Point, task: Task) -> np.ndarray:
    """Standard errors of the weights by the sandwich formula, rows of one game counted as one observation."""
    sums = gather(parts.train, point, task.free)
    size = len(task.free) + task.fit_k
    matrix = (sums.matrix + np.diag(task.ridge()))[:size, :size]
    scores = np.zeros((int(parts.train_games[-1]) + 1, size))
    for rows, features, values, predicted in predictions(parts.train, point):
        slope = predicted * (1 - predicted) * parts.train.importance[rows] * (predicted - parts.train.labels[rows])
        jacobian = features[:, task.free] * np.float32(point.steepness / FEATURE_SCALE)
        if task.fit_k:
            jacobian = np.column_stack([jacobian, values])
        games = parts.train_games[rows]
        present = games[np.concatenate([[True], games[1:] != games[:-1]])]
        scores[present] += _by_game(games, jacobian * slope[:, None])
    inverse = np.linalg.pinv(matrix)
    covariance = inverse @ (scores.T @ scores) @ inverse
    spread = np.zeros(len(point.weights))
    spread[task.free] = np.sqrt(np.maximum(np.diag(covariance)[: len(task.free)], 0))
    return spread
