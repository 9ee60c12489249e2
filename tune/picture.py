"""The course of a tune as a picture, PNG or SVG; needs matplotlib, the extra `plots`."""

from __future__ import annotations

import numpy as np

from merino.inner.core.common.pictures import load_matplotlib, saved
from merino.inner.tune.estimators import deviations, estimate
from merino.inner.tune.rules import Method
from merino.inner.tune.tuning import Tune, replay

_POINTS = 200
_COLUMNS = 3


def draw(tune: Tune, method: Method, ending: str) -> bytes:
    """A picture's bytes in the format of its ending: each parameter's course in units of c_end, with two deviations.

    Raises CommandError if matplotlib is not installed.
    """
    figure_class, _ = load_matplotlib()
    settings, _, way = replay(tune, method, _POINTS)
    rows = tune.configuration.parameters
    pairs = np.array([number for number, _ in way])
    start, unit = np.array([row.start for row in rows]), settings.c_end
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
    figure.suptitle(f"{method.name}: change in units of c, and two standard deviations", fontsize=11)
    figure.supxlabel("pairs of games", fontsize=9)
    return saved(figure, ending)
