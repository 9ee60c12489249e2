"""The chart of probes: R2 of terms and motifs by net, the controls beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merino.inner.core.common.pictures import SETTINGS, load_matplotlib, saved
from merino.inner.study.probes.probe import Probed

_BRIGHT = 0.5  # R2 from which the colour is so dark that white is read better on it


def draw(probed: Sequence[Probed], ending: str) -> bytes:
    """The picture's bytes in the format of its ending; raises MerinoError where matplotlib is not installed.

    Each row is a term or motif, in the order given, each column a net or, apart from them, a control.
    """
    figure_class, style = load_matplotlib()
    rows = [each for is_term in (True, False) for each in probed if each.is_term == is_term]
    controls = [[each.chance, each.board] for each in rows]
    nets = list(rows[0].r2)
    with style.rc_context(SETTINGS | {"svg.fonttype": "none", "font.size": 8}):
        size = (2.6 + 0.42 * (len(nets) + 2), 0.19 * len(rows) + 1.3)
        figure = figure_class(figsize=size, layout="constrained")
        panels = figure.subplots(1, 2, sharey=True, width_ratios=[len(nets), 2])
        for axes, values, names in (
            (panels[0], [list(each.r2.values()) for each in rows], nets),
            (panels[1], controls, ["chance", "board"]),
        ):
            _fill(axes, np.array(values), names)
        panels[0].set_yticks(range(len(rows)), [f"{each.name}{'' if each.is_term else ' (motif)'}" for each in rows])
        panels[1].tick_params(left=False)
        figure.suptitle("R2 of linear probes in hundredths, on positions kept apart", fontsize=9)
        return saved(figure, ending)


def _fill(axes: Any, values: np.ndarray, names: Sequence[str]) -> None:
    """Draw the cells of R2, each with its number of hundredths."""
    axes.imshow(values, cmap="Blues", vmin=0, vmax=0.8, aspect="auto")
    axes.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 6 else 0)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.spines[:].set_visible(False)
    for (row, column), r2 in np.ndenumerate(values):
        colour = "white" if r2 >= _BRIGHT else "black"
        axes.text(column, row, f"{100 * r2:.0f}", ha="center", va="center", color=colour, fontsize=7)
