"""What the tuner prints: the table of the simulator, the plan, the lines of both formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tune import paper
from tune.simulator import SETTINGS, Cell


def simulation_table(cells: Sequence[Cell]) -> list[str]:
    """Methods side by side, a block for each setting, a row for each number of parameters; losses in Elo."""
    lines: list[str] = []
    for setting in dict.fromkeys(cell.setting for cell in cells):
        block = [cell for cell in cells if cell.setting == setting]
        first = block[0]
        methods = list(dict.fromkeys(cell.method for cell in block))
        lines += [
            *([""] if lines else []),
            f"{setting}: {SETTINGS[setting].sentence}",
            f"Elo still lost after {first.pairs} pairs, mean of {len(first.losses)} runs and its standard error",
            "parameters" + "".join(f"{method.name.lower():>22}" for method in methods),
        ]
        for size in dict.fromkeys(cell.parameters for cell in block):
            row = {cell.method: cell for cell in block if cell.parameters == size}
            lines.append(f"{size:>10}" + "".join(f"{_figure(row[m].mean, row[m].error):>22}" for m in methods))
            figures = {method: paper.figure_for(cell) for method, cell in row.items()}
            if any(figures.values()):
                cited = [_figure(*figure) if (figure := figures[m]) else "" for m in methods]
                apart = [f"{paper.distance(row[m], figure):+.1f}" if (figure := figures[m]) else "" for m in methods]
                lines.append(f"{'paper':>10}" + "".join(f"{text:>22}" for text in cited))
                lines.append(f"{'apart, se':>10}" + "".join(f"{text:>22}" for text in apart))
    return lines


def simulation_json(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """An object for each cell."""
    return [_cell_json(cell) for cell in cells]


def _cell_json(cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {
        "method": cell.method.name.lower(),
        "setting": cell.setting,
        "parameters": cell.parameters,
        "pairs": cell.pairs,
        "runs": len(cell.losses),
        "mean_loss_elo": cell.mean,
        "standard_error": cell.error,
    }
    figure = paper.figure_for(cell)
    if figure:
        found |= {"paper_mean_loss_elo": round(figure.loss, 6), "paper_standard_error": round(figure.error, 6)}
    return found


def _figure(loss: float, error: float) -> str:
    return f"{loss:.5f} +- {error:.5f}"
