"""Pictures of runs of `learn` and `improve`, drawn from their files with matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from merino.core.common.text import GREY, SETTINGS, counted, load_matplotlib, saved
from merino.eval.linear.phases import SUFFIXES, halves
from merino.eval.linear.registry import Group
from merino.learn.improve.learner import ImproveState
from merino.learn.improve.rounds import LoopState, Round

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
PROVEN, DROPPED = "#0072b2", "#d55e00"


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
    columns = 2 if len(groups) > 1 else 1
    rows = max(1, -(-len(groups) // columns))  # without a group, one that is empty: all terms may have been left out
    figure.set_size_inches(6.2 * columns, 0.6 + 3.6 * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, (group, members) in zip(panels, groups.items(), strict=False):
        names = [record["terms"][index]["name"] for index in members]
        _paths(axes, paths[:, members], [f"{name} {ends[name] + 0.0:g}" for name in names])
        axes.set_title(group)
        axes.set_ylabel("centipawns")
        axes.set_xlabel("step")
    for axes in panels[len(groups) :]:
        axes.set_visible(False)


def _paths(axes: Any, paths: np.ndarray, labels: list[str]) -> None:
    last = len(paths) - 1
    colours = COLOURS * len(labels)
    for path, colour in zip(paths.T, colours, strict=False):
        axes.plot(path, color=colour, linewidth=1.6, marker="o" if last < 40 else None, markersize=3)
    _label_ends(axes, last, paths[-1], labels, colours, 8.5)


def _label_ends(axes: Any, last: int, ends: np.ndarray, labels: list[str], colours: Sequence[str], size: float) -> None:
    """Write the labels next to the ends of lines at `last`, none over another."""
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(0, max(1, last))
    low, high = axes.get_ylim()
    for place, index, label, value in spread_out(ends, (high - low) * _MIN_GAP, labels):
        axes.annotate(
            label, (last, value), (1.03, (place - low) / (high - low)), textcoords="axes fraction",
            color=colours[index], fontsize=size, va="center", annotation_clip=False,
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


CALIBRATION = "calibration"  # the picture that a record need not have, and the key of what it draws
PICTURES: dict[str, Callable[[Any, Record], None]] = {
    "error": _error,
    "weights": _weights,
    CALIBRATION: _calibration,
}


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
    by_hour.set_xlabel(f"hours ({counted(len(state.rounds), 'round')})")
    for axes in (by_round, by_hour):
        axes.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_ylabel("Elo, 95% intervals")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)


def _is_known(found: Round, name: str) -> bool:
    return is_finite(getattr(found, name))


def is_finite(value: float | None) -> bool:
    """Whether it is a number that can be drawn."""
    return value is not None and bool(np.isfinite(value))


def _points(axes: Any, places: Sequence[float], chosen: Sequence[Round], name: str, **style: Any) -> None:
    values, errors = ([getattr(found, each) for found in chosen] for each in (name, f"{name}_error"))
    axes.errorbar(places, values, errors, markersize=4, linewidth=1.1, **style)


def _terms_elo(figure: Any, state: ImproveState) -> None:
    """Elo by round, of each match and from the start, and by hour."""
    draw_elo(figure, state, {"from_start": "the start"})


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
        _paths_of_weights(axes, numbers, pairs[:, :, members], [terms[index].name for index in members])
        axes.set_title(group.title)
        axes.set_xlabel("round")
        axes.set_ylabel("centipawns")
    for axes in panels[len(groups) :]:
        axes.set_visible(False)


def _paths_of_weights(axes: Any, numbers: list[int], pairs: np.ndarray, names: list[str]) -> None:
    is_split = bool((pairs[:, 0] != pairs[:, 1]).any())
    ends, labels, colours = [], [], []
    for name, paths, colour in zip(names, np.moveaxis(pairs, 2, 0), COLOURS * len(names), strict=False):
        for phase, style in enumerate(("-", "--") if is_split else ("-",)):
            path = paths[:, phase]
            axes.plot(numbers, path, style, color=colour, linewidth=1.4)
            ends.append(path[-1])
            labels.append(f"{name}{SUFFIXES[phase] if is_split else ''} {path[-1] + 0.0:g}")
            colours.append(colour)
    _label_ends(axes, numbers[-1], np.array(ends), labels, colours, 7.5)


IMPROVE_PICTURES: dict[str, Callable[[Any, ImproveState], None]] = {
    "elo": _terms_elo,
    "error": _terms_error,
    "weights": _terms_weights,
}
