"""The score graph, and the values by step, as pictures, PNG or SVG; they need matplotlib, the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merino.core.common.tables import GREY, SETTINGS, load_matplotlib, saved
from merino.lab.points.values import MAX_BALANCE, OTHER_ALPHAS, PointValues, ScoreGraph, logistic
from merino.lab.points.vectors import PIECE_NAMES
from merino.match.statistics import wilson_interval

MAX_SETS = 6  # curves that can still be distinguished
MIN_VECTORS = 30  # behind a point where several sets share the picture
# Distinguishable for the colour-blind too.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_DASHES = ("--", "-.", ":")
_MIN_COUNT = 0.8  # where the axis of vectors begins: one is to be seen
_MIN_POINT, _MAX_POINT = 10.0, 130.0  # areas in square points


def draw(sets: Sequence[PointValues], ending: str, alphas: Sequence[float] = OTHER_ALPHAS) -> bytes:
    """The picture's bytes in the format of its ending; raises MerinoError where matplotlib is not installed.

    One set shows each mean score with its 95% interval, and beside its curve those of `alphas`. Of several, points
    with few vectors are left out.
    """
    figure_class, style = load_matplotlib()
    with style.rc_context(SETTINGS):
        figure = figure_class(figsize=(9, 7), layout="constrained")
        scores, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        alone = len(sets) == 1
        for alpha, dashes in zip(alphas if alone else (), _DASHES * len(alphas), strict=False):
            line = np.linspace(-MAX_BALANCE, MAX_BALANCE, 401)
            look = {"color": GREY, "linewidth": 1.1, "linestyle": dashes, "zorder": 1}
            scores.plot(line, logistic(alpha, line), label=f"for comparison: alpha {alpha:g}", **look)
        for points, colour in zip(sets, _COLOURS, strict=False):
            _draw_scores(scores, points, colour, alone)
            floor = _MIN_COUNT if alone else None  # the outline of several, down to it, would cross itself
            counts.stairs(points.graph.counts, _edges(), color=colour, fill=alone, linewidth=1.3, baseline=floor)
        _dress_scores(scores, alone)
        _dress_counts(counts)
        return saved(figure, ending)


def draw_steps(sets: Sequence[PointValues], ending: str) -> bytes:
    """The values by step of gradient descent, a panel for each set, as bytes like those of `draw`."""
    figure_class, style = load_matplotlib()
    with style.rc_context(SETTINGS):
        figure = figure_class(figsize=(9, 0.8 + 4.4 * len(sets)), layout="constrained")
        panels = figure.subplots(len(sets), 1, squeeze=False).flat
        for axes, points in zip(panels, sets, strict=True):
            _draw_way(axes, points)
        return saved(figure, ending)


def _draw_way(axes: Any, points: PointValues) -> None:
    """One panel: a line for each piece, and dotted where it ends by the exact fit."""
    way = points.descent
    assert way is not None
    for name, values, colour, best in zip(PIECE_NAMES, way.values.T, _COLOURS, points.values, strict=False):
        label = f"{name} {'-' if np.isnan(best) else f'{best:.0f}'}"
        axes.plot(way.steps, values, color=colour, linewidth=1.8, label=label)
        axes.axhline(best, color=colour, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(1, way.steps[-1])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(f"{points.label}: the values as they converge", loc="left", fontsize=13, fontweight="bold")
    axes.set_ylabel("centipawns, a pawn being 100")
    axes.set_xlabel("step of gradient descent")
    axes.grid(alpha=0.25)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, title="best values", alignment="left")


def score_intervals(graph: ScoreGraph) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the 95% interval of each mean score, float64[41] each, as though no two vectors shared a game.

    They are not empty where every game was won.
    """
    return wilson_interval(np.nan_to_num(graph.scores), np.maximum(graph.counts, 1))


def _draw_scores(axes: Any, points: PointValues, colour: str, alone: bool) -> None:
    graph = points.graph
    line = np.linspace(-MAX_BALANCE, MAX_BALANCE, 401)
    label = f"{points.label}: alpha {graph.alpha:.3f}"
    axes.plot(line, graph.expected(line), color=colour, linewidth=1.8, alpha=0.85, label=label, zorder=2)
    shown = graph.counts >= (1 if alone else MIN_VECTORS)
    at, scores = graph.balances[shown], graph.scores[shown]
    if alone:
        low, high = (end[shown] for end in score_intervals(graph))
        axes.vlines(at, low, high, color=colour, linewidth=1.1, alpha=0.6, zorder=1)
    share = np.log1p(graph.counts[shown]) / np.log1p(max(graph.counts.max(), 2))
    area = _MIN_POINT + (_MAX_POINT - _MIN_POINT) * share**3
    axes.scatter(at, scores, area, color=colour, edgecolor="white", linewidth=0.7, zorder=3)


def _dress_scores(axes: Any, alone: bool) -> None:
    """Words, and lines to read values from."""
    axes.set_title("Mean score of White by balance of material", loc="left", fontsize=13, fontweight="bold")
    axes.set_ylabel("score of White")
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks(np.arange(0, 1.01, 0.1))
    axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    axes.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", frameon=False, title="score = 1 / (1 + exp(-alpha * balance))", alignment="left")
    what = "bars: 95%, as if no two vectors shared a game" if alone else f"only those of {MIN_VECTORS} vectors or more"
    note = f"points: mean scores, a drawn game as half,\nlarger for more vectors;\n{what}"
    place = {"xy": (0.99, 0.04), "xycoords": "axes fraction", "ha": "right", "va": "bottom"}
    axes.annotate(note, color=GREY, fontsize=9, **place)


def _dress_counts(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_ylim(bottom=_MIN_COUNT)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("vectors")
    axes.set_xlabel("balance for White: pawn 1, knight and bishop 3, rook 5, queen 9")
    axes.set_xlim(-MAX_BALANCE - 0.8, MAX_BALANCE + 0.8)
    axes.set_xticks(range(-MAX_BALANCE, MAX_BALANCE + 1, 2))
    axes.grid(axis="y", alpha=0.25)


def _edges() -> np.ndarray:
    """Between the balances, so that each has its step."""
    return np.arange(-MAX_BALANCE, MAX_BALANCE + 2) - 0.5
