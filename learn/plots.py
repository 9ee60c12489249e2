"""Pictures of a run of `learn`, drawn from its record with matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from merino.inner.core.common.pictures import GREY, SETTINGS, load_matplotlib, saved

INTERVAL = 1.96  # standard errors on each side of a 95% interval
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
_OLD, _NEW = "#999999", "#0072b2"
_MIN_GAP = 0.05  # of the height of a panel, between two labels
PLOT_SETTINGS = SETTINGS | {
    "axes.grid": True,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "grid.alpha": 0.25,
}

Record = dict[str, Any]
Found = TypeVar("Found")  # what a picture is of


def draw(record: Found, picture: Callable[[Any, Found], None], ending: str) -> bytes:
    """A picture of a record, such as one of PICTURES, as `painted` does."""
    return painted(lambda figure: picture(figure, record), ending)


def painted(paint: Callable[[Any], None], ending: str) -> bytes:
    """The bytes of a PNG or SVG of what `paint` draws on a figure; raises PictureError without matplotlib."""
    figure_class, style = load_matplotlib()
    with style.rc_context(PLOT_SETTINGS):
        figure = figure_class(layout="constrained")
        paint(figure)
        return saved(figure, ending)


def plot_errors(
    figure: Any, by: str, numbers: Sequence[int], lines: Iterable[tuple[Sequence[float], str, str]], title: str
) -> Any:
    """Draw errors by step, round or epoch, `numbers`; a line has its errors, label and colour. Returns the axes."""
    figure.set_size_inches(8, 5)
    axes = figure.subplots()
    _draw_errors(axes, by, numbers, lines, title)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return axes


def _draw_errors(
    axes: Any, by: str, where: Sequence[float], lines: Iterable[tuple[Sequence[float], str, str]], title: str
) -> None:
    marker = "o" if len(where) < 40 else None
    for errors, label, colour in lines:
        axes.plot(where, errors, color=colour, marker=marker, markersize=4, label=label)
    axes.set_title(title)
    axes.set_xlabel(by)
    axes.set_ylabel("error")
    axes.legend(frameon=False)


def _error(figure: Any, record: Record) -> None:
    """Both errors by step, and by the seconds that the fit had taken."""
    steps, lines = record["steps"], []
    for name, label, colour in (("train", "training set", COLOURS[0]), ("valid", "validation set", COLOURS[1])):
        end = record["summary"][f"{name}_after"]  # of the rounded weights, as in the report
        lines.append(([step[name] for step in steps], f"{label}: {end:.6f}", colour))
    figure.set_size_inches(8, 8)
    by_step, by_time = figure.subplots(2)
    _draw_errors(by_step, "step", range(len(steps)), lines, f"Error by step ({record['settings']['method']})")
    by_step.xaxis.get_major_locator().set_params(integer=True)
    _draw_errors(by_time, "seconds", [step["seconds"] for step in steps], lines, "Error by time")
    for axes in (by_step, by_time):
        axes.yaxis.set_major_formatter("{x:.4f}")


def _weights(figure: Any, record: Record) -> None:
    """The path of each fitted weight, by group."""
    ends = {line["name"]: line["new"] for line in record["summary"]["weights"]}  # rounded, as in the report
    groups: dict[str, list[int]] = {}
    for index in record["free"]:
        groups.setdefault(record["terms"][index]["group"], []).append(index)
    paths = np.array([step["weights"] for step in record["steps"]])
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    figure.set_size_inches(6.2 * columns, 0.6 + 3.6 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for axes, (group, members) in zip(panels, groups.items(), strict=False):
        names = [record["terms"][index]["name"] for index in members]
        _paths(axes, paths[:, members], [f"{name} {ends[name] + 0.0:g}" for name in names])
        axes.set_title(group)
        axes.set_ylabel("centipawns")
        axes.set_xlabel("step")
    for axes in list(panels):
        axes.set_visible(False)


def _paths(axes: Any, paths: np.ndarray, labels: list[str]) -> None:
    last = len(paths) - 1
    for path, colour in zip(paths.T, COLOURS * len(labels), strict=False):
        axes.plot(path, color=colour, linewidth=1.6, marker="o" if last < 40 else None, markersize=3)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(0, max(1, last))
    low, high = axes.get_ylim()
    for place, index, label, value in spread_out(paths[-1], (high - low) * _MIN_GAP, labels):
        axes.annotate(
            label, (last, value), (1.03, (place - low) / (high - low)), textcoords="axes fraction",
            color=COLOURS[index % len(COLOURS)], fontsize=8.5, va="center", annotation_clip=False,
        )  # fmt: skip


def spread_out(values: np.ndarray, gap: float, labels: list[str]) -> list[tuple[float, int, str, float]]:
    """The labels of the values by ascending value: height, index, text and value; heights are at least `gap` apart."""
    order = np.argsort(values, kind="stable")
    places = values[order].astype(float)
    for _ in range(100):
        for below in range(len(places) - 1):
            overlap = gap - (places[below + 1] - places[below])
            if overlap > 0:
                places[below] -= overlap / 2
                places[below + 1] += overlap / 2
    return [
        (float(place), int(index), labels[index], float(values[index]))
        for place, index in zip(places, order, strict=True)
    ]


def _calibration(figure: Any, record: Record) -> None:
    """Points predicted against points scored on the validation set, before and after."""
    figure.set_size_inches(6.5, 8)
    score, miss = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    score.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    miss.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    for name, colour in (("before", _OLD), ("after", _NEW)):
        bins = record["calibration"][name]
        predicted, scored, error = (np.array([each[key] for each in bins]) for key in ("predicted", "scored", "error"))
        style = {"color": colour, "fmt": "o", "markersize": 4, "linewidth": 1.1, "label": f"{name} learning"}
        score.errorbar(predicted, scored, INTERVAL * error, **style)
        miss.errorbar(predicted, scored - predicted, INTERVAL * error, **style)
    score.set_title("Points scored against points predicted")
    score.set_ylabel("scored by White")
    score.set_xlim(0, 1)
    score.set_ylim(0, 1)
    score.legend(frameon=False, title="validation set; bars: 95% intervals, by game", alignment="left")
    miss.set_ylabel("scored minus predicted")
    miss.set_xlabel("predicted for White")


PICTURES: dict[str, Callable[[Any, Record], None]] = {
    "error": _error,
    "weights": _weights,
    "calibration": _calibration,
}
