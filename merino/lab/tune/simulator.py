"""The simulator of the paper: strength curves of known shape, random games, and the result of each method in a table.

Settings of arXiv:2205.15602, section 3, from the authors' spreadsheet, whose table the draw rate reproduces, and others
that a tuner may meet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from merino.core.common import text, work
from merino.core.compiled.jit import entry, kernel
from merino.lab.tune import methods, rules
from merino.lab.tune.methods import absorb, write_pair
from merino.lab.tune.parameters import REACH, elo_width, spsa_step
from merino.match.games import next_float, seed_state

TAU = 0.6
RUNS, PAIRS, SETTING = 50, 200_000, "S0"  # of the paper's table
# Its mean gain in Elo and the standard deviation of a run, by method and number of parameters.
PAPER = {
    "spsa": {1: (1.99944, 0.00071), 4: (1.9929, 0.0044), 16: (1.9048, 0.0331), 64: (1.2616, 0.1159)},
    "bspsas": {1: (1.99970, 0.00042), 4: (1.9951, 0.0035), 16: (1.9333, 0.0256), 64: (1.2525, 0.1093)},
    "bspsa": {1: (1.99968, 0.00044), 4: (1.9953, 0.0033), 16: (1.9303, 0.0243), 64: (1.2683, 0.1054)},
}
SIZES = tuple(PAPER["spsa"])
START, BOUND, TOTAL_ELO = 100.0, 1000.0, 2.0
DRAW_RATE = 0.82
QUADRATIC, TANH, TWO_OPTIMA, KINKED, QUARTIC, SATURATED, UNEVEN_SIDES, RATIO = range(8)
SIDES = 4.0  # how many times steeper one side of UNEVEN_SIDES is than the other
# A multiplier of material at depth 3, as measured of Toga II: the Elo lost is RATIO_ELO times the square of the
# logarithm of value over optimum, above it at most MAX_RATIO_ELO; the optimum is RATIO_OPTIMUM stated distances over 0.
RATIO_ELO, MAX_RATIO_ELO, RATIO_OPTIMUM = 300.0, 180.0, 1.75
# A curve with two optima, in units of START and in Elo: the steepness of both, the place of the worse one and the Elo
# lost there.
STEEPNESS, WORSE_AT, WORSE_ELO = 8.0, 1.4, 3.0
ROTATION_SEED = 5


class Curve(NamedTuple):
    """A strength curve with its optimum at 0: the Elo lost at x.

    It is sum k_i x_i^2 times a factor that makes it lopsided by `shape`, or x^T H x if `matrix`, float64[d, d], is not
    empty. `steepness` is k, float64[d]. With TWO_OPTIMA the first parameter has a second, worse optimum. `draws` is the
    share of drawn games between equals.
    """

    steepness: np.ndarray
    matrix: np.ndarray
    shape: int
    draws: float


@dataclass(frozen=True)
class Setting:
    """A stress test: the true curve, and the factor by which the Elo stated to the tuner is wrong.

    `sight` is the stated distance of the optimum, and `start` the true one, in units of START, as are the `bounds`.
    With draws other than DRAW_RATE the tuner estimates the noise.
    """

    name: str
    sentence: str
    elo_factor: float = 1.0
    shape: int = QUADRATIC
    uneven: bool = False
    rotated: bool = False
    sight: float = 1.0
    start: float = 1.0
    bounds: tuple[float, float] = (-BOUND / START, BOUND / START)
    draws: float = DRAW_RATE

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
        return Curve(even, np.ascontiguousarray(matrix), self.shape, self.draws)


_ALL = (
    Setting("S0", "the paper's: quadratic, all parameters equal"),
    Setting("S1x4", "the tuner expects four times the true Elo", elo_factor=4.0),
    Setting("S1/4", "the tuner expects a quarter of the true Elo", elo_factor=0.25),
    Setting("S1h", "parameters matter between 1/4 and 4 times the mean; the tuner takes them as equal", uneven=True),
    Setting("S2", "lopsided: one side is up to three times as steep as the other", shape=TANH),
    Setting("S3", "quadratic, with rotated axes", rotated=True),
    Setting("S4", "quadratic, and the start is the optimum", start=0.0),
    Setting("S5", "quadratic, with the optimum three times as far as stated", sight=1 / 3),
    Setting("S6", "quadratic, with the optimum at a third of the stated distance", sight=3.0),
    Setting("K1", "kinked: the Elo lost grows with the distance, not its square", shape=KINKED),
    Setting("K2", "flat-bottomed: the Elo lost grows with the fourth power of the distance", shape=QUARTIC),
    Setting("K3", "saturated: beyond twice the distance of the start hardly more is lost", shape=SATURATED),
    Setting("K4", "beyond the optimum four times as steep as before it", shape=UNEVEN_SIDES),
    Setting("K5", "beyond the optimum a quarter as steep as before it", shape=UNEVEN_SIDES, start=-1.0),
    Setting(
        "K6",
        "as a factor of material: bounded, from far below, with 20% draws and 40 Elo stated",
        elo_factor=20.0,
        shape=RATIO,
        start=0.5 - RATIO_OPTIMUM,
        bounds=(-RATIO_OPTIMUM, 20 / 3 - RATIO_OPTIMUM),
        draws=0.2,
    ),
    Setting("L1", "the first parameter has a worse optimum, nearer the start than the better", shape=TWO_OPTIMA),
    Setting("L3", "as L1, but the tuner expects the optimum ten times nearer than it is", shape=TWO_OPTIMA, sight=0.1),
)
SETTINGS = {setting.name: setting for setting in _ALL}


def _spread_evenly(most: float, size: int) -> np.ndarray:
    """Factors from 1 / most to most in geometric steps, scaled to a mean of 1."""
    factors = np.geomspace(1 / most, most, size) if size > 1 else np.ones(1)
    return factors / factors.mean()


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
    if curve.shape == TWO_OPTIMA:  # the lower of two parabolas, one with its optimum at 0, the other worse
        u = x[0] / START
        lost, first = min(STEEPNESS * u * u, WORSE_ELO + STEEPNESS * (u - WORSE_AT) ** 2), 1
    for i in range(first, len(x)):
        factor = 1.0
        if curve.shape == TANH:
            factor = 1.0 + 0.5 * np.tanh(x[i] / START)
        elif curve.shape == UNEVEN_SIDES and x[i] < 0.0:
            factor = SIDES
        if curve.shape < KINKED or curve.shape == UNEVEN_SIDES:
            lost += curve.steepness[i] * factor * x[i] * x[i]
        else:
            lost += curve.steepness[i] * START * START * _other_form(curve.shape, x[i] / START)
    return lost


@kernel
def _other_form(shape, x):
    """The Elo lost at `x` in units of START, over TOTAL_ELO, for one parameter."""
    if shape == KINKED:
        return abs(x)
    if shape == QUARTIC:
        return x * x * x * x
    if shape == SATURATED:
        return (1.0 - np.exp(-0.5 * x * x)) / (1.0 - np.exp(-0.5))
    ratio = np.log(max(x + RATIO_OPTIMUM, 0.02) / RATIO_OPTIMUM)
    lost = RATIO_ELO * ratio * ratio
    return (lost if ratio < 0.0 else MAX_RATIO_ELO * (1.0 - np.exp(-lost / MAX_RATIO_ELO))) / TOTAL_ELO


class Figures(NamedTuple):
    """The mean Elo still lost, its standard error, the mean gain, and the standard deviation of a run."""

    loss: float
    error: float
    gain: float
    deviation: float

    def as_json(self, prefix: str) -> dict[str, float]:
        """As plain data."""
        names = ("mean_loss_elo", "standard_error", "mean_gain_elo", "standard_deviation")
        return {prefix + name: value for name, value in zip(names, self, strict=True)}


@dataclass(frozen=True)
class Cell:
    """A cell of the table: what its runs end with, and the figures of the paper, if it has some.

    `losses` and `firsts`, float64[runs], are the Elo lost at the end of each run and the first parameter there, whose
    optimum is 0; `proved`, bool[runs], is whether the 95% interval of the gain over the start is above 0. `coverage` is
    the share of 95% intervals that have the optimum, `careful` the mean Elo still lost if the start is kept unless the
    gain over it is significant; both None for a method without intervals. `ahead` pairs are under way.
    """

    method: str
    setting: str
    parameters: int
    pairs: int
    ahead: int
    losses: np.ndarray
    firsts: np.ndarray
    proved: np.ndarray
    figures: Figures
    coverage: float | None
    careful: float | None
    paper: Figures | None


def tuner_settings(method: rules.Method, setting: Setting, size: int, pairs: int) -> rules.EstimatorSettings:
    """The settings that the method gets: the paper's, with the Elo of each parameter times its `elo_factor`.

    SPSA's step is that of (18) for `pairs`; at the paper's 200,000 it is within 13% of the authors'.
    """
    distance, elo, even = setting.sight * START, TOTAL_ELO * setting.sight**2, np.ones(size)
    return rules.EstimatorSettings(
        method=methods.number_of(method),
        pairs=pairs,
        tau=TAU if setting.draws == DRAW_RATE else 0.0,
        low=even * setting.bounds[0] * START,
        high=even * setting.bounds[1] * START,
        whole=np.zeros(size, dtype=bool),
        c_end=even * REACH * distance,
        r_end=even * spsa_step(elo, size, pairs, elo / size * REACH**2, TAU),
        sigma=elo_width(even * distance, even * (elo / size * setting.elo_factor)),
        sigma_0=even * distance,
        bank=method.bank,
    )


def loss_at_start(setting: Setting, size: int) -> float:
    """The Elo lost before the first pair."""
    return float(_lost(setting.curve(size), np.full(size, setting.start * START)))


def simulate(
    method: rules.Method,
    setting: Setting,
    size: int,
    *,
    pairs: int,
    runs: int,
    seed: int,
    ahead: int = 1,
    at_a_time: int | None = None,
) -> Cell:
    """Run a cell. Run k of every method begins with the same random state.

    `ahead` pairs are under way: each is made from an estimate that lacks the results of the `ahead` - 1 before it.
    `at_a_time` runs are played at a time, None for one a core.
    """
    settings, curve = tuner_settings(method, setting, size, pairs), setting.curve(size)
    start, count = np.full(size, setting.start * START), at_a_time or work.cores()

    def play_run(run: int) -> tuple[float, float, float, bool]:
        state = methods.initial_state(settings, start)
        under_way, results = np.zeros((min(ahead, pairs), 2, size)), np.zeros(min(ahead, pairs))
        loss = float(_play(settings, state, curve, seed_state(seed, size, run), under_way, results))
        low, high = methods.intervals(settings, state)
        covered = np.where(np.isnan(low), np.nan, (low <= 0) & (high >= 0)).mean()
        is_proved = methods.gain_over(settings, state, start).low > 0
        return loss, float(methods.estimate(settings, state)[0]), float(covered), is_proved

    with work.threads(count) as workers:
        ends = np.array(list(work.ordered(workers, play_run, iter(range(runs)), 2 * count)))
    losses, firsts, covered, proved = ends.T
    start_loss, deviation = loss_at_start(setting, size), float(losses.std(ddof=1))
    has_intervals, is_paper = not np.isnan(covered).any(), (setting.name, pairs, ahead) == (SETTING, PAIRS, 1)
    known = PAPER.get(method.name, {}).get(size) if is_paper else None
    return Cell(
        method=method.name,
        setting=setting.name,
        parameters=size,
        pairs=pairs,
        ahead=ahead,
        losses=losses,
        firsts=firsts,
        proved=proved > 0,
        figures=Figures(float(losses.mean()), deviation / runs**0.5, start_loss - float(losses.mean()), deviation),
        coverage=float(covered.mean()) if has_intervals else None,
        careful=float(np.where(proved > 0, losses, start_loss).mean()) if has_intervals else None,
        paper=known and Figures(round(TOTAL_ELO - known[0], 6), known[1] / RUNS**0.5, *known),
    )


@entry
def _lost(curve, x):
    return elo_lost(curve, x)


@entry
def _play(settings, state, curve, random, under_way, results):
    """Tune for all pairs of `settings`; the Elo lost at the end. `state` and `random` move on.

    `under_way`, float64[ahead, 2, size], and `results`, float64[ahead], are scratch: `plus`, `minus` and y of each pair
    that is under way.
    """
    return _play_pairs(settings, state, curve, random, under_way, results)


@kernel
def _play_pairs(settings, state, curve, random, under_way, results):
    """The same, without counting who uses the arrays."""
    ahead = len(results)
    for number in range(1, settings.pairs + ahead):
        if number <= settings.pairs:
            place = number % ahead
            plus, minus = under_way[place, 0], under_way[place, 1]
            write_pair(settings, state, number, random, plus, minus)
            gain = elo_lost(curve, minus) - elo_lost(curve, plus)
            results[place] = _game(gain, curve.draws, random) + _game(gain, curve.draws, random)
        oldest = number - ahead + 1
        if oldest >= 1:
            place = oldest % ahead
            absorb(settings, state, oldest, under_way[place, 0], under_way[place, 1], results[place])
    rules.write_mean(settings, state, under_way[0, 0])
    return elo_lost(curve, under_way[0, 0])


@kernel
def _game(elo, draws, random):
    """1, 0 or -1 for a player who is `elo` better; the draw rate is lower only if the win rate leaves no room."""
    expected = 1.0 / (1.0 + 10.0 ** (-elo / 400.0))
    draw = min(draws, 2.0 * min(expected, 1.0 - expected))
    share = next_float(random)
    if share < expected - 0.5 * draw:
        return 1
    return 0 if share < expected + 0.5 * draw else -1


def simulation_table(cells: Sequence[Cell]) -> list[str]:
    """The methods of one setting side by side: the loss and gain in Elo by number of parameters."""
    first, names = cells[0], list(dict.fromkeys(cell.method for cell in cells))
    ahead = f"{first.ahead} of them under way, " if first.ahead > 1 else ""
    lines = [
        f"{first.setting}: {SETTINGS[first.setting].sentence}",
        f"{first.pairs} pairs, {ahead}{len(first.losses)} runs a cell: Elo still lost, its mean and standard error;",
        "below it the Elo gained, and in brackets the standard deviation of a run; how many of the 95% intervals",
        "have the optimum; and the Elo lost if the start is kept unless the gain over it is significant",
        _row("parameters", names),
    ]
    for size in dict.fromkeys(cell.parameters for cell in cells):
        by_name = {cell.method: cell for cell in cells if cell.parameters == size}
        row = [by_name[name] for name in names]
        lines += _figures_rows(str(size), [cell.figures for cell in row])
        lines.append(_row("in 95%", ("-" if cell.coverage is None else f"{cell.coverage:.1%}" for cell in row)))
        lines.append(_row("careful", ("-" if cell.careful is None else f"{cell.careful:.5f}" for cell in row)))
        if any(cell.paper for cell in row):
            lines += _figures_rows("paper", [cell.paper for cell in row])
            lines.append(_row("apart, se", map(_apart, row)))
    return lines


def _figures_rows(head: str, figures: Sequence[Figures | None]) -> list[str]:
    """A row of losses and one of gains."""
    losses = ("" if each is None else f"{each.loss:.5f} +- {each.error:.5f}" for each in figures)
    gains = ("" if each is None else f"{text.rounded(each.gain, digits=5)} ({each.deviation:.5f})" for each in figures)
    return [_row(head, losses), _row("gain", gains)]


def _row(head: str, figures: Iterable[str]) -> str:
    return f"{head:>10}" + "".join(f"{figure:>22}" for figure in figures)


def _apart(cell: Cell) -> str:
    """How far the cell is above the paper's, in standard errors of the difference."""
    if cell.paper is None:
        return ""
    difference = cell.figures.loss - cell.paper.loss
    return text.rounded(difference / (cell.figures.error**2 + cell.paper.error**2) ** 0.5, "+")


def cell_json(cell: Cell) -> dict[str, Any]:
    """A cell as plain data."""
    return {
        **{name: getattr(cell, name) for name in ("method", "setting", "parameters", "pairs", "ahead")},
        "runs": len(cell.losses),
        **cell.figures.as_json(""),
        "interval_coverage": cell.coverage,
        "careful_loss_elo": cell.careful,
        **(cell.paper.as_json("paper_") if cell.paper else {}),
    }
