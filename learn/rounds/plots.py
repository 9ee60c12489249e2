"""Pictures of runs of `improve` and `night`, drawn from their states with matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from merino.inner.core.common.pictures import GREY
from merino.inner.eval.linear.phases import SUFFIXES, halves
from merino.inner.eval.linear.registry import Group
from merino.inner.learn.improve.state import ImproveState
from merino.inner.learn.night.state import NightState
from merino.inner.learn.plots import COLOURS, plot_errors, spread_out
from merino.inner.learn.rounds.state import LoopState, Round

PROVEN, DROPPED = "#0072b2", "#d55e00"


def _draw_elo(figure: Any, state: LoopState[Any, Any], gauges: Mapping[str, str]) -> None:
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


def _terms_elo(figure: Any, state: ImproveState) -> None:
    """Elo by round, of each match and from the start, and by hour."""
    _draw_elo(figure, state, {"from_start": "the start"})


def _terms_error(figure: Any, state: ImproveState) -> None:
    """The error on validation games before and after learning, by round."""
    lines = (
        ([found.error_before for found in state.rounds], "before learning", GREY),
        ([found.error_after for found in state.rounds], "after learning", PROVEN),
    )
    numbers = [found.number for found in state.rounds]
    plot_errors(figure, "round", numbers, lines, "Error on games kept aside; each round has its own games")


def _terms_weights(figure: Any, state: ImproveState) -> None:
    """The way of each weight of the best, group by group; endgame values are dashed."""
    best, numbers = [np.array(state.weights)], [0]
    for found in state.rounds:
        best.append(np.array(found.weights) if found.is_proven else best[-1])
        numbers.append(found.number)
    terms = state.plan.terms
    pairs = np.array([halves(weights, len(terms)) for weights in best])  # [rounds, phase, terms]
    groups = [group for group in Group if any(term.group is group for term in terms)]
    figure.set_size_inches(12.4, 0.6 + 3.6 * -(-len(groups) // 2))
    panels = list(figure.subplots(-(-len(groups) // 2), 2, squeeze=False).flat)
    for axes, group in zip(panels, groups, strict=False):
        members = [index for index, term in enumerate(terms) if term.group is group]
        _paths(axes, numbers, pairs[:, :, members], [terms[index].name for index in members])
        axes.set_title(group.title)
        axes.set_xlabel("round")
        axes.set_ylabel("centipawns")
    for axes in panels[len(groups) :]:
        axes.set_visible(False)


def _paths(axes: Any, numbers: list[int], pairs: np.ndarray, names: list[str]) -> None:
    is_split = bool((pairs[:, 0] != pairs[:, 1]).any())
    ends, labels = [], []
    for place, name in enumerate(names):
        for phase, style in enumerate(("-", "--") if is_split else ("-",)):
            path = pairs[:, phase, place]
            axes.plot(numbers, path, style, color=COLOURS[place % len(COLOURS)], linewidth=1.4)
            ends.append(path[-1])
            labels.append(f"{name}{SUFFIXES[phase] if is_split else ''} {path[-1]:g}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(0, max(1, numbers[-1]))
    low, high = axes.get_ylim()
    for height, index, label, value in spread_out(np.array(ends), (high - low) * 0.05, labels):
        axes.annotate(
            label, (numbers[-1], value), (1.03, (height - low) / (high - low)), textcoords="axes fraction",
            color=COLOURS[index // (2 if is_split else 1) % len(COLOURS)], fontsize=7.5, va="center",
            annotation_clip=False,
        )  # fmt: skip


IMPROVE_PICTURES: dict[str, Callable[[Any, ImproveState], None]] = {
    "elo": _terms_elo,
    "error": _terms_error,
    "weights": _terms_weights,
}


def _nets_elo(figure: Any, state: NightState) -> None:
    """Elo by generation, of each match, and of the best by hour."""
    _draw_elo(figure, state, {"from_start": "the start", "from_terms": "the terms"})


def _nets_error(figure: Any, state: NightState) -> None:
    """The error on validation games, by generation."""
    lines = (([found.error for found in state.rounds], "its own validation games", COLOURS[0]),)
    numbers = [found.number for found in state.rounds]
    plot_errors(figure, "generation", numbers, lines, "Error of each net; each generation has its own games")


def _nets_data(figure: Any, state: NightState) -> None:
    """Positions learned from, neurons and nodes a second, by generation."""
    figure.set_size_inches(8, 9)
    numbers = [found.number for found in state.rounds]
    panels = (
        ("positions learned from, in millions", [found.positions / 1e6 for found in state.rounds]),
        ("neurons", [found.neurons for found in state.rounds]),
        ("nodes a second while playing, in millions", [found.nodes_a_second / 1e6 for found in state.rounds]),
    )
    for axes, (title, values), colour in zip(figure.subplots(3, 1), panels, COLOURS, strict=False):
        axes.plot(numbers, values, "o-", color=colour, markersize=4, linewidth=1.1)
        axes.set_title(title)
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("generation")


NIGHT_PICTURES: dict[str, Callable[[Any, NightState], None]] = {
    "elo": _nets_elo,
    "error": _nets_error,
    "data": _nets_data,
}
