"""What the tuner shows: a tune while it runs, its result and course, and the table of the simulator."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from merino.core.common.sealed import finite
from merino.core.common.tables import load_matplotlib, saved
from merino.core.common.text import rounded
from merino.lab.tune import paper
from merino.lab.tune.curves import SETTINGS
from merino.lab.tune.estimators import deviations, estimate, gain_over, intervals, noise_now
from merino.lab.tune.methods import method_of
from merino.lab.tune.parameters import TunedParameter, best_step, fishtest_lines, openbench_lines
from merino.lab.tune.rules import BETA, EstimatorSettings, ExpectedGain, Method, State
from merino.lab.tune.simulator import Cell
from merino.lab.tune.tuning import Tune, replay

LINE_SECONDS = 10.0  # between two lines of a tune
LINES_A_TABLE = 6  # of them, between two tables
_TWO_OPTIMA = "at optima: how many runs end at the better one, how many at the worse; the others end at neither"
_POINTS = 200  # of a course, about
_COLUMNS = 3


def value_table(parameters: Sequence[TunedParameter], settings: EstimatorSettings, state: State) -> list[str]:
    """A row for each parameter: start, estimate, its 95% interval, and the change in units of c_end."""
    values, ends = estimate(settings, state), intervals(settings, state)
    width = max(len("parameter"), *(len(row.name) for row in parameters))
    lines = [f"{'parameter':<{width}} {'start':>9} {'now':>10} {'95% of it':>19} {'moved/c':>8}"]
    for index, row in enumerate(parameters):
        low, high = ends[:, index]
        between = "-" if np.isnan(low) else f"{low + 0.0:.4g} to {high + 0.0:.4g}"
        moved = rounded((values[index] - row.start) / row.c_end, "+", 2)
        now = rounded(values[index], digits=2) if row.high - row.low >= 1 else f"{values[index] + 0.0:.4g}"
        lines.append(f"{row.name:<{width}} {row.start:>9g} {now:>10} {between:>19} {moved:>8}")
    return lines


def gain_line(gain: ExpectedGain) -> str:
    """What a result is worth, and whether that is more than chance."""
    mean, low, high = (rounded(elo, "+") for elo in (gain.mean, gain.low, gain.high))
    text = f"Expected against the start: {mean} Elo, 95% from {low} to {high}"
    return text if gain.low > 0 else f"{text}: no gain is proved, keep the start unless a match proves one"


def remaining_loss(settings: EstimatorSettings, state: State) -> float:
    """The Elo expected to be still lost, from the posterior variances and the curves told.

    NaN for a method without variances, and for one that finds the curves by itself, as those told may be wrong.
    """
    if method_of(settings.method).gain is not None:
        return math.nan
    return float((deviations(settings, state) ** 2 / (2 * BETA * settings.sigma**2)).sum())


class TuneProgress:
    """Shows the progress of a tune: a line every few seconds, the table every few lines."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._began = self._last = time.monotonic()
        self._first = 0  # pairs done when the clock started
        self._lines = 0

    def __call__(self, tune: Tune) -> None:
        """Show the progress if it is time to."""
        now = time.monotonic()
        if not self._first:  # the first pair may have had to wait for the compiler
            self._began = self._last = now
            self._first = len(tune.done)
        if now - self._last < LINE_SECONDS and not tune.is_over:
            return
        self._last = now
        self._lines += 1
        self._tell(self._line(tune, (len(tune.done) - self._first) / max(1e-9, now - self._began)))
        if self._lines % LINES_A_TABLE == 0 and not tune.is_over:
            for line in value_table(tune.configuration.parameters, tune.settings, tune.state):
                self._tell(line)

    def _line(self, tune: Tune, speed: float) -> str:
        left = (tune.configuration.pairs - len(tune.done)) / max(1e-9, speed)
        loss = remaining_loss(tune.settings, tune.state)
        expected = "" if np.isnan(loss) else f"  {loss:.2f} Elo left"
        lost = f"  {tune.lost} lost" if tune.lost else ""
        tau = float(np.sqrt(noise_now(tune.settings, tune.state)))
        return (
            f"{len(tune.done)}/{tune.configuration.pairs} pairs{lost}  tau {tau:.2f}{expected}  "
            f"{speed:.2f} pairs/s  {clock(left)} to go"
        )


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def result_lines(tune: Tune, method: Method, settings: EstimatorSettings, state: State) -> list[str]:
    """The result of a method: values, intervals, the Elo left and gained, and the lines of both formats."""
    parameters = tune.configuration.parameters
    played = len(tune.done) - tune.lost
    lines = [f"{method.name} after {played} pairs:", *value_table(parameters, settings, state)]
    loss = remaining_loss(settings, state)
    if not np.isnan(loss):
        before = sum(row.elo for row in parameters)
        lines.append(f"Expected to be left: {loss:.2f} Elo of the {before:.2f} told at the start")
    gain = gain_over(settings, state, tune.configuration.start)
    if not np.isnan(gain.low):
        lines.append(gain_line(gain))
    steps = [row.r_end or best_step(row, parameters, tune.configuration.pairs) for row in parameters]
    values = [row.shown(value) for row, value in zip(parameters, estimate(settings, state).tolist(), strict=True)]
    lines += ["# fishtest", *fishtest_lines(parameters, values, steps)]
    lines += ["# OpenBench", *openbench_lines(parameters, values, steps)]
    return lines


