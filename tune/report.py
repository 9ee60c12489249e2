"""What the tuner prints: the table of the simulator, the plan, the lines of both formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from merino.inner.tune import paper
from merino.inner.tune.curves import SETTINGS
from merino.inner.tune.estimators import gain_over, intervals
from merino.inner.tune.simulator import Cell
from merino.inner.tune.tuning import Tune

_TWO_OPTIMA = "at optima: how many runs end at the better one, how many at the worse; the others end at neither"


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
            "parameters" + "".join(f"{name:>22}" for name in names),
        ]
        for size in dict.fromkeys(cell.parameters for cell in block):
            row = {cell.contender.name: cell for cell in block if cell.parameters == size}
            lines.append(f"{size:>10}" + "".join(f"{_figure(row[name].mean, row[name].error):>22}" for name in names))
            lines.append(
                f"{'gain':>10}" + "".join(f"{_gain(row[name].gain, row[name].deviation):>22}" for name in names)
            )
            lines.append(f"{'in 95%':>10}" + "".join(f"{_share(row[name].coverage):>22}" for name in names))
            lines.append(f"{'careful':>10}" + "".join(f"{_loss(row[name].careful):>22}" for name in names))
            ends = [ends for name in names if (ends := row[name].ends)]
            if ends:
                lines.append(f"{'at optima':>10}" + "".join(f"{f'{better}, {worse}':>22}" for better, worse in ends))
            figures = {name: paper.figure_for(cell) for name, cell in row.items()}
            if any(figures.values()):
                cited = [_figure(figure.loss, figure.error) if (figure := figures[name]) else "" for name in names]
                gains = [_gain(figure.gain, figure.deviation) if (figure := figures[name]) else "" for name in names]
                apart = [
                    f"{paper.distance(row[name], figure):+.1f}" if (figure := figures[name]) else "" for name in names
                ]
                lines.append(f"{'paper':>10}" + "".join(f"{text:>22}" for text in cited))
                lines.append(f"{'gain':>10}" + "".join(f"{text:>22}" for text in gains))
                lines.append(f"{'apart, se':>10}" + "".join(f"{text:>22}" for text in apart))
    return lines


def tune_json(tune: Tune, proved: bool | None) -> dict[str, Any]:
    """The result of a tune: values as played, with 95% intervals, null where a method has none.

    `proved` is the outcome of the closing match, None without one or if it was not decided. `gain` is what the values
    are expected to be worth against the start, in Elo with its 95% interval.
    """
    rows, exact = tune.configuration.parameters, tune.estimate()
    gain = gain_over(tune.settings, tune.state, np.array([row.start for row in rows]))
    return {
        "parameters": [
            {
                "name": row.name,
                "start": row.start,
                "value": row.playable(value),
                "low": _known(low),
                "high": _known(high),
            }
            for row, value, low, high in zip(rows, exact.tolist(), *intervals(tune.settings, tune.state), strict=True)
        ],
        "games": 2 * (len(tune.done) - tune.lost),
        "gain": {"elo": _known(gain.mean), "low": _known(gain.low), "high": _known(gain.high)},
        "proved": proved,
    }


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


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
    return f"{gain:.5f} ({deviation:.5f})"


def _figure(loss: float, error: float) -> str:
    return f"{loss:.5f} +- {error:.5f}"
