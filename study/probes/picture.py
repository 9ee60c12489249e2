"""The chart of probes: R2 of terms and motifs by net."""

from __future__ import annotations

from collections.abc import Sequence

from merino.inner.core.common.pictures import SETTINGS, load_matplotlib, saved
from merino.inner.study.probes.probe import Probed


def draw(probed: Sequence[Probed], ending: str) -> bytes:
    """The picture's bytes in the format of its ending; raises MerinoError where matplotlib is not installed."""
    figure_class, style = load_matplotlib()
    ordered = sorted(probed, key=lambda each: list(each.r2.values())[-1])
    with style.rc_context(SETTINGS):
        figure = figure_class(figsize=(8, 0.22 * len(ordered) + 1.2), layout="constrained")
        axes = figure.subplots()
        places = range(len(ordered))
        for net in ordered[0].r2:
            axes.plot([each.r2[net] for each in ordered], places, "o", markersize=5, label=net, alpha=0.85)
        axes.set_yticks(places, [f"{each.name}{'' if each.is_term else ' (motif)'}" for each in ordered], fontsize=8)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("R2 of a linear probe of the neurons, on positions kept apart")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, loc="lower right")
        return saved(figure, ending)
