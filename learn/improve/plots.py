"""Pictures of a run of `improve`, drawn from its state with matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merino.inner.core.common.pictures import GREY
from merino.inner.eval.linear.phases import SUFFIXES, halves
from merino.inner.eval.linear.registry import Group
from merino.inner.learn.improve.state import ImproveState
from merino.inner.learn.plots import COLOURS, plot_errors, spread_out
from merino.inner.learn.rounds.plots import PROVEN, draw_elo


def _elo(figure: Any, state: ImproveState) -> None:
    """Elo by round, of each match and from the start, and by hour."""
    draw_elo(figure, state, {"from_start": "the start"})


def _error(figure: Any, state: ImproveState) -> None:
    """The error on validation games before and after learning, by round."""
    lines = (
        ([found.error_before for found in state.rounds], "before learning", GREY),
        ([found.error_after for found in state.rounds], "after learning", PROVEN),
    )
    numbers = [found.number for found in state.rounds]
    plot_errors(figure, "round", numbers, lines, "Error on games kept aside; each round has its own games")


def _weights(figure: Any, state: ImproveState) -> None:
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


PICTURES: dict[str, Callable[[Any, ImproveState], None]] = {"elo": _elo, "error": _error, "weights": _weights}