def simulation_table(cells: Sequence[Cell]) -> list[str]:
    """Methods side by side: a block for each setting, and in it the loss and gain in Elo by number of parameters."""
    lines: list[str] = []
    for setting in dict.fromkeys(cell.setting for cell in cells):
        block = [cell for cell in cells if cell.setting == setting]
        first = block[0]
        names = list(dict.fromkeys(cell.contender.name for cell in block))
        lines += [
            *([""] if lines else []),
            f"{setting}: {SETTINGS[setting].sentence}",
            f"{first.pairs} pairs, {_under_way(first)}{len(first.losses)} runs a cell: Elo still lost, its mean and "
            "standard error;",
            "below it the Elo gained, and in brackets the standard deviation of a run; how many of the 95% intervals",
            "have the optimum; and the Elo lost if the start is kept unless the gain over it is significant",
            *([_TWO_OPTIMA] if first.ends else []),
            _row("parameters", names),
        ]
        for size in dict.fromkeys(cell.parameters for cell in block):
            by_name = {cell.contender.name: cell for cell in block if cell.parameters == size}
            lines += _rows_of_size(size, [by_name[name] for name in names])
    return lines


def _rows_of_size(size: int, cells: Sequence[Cell]) -> Iterator[str]:
    """The figures of each method for a number of parameters, and those of the paper where it has some."""
    yield _row(str(size), (_figure(cell.mean, cell.error) for cell in cells))
    yield _row("gain", (_gain(cell.gain, cell.deviation) for cell in cells))
    yield _row("in 95%", (_share(cell.coverage) for cell in cells))
    yield _row("careful", (_loss(cell.careful) for cell in cells))
    ends = [cell.ends for cell in cells if cell.ends]
    if ends:
        yield _row("at optima", (f"{better}, {worse}" for better, worse in ends))
    cited = [(cell, paper.figure_for(cell)) for cell in cells]
    if any(figure for _, figure in cited):
        yield _row("paper", (_figure(figure.loss, figure.error) if figure else "" for _, figure in cited))
        yield _row("gain", (_gain(figure.gain, figure.deviation) if figure else "" for _, figure in cited))
        apart = (rounded(paper.distance(cell, figure), "+") if figure else "" for cell, figure in cited)
        yield _row("apart, se", apart)


def _row(head: str, figures: Iterable[str]) -> str:
    return f"{head:>10}" + "".join(f"{figure:>22}" for figure in figures)


