"""The simulator of the paper: strength curves of known shape, random games, and the result of a method.

Settings of arXiv:2205.15602, section 3, from the authors' spreadsheet; the draw rate reproduces its table.
"""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from merino.inner.core.common.work import cores, ordered, threads
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.match.rng import seed_state
from merino.inner.tune.design import write_pair
from merino.inner.tune.estimators import absorb, estimate, initial_state, write_estimate
from merino.inner.tune.methods import METHODS, number_of
from merino.inner.tune.methods.auto import LEVEL_SHARES, LEVELS, MAX_WIDTH
from merino.inner.tune.plan import REACH, elo_width, spsa_step
from merino.inner.tune.rng import next_float
from merino.inner.tune.rules import GAMMA, EstimatorSettings, Method

START, BOUND, TOTAL_ELO = 100.0, 1000.0, 2.0
DRAW_RATE, TAU = 0.82, 0.6
# The control for AUTO: BSPSAS with perturbations of the same mean square as AUTO's.
WIDE_REACH = REACH * MAX_WIDTH * float(np.sqrt((LEVEL_SHARES * LEVELS**2).sum() * (1 - 2 * GAMMA)))
# Perturbations that much smaller do not reach beyond both optima.
NARROWER = 0.25
QUADRATIC, TANH, CUBIC, TWO_OPTIMA, LOPSIDED_OPTIMA = range(5)
# A curve with two optima, in units of START and in Elo: the steepness of both, the place of the worse one and the Elo
# lost there, and how many times steeper the lopsided curve is on the far side of the better one.
STEEPNESS, WORSE_AT, WORSE_ELO, BEYOND = 8.0, 1.4, 3.0, 3.0
# A run ends at an optimum if the first parameter is within this share of the distance between both.
NEAR = 0.25
ROTATION_SEED = 5


class Curve(NamedTuple):
    """A strength curve with its optimum at 0: the Elo lost at x.

    It is sum k_i x_i^2 times a factor that makes it lopsided by `shape`, or x^T H x if `matrix`, float64[d, d], is not
    empty. `steepness` is k, float64[d]. With TWO_OPTIMA the first parameter has a second, worse optimum, and with
    LOPSIDED_OPTIMA the better one is also steeper on its far side.
    """

    steepness: np.ndarray
    matrix: np.ndarray
    shape: int


