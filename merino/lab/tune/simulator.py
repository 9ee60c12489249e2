"""The simulator of the paper: strength curves of known shape, random games, and the result of a method.

Settings of arXiv:2205.15602, section 3, from the authors' spreadsheet; the draw rate reproduces its table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from merino.core.common.work import cores, ordered, threads
from merino.core.compiled.jit import entry, kernel
from merino.lab.tune.curves import DRAW_RATE, SETTINGS, START, TOTAL_ELO, WORSE_AT, Curve, Setting, elo_lost
from merino.lab.tune.estimators import absorb, estimate, gain_over, initial_state, intervals, write_pair
from merino.lab.tune.methods import METHODS, number_of
from merino.lab.tune.methods.auto import LEVEL_SHARES, LEVELS
from merino.lab.tune.plan import REACH, elo_width, spsa_step
from merino.lab.tune.rules import GAMMA, MAX_PERTURBATION, EstimatorSettings, Method, write_mean
from merino.match.games import next_float, seed_state

TAU = 0.6
# The control for AUTO: BSPSAS with perturbations of the same mean square as AUTO's.
WIDE_REACH = REACH * MAX_PERTURBATION * float(np.sqrt((LEVEL_SHARES * LEVELS**2).sum() * (1 - 2 * GAMMA)))
# Perturbations that much smaller do not reach beyond both optima.
NARROWER = 0.25
# A run ends at an optimum if the first parameter is within this share of the distance between both.
NEAR = 0.25


class Contender(NamedTuple):
    """A contender in a simulation: a method, and its last perturbation over the distance of the optimum.

    `second` is that of a second tune from where the first ends, each with half of the pairs; 0 for none. The tuner
    then thinks the optimum half as far.
    """

    name: str
    method: Method
    reach: float = REACH
    second: float = 0.0


CONTENDERS = {
    contender.name: contender
    for contender in (
        *(Contender(method.name, method) for method in METHODS.values()),
        Contender("bspsas-wide", METHODS["bspsas"], WIDE_REACH),
        Contender("bspsas-narrow", METHODS["bspsas"], REACH * NARROWER),
        Contender("bspsas-twice", METHODS["bspsas"], second=REACH * NARROWER),
    )
}
# The contenders of the paper's table. The others are for curves with two optima and lose far more on its own.
DEFAULT_CONTENDERS = tuple(name for name in CONTENDERS if name not in ("bspsas-narrow", "bspsas-twice"))


@dataclass(frozen=True)
class Cell:
    """One cell of the table: the Elo that each of its runs still loses, float64[runs]; `start_loss` is that before.

    `firsts`, float64[runs], is the first parameter at the end of each run; its optimum is 0. `covered` and `proved` are
    as in RunEnd.
    """

    contender: Contender
    setting: str
    parameters: int
    pairs: int
    losses: np.ndarray
    start_loss: float
    firsts: np.ndarray
    covered: np.ndarray
    proved: np.ndarray
    ahead: int = 1  # pairs under way

    @property
    def coverage(self) -> float | None:
        """The share of 95% intervals that have the optimum; None for a method without intervals."""
        return None if np.isnan(self.covered).any() else float(self.covered.mean())

    @property
    def careful(self) -> float | None:
        """The mean Elo still lost if the start is kept unless the gain over it is significant; None as above."""
        return None if self.coverage is None else float(np.where(self.proved, self.losses, self.start_loss).mean())

    @property
    def ends(self) -> tuple[int, int] | None:
        """How many runs end at the better of two optima and how many at the worse; None where there is one."""
        if not SETTINGS[self.setting].has_two_optima:
            return None
        near = NEAR * WORSE_AT * START
        better, worse = (int((abs(self.firsts - at) < near).sum()) for at in (0.0, WORSE_AT * START))
        return better, worse

    @property
    def mean(self) -> float:
        """The mean Elo still lost."""
        return float(self.losses.mean())

    @property
    def deviation(self) -> float:
        """The standard deviation of a run."""
        return float(self.losses.std(ddof=1))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / len(self.losses) ** 0.5

    @property
    def gain(self) -> float:
        """The mean Elo gained from the start; less than 0 where the runs end worse than they began."""
        return self.start_loss - self.mean


def tuner_settings(method: Method, setting: Setting, size: int, pairs: int, reach: float = REACH) -> EstimatorSettings:
    """The settings that the method gets: the paper's, with the Elo of each parameter times its `elo_factor`.

    `reach` is the last perturbation over the distance of the optimum. SPSA's step is that of (18) for `pairs`;
    at the paper's 200,000 it is within 13% of the authors'.
    """
    distance, elo = setting.sight * START, TOTAL_ELO * setting.sight**2
    sigma = elo_width(np.full(size, distance), np.full(size, elo / size * setting.elo_factor))
    r_end = spsa_step(elo, size, pairs, elo / size * reach**2, TAU)
    even = np.ones(size)
    whole = np.zeros(size, dtype=bool)
    return EstimatorSettings(
        number_of(method),
        pairs,
        TAU if setting.draws == DRAW_RATE else 0.0,
        even * setting.bounds[0] * START,
        even * setting.bounds[1] * START,
        whole,
        even * reach * distance,
        even * r_end,
        sigma,
        even * distance,
        method.bank,
    )


@dataclass(frozen=True)
class RunTask:
    """One run of a cell: plain data, for any process."""

    settings: EstimatorSettings
    curve: Curve
    seed: int
    run: int
    second: EstimatorSettings | None = None  # of a second tune from where the first ends
    ahead: int = 1
    start: float = START


class RunEnd(NamedTuple):
    """The end of a run: the Elo lost there, and the first parameter.

    `covered` is the share of parameters whose 95% interval has the optimum, NaN for a method without intervals;
    `proved` is whether the 95% interval of the gain over the start is above 0.
    """

    loss: float
    first: float
    covered: float
    proved: bool


def play_run(task: RunTask) -> RunEnd:
    """Play a run to its end."""
    size = len(task.settings.low)
    start, random = np.full(size, task.start), seed_state(task.seed, size, task.run)
    loss, at = 0.0, start
    for settings in (task.settings, task.second):
        if settings is not None:
            state = initial_state(settings, at)
            under_way = np.zeros((min(task.ahead, settings.pairs), 2 * size + 1))
            loss = float(_play(settings, state, task.curve, random, under_way))
            at = estimate(settings, state)
            low, high = intervals(settings, state)
            gain = gain_over(settings, state, start)
    covered = float(((low <= 0) & (high >= 0)).mean()) if not np.isnan(low).any() else math.nan
    return RunEnd(loss, float(at[0]), covered, gain.low > 0)


def loss_at_start(setting: Setting, size: int) -> float:
    """The Elo lost before the first pair."""
    return float(_lost(setting.curve(size), np.full(size, setting.start * START)))


def simulate(
    contender: Contender,
    setting: Setting,
    size: int,
    pairs: int,
    runs: int,
    seed: int,
    at_a_time: int | None = None,
    ahead: int = 1,
) -> Cell:
    """Run one cell. Run k of every contender begins with the same random state.

    `ahead` pairs are under way: each is made from an estimate that lacks the results of the `ahead` - 1 before it.
    `at_a_time` runs are played at a time, None for one a core.
    """
    first = pairs - pairs // 2 if contender.second else pairs
    settings, second = tuner_settings(contender.method, setting, size, first, contender.reach), None
    if contender.second:
        second = tuner_settings(contender.method, setting, size, pairs // 2, contender.second)
        second = second._replace(sigma_0=second.sigma_0 / 2)
    curve = setting.curve(size)
    tasks = (RunTask(settings, curve, seed, run, second, ahead, setting.start * START) for run in range(runs))
    count = at_a_time or cores()
    with threads(count) as workers:
        losses, firsts, covered, proved = np.array(list(ordered(workers, play_run, tasks, 2 * count))).T
    start_loss = loss_at_start(setting, size)
    return Cell(contender, setting.name, size, pairs, losses, start_loss, firsts, covered, proved > 0, ahead)


@entry
def _play(settings, state, curve, random, under_way):
    """Tune for all pairs of `settings`; the Elo lost at the end. `state`, `random` and `under_way` are changed.

    `under_way`, float64[ahead, 2 * size + 1], holds the pairs under way: `plus`, `minus` and the result of each.
    """
    size = len(settings.low)
    return _play_pairs(settings, state, curve, random, under_way, np.empty(size), np.empty(size))


@kernel
def _play_pairs(settings, state, curve, random, under_way, plus, minus):
    """The same; `plus` and `minus`, float64[size], are scratch."""
    ahead = len(under_way)
    for number in range(1, settings.pairs + ahead):
        if number <= settings.pairs:
            write_pair(settings, state, number, random, plus, minus)
            gain = elo_lost(curve, minus) - elo_lost(curve, plus)
            _store_pair(under_way[number % ahead], plus, minus, _both(gain, curve.draws, random))
        oldest = number - ahead + 1
        if oldest >= 1:
            y = _load_pair(under_way[oldest % ahead], plus, minus)
            absorb(settings, state, oldest, plus, minus, y)
    write_mean(settings, state, plus)
    return elo_lost(curve, plus)


@kernel
def _store_pair(place, plus, minus, y):
    """Put a pair that is under way into float64[2 * size + 1]."""
    size = len(plus)
    for i in range(size):
        place[i], place[size + i] = plus[i], minus[i]
    place[2 * size] = y


@kernel
def _load_pair(place, plus, minus):
    """Fill `plus` and `minus` with such a pair; its result."""
    size = len(plus)
    for i in range(size):
        plus[i], minus[i] = place[i], place[size + i]
    return place[2 * size]


@entry
def _lost(curve, x):
    return elo_lost(curve, x)


@kernel
def _both(elo, draws, random):
    """The result of a pair."""
    return np.float64(_game(elo, draws, random) + _game(elo, draws, random))


@kernel
def _game(elo, draws, random):
    """1, 0 or -1 for a player who is `elo` better; the draw rate is lower only if the win rate leaves no room."""
    expected = 1.0 / (1.0 + 10.0 ** (-elo / 400.0))
    draw = min(draws, 2.0 * min(expected, 1.0 - expected))
    share = next_float(random)
    if share < expected - 0.5 * draw:
        return 1
    return 0 if share < expected + 0.5 * draw else -1
