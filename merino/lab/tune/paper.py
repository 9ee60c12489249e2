"""The table of the paper: mean gain in Elo and its standard deviation over 50 runs, by method and parameters."""

from __future__ import annotations

from typing import NamedTuple

from merino.lab.tune.curves import TOTAL_ELO
from merino.lab.tune.plan import REACH
from merino.lab.tune.simulator import Cell

RUNS, PAIRS, SETTING = 50, 200_000, "S0"
_GAINS = {
    "spsa": {1: (1.99944, 0.00071), 4: (1.9929, 0.0044), 16: (1.9048, 0.0331), 64: (1.2616, 0.1159)},
    "bspsas": {1: (1.99970, 0.00042), 4: (1.9951, 0.0035), 16: (1.9333, 0.0256), 64: (1.2525, 0.1093)},
    "bspsa": {1: (1.99968, 0.00044), 4: (1.9953, 0.0033), 16: (1.9303, 0.0243), 64: (1.2683, 0.1054)},
}
SIZES = tuple(_GAINS["spsa"])


class Figure(NamedTuple):
    """A cell of the paper: the mean gain in Elo, and its standard deviation over the runs."""

    gain: float
    deviation: float

    @property
    def loss(self) -> float:
        """The Elo still lost."""
        return TOTAL_ELO - self.gain

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / RUNS**0.5


def figure_for(cell: Cell) -> Figure | None:
    """The paper's figure for this cell, or None."""
    method = cell.contender.method.name
    contender = cell.contender
    if (cell.setting, cell.pairs, contender.reach, contender.second, cell.ahead) != (SETTING, PAIRS, REACH, 0, 1):
        return None
    if cell.parameters not in _GAINS.get(method, {}):
        return None
    return Figure(*_GAINS[method][cell.parameters])


def distance(cell: Cell, figure: Figure) -> float:
    """How far the cell is above the paper's, in standard errors of the difference."""
    return (cell.mean - figure.loss) / (cell.error**2 + figure.error**2) ** 0.5
