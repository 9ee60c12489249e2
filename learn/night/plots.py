"""Pictures of a run of `night`, drawn from its state with matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from merino.inner.learn.night.state import NightState
from merino.inner.learn.plots import COLOURS, plot_errors
from merino.inner.learn.rounds.plots import draw_elo


def _elo(figure: Any, state: NightState) -> None:
    """Elo by generation, of each match, and of the best by hour."""
    draw_elo(figure, state, {"from_start": "the start", "from_terms": "the terms"})


def _error(figure: Any, state: NightState) -> None:
    """The error on validation games, by generation."""
    lines = (([found.error for found in state.rounds], "its own validation games", COLOURS[0]),)
    numbers = [found.number for found in state.rounds]
    plot_errors(figure, "generation", numbers, lines, "Error of each net; each generation has its own games")


def _data(figure: Any, state: NightState) -> None:
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


PICTURES: dict[str, Callable[[Any, NightState], None]] = {"elo": _elo, "error": _error, "data": _data}