@dataclass(frozen=True)
class Setting:
    """A stress test: the true curve, and the factor by which the tuner's idea of its Elo is wrong.

    `sight` is how far the tuner thinks the optimum to be, in units of START.
    """

    name: str
    sentence: str
    elo_factor: float = 1.0
    shape: int = QUADRATIC
    uneven: bool = False
    rotated: bool = False
    sight: float = 1.0

    @property
    def has_two_optima(self) -> bool:
        """Whether the first parameter has a worse optimum beside the better one, nearer the start."""
        return self.shape in (TWO_OPTIMA, LOPSIDED_OPTIMA)

    def curve(self, size: int) -> Curve:
        """The true curve for `size` parameters.

        TOTAL_ELO is lost at the start, on a lopsided one roughly, and more where there are two optima.
        """
        even = np.full(size, TOTAL_ELO / size / START**2)
        matrix = np.zeros((0, 0))
        if self.uneven:
            even *= _spread_evenly(4.0, size)
        if self.rotated:
            basis, _ = np.linalg.qr(np.random.default_rng(ROTATION_SEED).normal(size=(size, size)))
            matrix = basis @ np.diag(_spread_evenly(5.0, size)) @ basis.T
            matrix *= TOTAL_ELO / (START**2 * matrix.sum())
        return Curve(even, np.ascontiguousarray(matrix), self.shape)


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("S0", "the paper's: quadratic, all parameters equal"),
        Setting("S1x4", "the tuner expects four times the true Elo", elo_factor=4.0),
        Setting("S1/4", "the tuner expects a quarter of the true Elo", elo_factor=0.25),
        Setting(
            "S1h", "parameters matter between 1/4 and 4 times the mean; the tuner takes them as equal", uneven=True
        ),
        Setting("S2", "lopsided: one side is up to three times as steep as the other", shape=TANH),
        Setting("S2c", "lopsided by a cubic term", shape=CUBIC),
        Setting("S3", "quadratic, with rotated axes", rotated=True),
        Setting("L1", "the first parameter has a worse optimum, nearer the start than the better", shape=TWO_OPTIMA),
        Setting("L2", "as L1, with the better optimum three times as steep on its far side", shape=LOPSIDED_OPTIMA),
        Setting(
            "L3", "as L1, but the tuner expects the optimum ten times nearer than it is", shape=TWO_OPTIMA, sight=0.1
        ),
    )
}


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

    `firsts`, float64[runs], is the first parameter at the end of each run; its optimum is 0.
    """

    contender: Contender
    setting: str
    parameters: int
    pairs: int
    losses: np.ndarray
    start_loss: float
    firsts: np.ndarray
    ahead: int = 1  # pairs under way

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
    limit, even = np.full(size, BOUND), np.ones(size)
    whole = np.zeros(size, dtype=bool)
    return EstimatorSettings(
        number_of(method),
        pairs,
        TAU,
        -limit,
        limit,
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


class RunEnd(NamedTuple):
    """The end of a run: the Elo lost there, and the first parameter."""

    loss: float
    first: float


def play_run(task: RunTask) -> RunEnd:
    """Play a run to its end."""
    size = len(task.settings.low)
    at, random = np.full(size, START), seed_state(task.seed, size, task.run)
    loss = 0.0
    for settings in (task.settings, task.second):
        if settings is not None:
            state = initial_state(settings, at)
            under_way = np.zeros((min(task.ahead, settings.pairs), 2 * size + 1))
            loss = float(_play(settings, state, task.curve, random, under_way))
            at = estimate(settings, state)
    return RunEnd(loss, float(at[0]))


def loss_at_start(setting: Setting, size: int) -> float:
    """The Elo lost before the first pair."""
    return float(_lost(setting.curve(size), np.full(size, START)))


def simulate(
    contender: Contender,
    setting: Setting,
    size: int,
    pairs: int,
    runs: int,
    seed: int,
    at_a_time: int | None = None,
    executor: Executor | None = None,
    ahead: int = 1,
) -> Cell:
    """Run one cell. Run k of every contender begins with the same random state.

    `ahead` pairs are under way: each is made from an estimate that lacks the results of the `ahead` - 1 before it.

    `executor` plays `at_a_time` runs at a time (None for one a core); None for threads of this process.
    """
    first = pairs - pairs // 2 if contender.second else pairs
    settings, second = tuner_settings(contender.method, setting, size, first, contender.reach), None
    if contender.second:
        second = tuner_settings(contender.method, setting, size, pairs // 2, contender.second)
        second = second._replace(sigma_0=second.sigma_0 / 2)
    curve = setting.curve(size)
    tasks = (RunTask(settings, curve, seed, run, second, ahead) for run in range(runs))
    count = at_a_time or cores()
    with nullcontext(executor) if executor else threads(count) as workers:
        losses, firsts = np.array(list(ordered(workers, play_run, tasks, 2 * count))).T
    return Cell(contender, setting.name, size, pairs, losses, loss_at_start(setting, size), firsts, ahead)


def _spread_evenly(most: float, size: int) -> np.ndarray:
    """Factors from 1 / most to most in geometric steps, scaled to a mean of 1."""
    factors = np.geomspace(1 / most, most, size) if size > 1 else np.ones(1)
    return factors / factors.mean()


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
            _store_pair(under_way[number % ahead], plus, minus, np.float64(_game(gain, random) + _game(gain, random)))
        oldest = number - ahead + 1
        if oldest >= 1:
            y = _load_pair(under_way[oldest % ahead], plus, minus)
            absorb(settings, state, oldest, plus, minus, y)
    write_estimate(settings, state, plus)
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
def _game(elo, random):
    """1, 0 or -1 for a player who is `elo` better; the draw rate is lower only if the win rate leaves no room."""
    expected = 1.0 / (1.0 + 10.0 ** (-elo / 400.0))
    draw = min(DRAW_RATE, 2.0 * min(expected, 1.0 - expected))
    share = next_float(random)
    if share < expected - 0.5 * draw:
        return 1
    return 0 if share < expected + 0.5 * draw else -1


@kernel
def elo_lost(curve, x):
    """The Elo lost at `x`, float64[d]."""
    lost = 0.0
    if len(curve.matrix):
        for i in range(len(x)):
            for j in range(len(x)):
                lost += x[i] * curve.matrix[i, j] * x[j]
        return lost
    first = 0
    if curve.shape == TWO_OPTIMA or curve.shape == LOPSIDED_OPTIMA:
        lost, first = _two_optima(x[0] / START, curve.shape == LOPSIDED_OPTIMA), 1
    for i in range(first, len(x)):
        factor = 1.0
        if curve.shape == TANH:
            factor = 1.0 + 0.5 * np.tanh(x[i] / START)
        elif curve.shape == CUBIC:
            factor = max(0.2, 1.0 + 0.3 * x[i] / (4.0 * START))
        lost += curve.steepness[i] * factor * x[i] * x[i]
    return lost


@kernel
def _two_optima(x, lopsided):
    """The Elo lost at `x` in units of START: the lower of two parabolas, one with its optimum at 0, the other worse."""
    better = STEEPNESS * x * x * (BEYOND if lopsided and x < 0.0 else 1.0)
    return min(better, WORSE_ELO + STEEPNESS * (x - WORSE_AT) ** 2)