def tune_json(tune: Tune, proved: bool | None) -> dict[str, Any]:
    """The result of a tune: values as played, with 95% intervals, null where a method has none.

    `proved` is the outcome of the closing match, None without one or if it was not decided. `gain` is what the values
    are expected to be worth against the start, in Elo with its 95% interval.
    """
    rows, exact = tune.configuration.parameters, tune.estimate()
    gain = gain_over(tune.settings, tune.state, tune.configuration.start)
    return {
        "parameters": [
            {
                "name": row.name,
                "start": row.start,
                "value": row.playable(value),
                "low": finite(low),
                "high": finite(high),
            }
            for row, value, low, high in zip(rows, exact.tolist(), *intervals(tune.settings, tune.state), strict=True)
        ],
        "games": 2 * (len(tune.done) - tune.lost),
        "gain": {"elo": finite(gain.mean), "low": finite(gain.low), "high": finite(gain.high)},
        "proved": proved,
    }


def _under_way(cell: Cell) -> str:
    return f"{cell.ahead} of them under way, " if cell.ahead > 1 else ""


def simulation_json(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """An object for each cell."""
    return [_cell_json(cell) for cell in cells]


def _cell_json(cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {
        "method": cell.contender.name,
        "setting": cell.setting,
        "parameters": cell.parameters,
        "pairs": cell.pairs,
        "ahead": cell.ahead,
        "runs": len(cell.losses),
        "mean_loss_elo": cell.mean,
        "standard_error": cell.error,
        "mean_gain_elo": cell.gain,
        "standard_deviation": cell.deviation,
        "interval_coverage": cell.coverage,
        "careful_loss_elo": cell.careful,
    }
    if cell.ends:
        found["runs_at_better_optimum"], found["runs_at_worse_optimum"] = cell.ends
    figure = paper.figure_for(cell)
    if figure:
        found |= {
            "paper_mean_loss_elo": round(figure.loss, 6),
            "paper_standard_error": round(figure.error, 6),
            "paper_mean_gain_elo": figure.gain,
            "paper_standard_deviation": figure.deviation,
        }
    return found


def _share(coverage: float | None) -> str:
    return "-" if coverage is None else f"{coverage:.1%}"


def _loss(careful: float | None) -> str:
    return "-" if careful is None else f"{careful:.5f}"


def _gain(gain: float, deviation: float) -> str:
    return f"{rounded(gain, digits=5)} ({deviation:.5f})"


def _figure(loss: float, error: float) -> str:
    return f"{loss:.5f} +- {error:.5f}"


def draw(tune: Tune, method: Method, ending: str) -> bytes:
    """A picture's bytes in the format of its ending: each parameter's course in units of c_end.

    Two deviations are about it, unless the method has none.
    Raises PictureError if matplotlib is not installed.
    """
    figure_class, _ = load_matplotlib()
    settings, rows = tune.configuration.settings(method), tune.configuration.parameters
    every, last = max(1, len(tune.done) // _POINTS), len(tune.done)
    way = [(number, state) for number, state in replay(tune, settings) if number % every == 0 or number == last]
    pairs = np.array([number for number, _ in way])
    start, unit = tune.configuration.start, settings.c_end
    values = (np.array([estimate(settings, state) for _, state in way]) - start) / unit
    lines = -(-len(rows) // _COLUMNS)
    figure = figure_class(figsize=(4 * min(_COLUMNS, len(rows)), 2.4 * lines + 0.6), layout="constrained")
    axes = figure.subplots(lines, min(_COLUMNS, len(rows)), squeeze=False, sharex=True).ravel()
    for index, row in enumerate(rows):
        axes[index].plot(pairs, values[:, index], color="#0072b2")
        if method.deviations is not None:
            spread = np.array([deviations(settings, state)[index] for _, state in way]) / unit[index]
            low, high = values[:, index] - 2 * spread, values[:, index] + 2 * spread
            axes[index].fill_between(pairs, low, high, color="#0072b2", alpha=0.2, linewidth=0)
        axes[index].axhline(0, color="#555555", linewidth=0.8, linestyle=":")
        axes[index].set_title(f"{row.name} (c = {row.c_end:g})", fontsize=9, loc="left")
    for unused in axes[len(rows) :]:
        unused.set_visible(False)
    spread_too = "" if method.deviations is None else ", and two standard deviations"
    figure.suptitle(f"{method.name}: change in units of c{spread_too}", fontsize=11)
    figure.supxlabel("pairs of games", fontsize=9)
    return saved(figure, ending)
