"""The course of a game as a picture: expected score and evaluation by move, mistakes marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.common.tables import GREY, SETTINGS, load_matplotlib, saved
from merino.study.annotate.analysis import GRADES, AnnotatedMove

MAX_PAWNS = 10.0  # pawns; evaluations beyond, mates too, are drawn there
_COLOURS = ("#c1121f", "#d55e00", "#c9a400")  # of the grades, the worst first
_LINE = "#0072b2"
_NAMED = 12  # mistakes whose moves are written down, the largest
_NAME_WIDTH = 0.05  # of the width, for the name of a move
_HEIGHT = 6.0  # of the scale of expected scores, for the same
_PERCENT = 0.46  # of that scale, in a point of the picture's height


def draw(title: str, first_ply: int, moves: Sequence[AnnotatedMove], ending: str) -> bytes:
    """The picture's bytes in the format of its ending; raises MerinoError where matplotlib is not installed.

    `first_ply` is the ply number of the first move, 0 for White's first.
    """
    figure_class, style = load_matplotlib()
    with style.rc_context(SETTINGS):
        figure = figure_class(figsize=(10, 6.5), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        at = (first_ply + np.arange(len(moves) + 1)) / 2 + 0.5  # a move is drawn at its number, Black's half on
        _draw_expected(upper, at, moves)
        _draw_evaluation(lower, at, moves)
        upper.set_title(title, loc="left", fontsize=13, fontweight="bold")
        lower.set_xlabel("move")
        lower.set_xlim(at[0], max(at[-1], at[0] + 1))
        return saved(figure, ending)


def _draw_expected(axes: Any, at: np.ndarray, moves: Sequence[AnnotatedMove]) -> None:
    expected = 100 * np.array([moves[0].before.expected, *(annotated.after.expected for annotated in moves)])
    axes.fill_between(at, 50, expected, color=_LINE, alpha=0.15, linewidth=0)
    axes.plot(at, expected, color=_LINE, linewidth=1.6)
    axes.axhline(50, color=GREY, linewidth=0.8, linestyle=":")
    for grade, colour in zip(GRADES, _COLOURS, strict=True):
        of_grade = [index for index, annotated in enumerate(moves, start=1) if annotated.grade is grade]
        label = f"{grade.name} {grade.sign}, at least {grade.least_loss:.0%} lost"
        axes.scatter(at[of_grade], expected[of_grade], 42, color=colour, edgecolor="white", zorder=3, label=label)
    for index in _named(at, expected, moves):
        annotated = moves[index - 1]
        name = f"{annotated.san}{annotated.grade.sign if annotated.grade else ''}"
        place = {"xytext": (0, _shift(annotated)), "textcoords": "offset points", "ha": "center", "fontsize": 8.5}
        paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}  # the curve may run behind
        axes.annotate(name, (at[index], expected[index]), bbox=paper, **place)
    axes.set_ylim(-8, 108)
    axes.set_yticks(range(0, 101, 25))
    axes.set_ylabel("expected score of White, %")
    axes.grid(alpha=0.25)
    axes.legend(loc="best", frameon=False, fontsize=9)


def _shift(annotated: AnnotatedMove) -> int:
    """The distance of a move's name above its point, in points: White's mistakes lead down, Black's up."""
    return -14 if annotated.turn == WHITE else 9


def _named(at: np.ndarray, expected: np.ndarray, moves: Sequence[AnnotatedMove]) -> list[int]:
    """The plies, from 1, whose mistakes get a label: the largest ones, without overlaps."""
    name_width = (at[-1] - at[0]) * _NAME_WIDTH
    named: list[int] = []
    graded = [index for index, annotated in enumerate(moves, start=1) if annotated.grade]
    height = {index: expected[index] + _shift(moves[index - 1]) * _PERCENT for index in graded}
    for index in sorted(graded, key=lambda index: -moves[index - 1].loss):
        near = [other for other in named if abs(at[index] - at[other]) < name_width]
        if len(named) < _NAMED and all(abs(height[index] - height[other]) >= _HEIGHT for other in near):
            named.append(index)
    return named


def _draw_evaluation(axes: Any, at: np.ndarray, moves: Sequence[AnnotatedMove]) -> None:
    verdicts = [moves[0].before, *(annotated.after for annotated in moves)]
    pawns = np.array([(1 if verdict.turn == WHITE else -1) * verdict.score / 100 for verdict in verdicts])
    pawns = np.clip(pawns, -MAX_PAWNS, MAX_PAWNS)
    axes.fill_between(at, 0, pawns, color=GREY, alpha=0.2, linewidth=0)
    axes.plot(at, pawns, color=GREY, linewidth=1.3)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_ylabel(f"evaluation, pawns\n(cut at {MAX_PAWNS:g})")
    widest = max(2.0, float(np.abs(pawns).max()) * 1.1)
    axes.set_ylim(-widest, widest)
    axes.grid(alpha=0.25)
