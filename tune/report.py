"""What the tuner prints: the table of the simulator, the plan, the lines of both formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from merino.inner.match.statistics import Z_95
from merino.inner.tune import paper
from merino.inner.tune.estimators import deviations
from merino.inner.tune.simulator import SETTINGS, Cell
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
            "below it the Elo gained, and in brackets the standard deviation of a run",
            *([_TWO_OPTIMA] if first.ends else []),
            "parameters" + "".join(f"{name:>22}" for name in names),
        ]
        for size in dict.fromkeys(cell.parameters for cell in block):
            row = {cell.contender.name: cell for cell in block if cell.parameters == size}
            lines.append(f"{size:>10}" + "".join(f"{_figure(row[name].mean, row[name].error):>22}" for name in names))
            lines.append(
                f"{'gain':>10}" + "".join(f"{_gain(row[name].gain, row[name].deviation):>22}" for name in names)
            )
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

    `proved` is the outcome of the closing match, None without one or if it was not decided.
    """
    rows, spread = tune.configuration.parameters, deviations(tune.settings, tune.state)
    exact = tune.estimate()
    return {
        "parameters": [
            {
                "name": row.name,
                "start": row.start,
                "value": round(value) if row.whole else value,
                "low": None if math.isnan(sd) else max(row.low, value - Z_95 * sd),
                "high": None if math.isnan(sd) else min(row.high, value + Z_95 * sd),
            }
            for row, value, sd in zip(rows, exact.tolist(), spread.tolist(), strict=True)
        ],
        "games": 2 * (len(tune.done) - tune.lost),
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


def _gain(gain: float, deviation: float) -> str:
    return f"{gain:.5f} ({deviation:.5f})"


def _figure(loss: float, error: float) -> str:
    return f"{loss:.5f} +- {error:.5f}"
