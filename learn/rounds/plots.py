"""The picture that all runs in rounds have: Elo by round, and of the best by hour. Needs matplotlib (extra `plots`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from merino.inner.core.common.pictures import GREY
from merino.inner.learn.plots import COLOURS
from merino.inner.learn.rounds.state import LoopState, Round

PROVEN, DROPPED = "#0072b2", "#d55e00"


def draw_elo(figure: Any, state: LoopState[Any, Any], gauges: Mapping[str, str]) -> None:
    """Elo by round of each match, and of the best by hour: `gauges` are opponents by the attributes of a round.

    An Elo without bounds is left out.
    """
    figure.set_size_inches(8, 8)
    by_round, by_hour = figure.subplots(2, 1)
    for proven, colour, label in ((True, PROVEN, "proved: the best from then on"), (False, DROPPED, "dropped")):
        chosen = [found for found in state.rounds if found.is_proven == proven and _is_known(found, "elo")]
        if chosen:
            _points(by_round, [found.number for found in chosen], chosen, "elo", color=colour, fmt="o", label=label)
    by_round.set_title("Elo of each round against the best before it")
    by_round.set_xlabel("round")
    by_round.xaxis.get_major_locator().set_params(integer=True)
    for colour, (name, opponent) in zip(COLOURS, gauges.items(), strict=False):
        places = [place for place, found in enumerate(state.rounds) if _is_known(found, name)]
        measured, hours = [state.rounds[place] for place in places], [state.hours[place] for place in places]
        _points(by_hour, hours, measured, name, color=colour, fmt="o-", label=f"against {opponent}")
    by_hour.set_xlim(left=0)
    by_hour.set_title("Elo of the best, by matches of their own")
    by_hour.set_xlabel(f"hours ({len(state.rounds)} rounds)")
    for axes in (by_round, by_hour):
        axes.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_ylabel("Elo, 95% intervals")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)


def _is_known(found: Round, name: str) -> bool:
    value = getattr(found, name)
    return value is not None and bool(np.isfinite(value))


def _points(axes: Any, places: Sequence[float], chosen: Sequence[Round], name: str, **style: Any) -> None:
    values, errors = ([getattr(found, each) for found in chosen] for each in (name, f"{name}_error"))
    axes.errorbar(places, values, errors, markersize=4, linewidth=1.1, **style)
