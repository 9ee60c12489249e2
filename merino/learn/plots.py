"""Pictures of runs of `learn` and `improve`, drawn from their files with matplotlib (the extra `plots`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from merino.core.common.text import GREY, SETTINGS, counted, load_matplotlib, saved
from merino.eval.linear.phases import SUFFIXES, halves
from merino.learn.improve import learner, rounds

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
    paths, groups = np.array([step["weights"] for step in record["steps"]]), dict[str, list[Path]]()
    for index in record["free"]:
        name, group = record["terms"][index]["name"], record["terms"][index]["group"]
        found = groups.setdefault(group, [])
        found.append(Path(f"{name} {ends[name] + 0.0:g}", paths[:, index], COLOURS[len(found) % len(COLOURS)]))
    _panels(figure, "step", range(len(paths)), groups, 8.5)


class Path(NamedTuple):
    """The way of a weight in a picture."""

    label: str
    values: np.ndarray
    colour: str
    style: str = "-"


def _panels(
    figure: Any, by: str, numbers: Sequence[int], groups: Mapping[str, Sequence[Path]], label_size: float
) -> None:
    """A panel for each group of terms, with the ways of its weights by step or round."""
    columns = 2 if len(groups) > 1 else 1
    rows = max(1, -(-len(groups) // columns))  # without a group one that is empty: all weights may have been frozen
    figure.set_size_inches(6.2 * columns, 0.6 + 3.6 * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, (group, paths) in zip(panels, groups.items(), strict=False):
        marker = "o" if by == "step" and len(numbers) <= 40 else None
        for path in paths:
            axes.plot(numbers, path.values, path.style, color=path.colour, linewidth=1.5, marker=marker, markersize=3)
        _label_ends(axes, numbers[-1], paths, label_size)
        axes.set_title(group)
        axes.set_xlabel(by)
        axes.set_ylabel("centipawns")
    for axes in panels[len(groups) :]:
        axes.set_visible(False)


def _label_ends(axes: Any, last: int, paths: Sequence[Path], size: float) -> None:
    """Write the labels next to the ends of lines at `last`, none over another."""
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(0, max(1, last))
    low, high = axes.get_ylim()
    ends = np.array([path.values[-1] for path in paths])
    for place, index in spread_out(ends, (high - low) * _MIN_GAP):
        axes.annotate(
            paths[index].label, (last, ends[index]), (1.03, (place - low) / (high - low)),
            textcoords="axes fraction", color=paths[index].colour, fontsize=size, va="center", annotation_clip=False,
        )  # fmt: skip


def spread_out(values: np.ndarray, gap: float) -> list[tuple[float, int]]:
    """Heights near the values, by ascending value, with their indices; heights are at least `gap` apart."""
    order = np.argsort(values, kind="stable")
    places = values[order].astype(float)
    for _ in range(100):
        for below in range(len(places) - 1):
            overlap = gap - (places[below + 1] - places[below])
            if overlap > 0:
                places[below] -= overlap / 2
                places[below + 1] += overlap / 2
    return list(zip(places.tolist(), order.tolist(), strict=True))


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


def draw_elo(figure: Any, state: rounds.LoopState[Any, Any], gauges: Mapping[str, str]) -> None:
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


def _is_known(found: rounds.Round, name: str) -> bool:
    return is_finite(getattr(found, name))


def is_finite(value: float | None) -> bool:
    """Whether it is a number that can be drawn."""
    return value is not None and bool(np.isfinite(value))


def _points(axes: Any, places: Sequence[float], chosen: Sequence[rounds.Round], name: str, **style: Any) -> None:
    values, errors = ([getattr(found, each) for found in chosen] for each in (name, f"{name}_error"))
    axes.errorbar(places, values, errors, markersize=4, linewidth=1.1, **style)


def _terms_elo(figure: Any, state: learner.ImproveState) -> None:
    """Elo by round, of each match and from the start, and by hour."""
    draw_elo(figure, state, {"from_start": "the start"})


def _terms_error(figure: Any, state: learner.ImproveState) -> None:
    """The error on validation games before and after learning, by round."""
    lines = (
        ([found.error_before for found in state.rounds], "before learning", GREY),
        ([found.error_after for found in state.rounds], "after learning", PROVEN),
    )
    numbers = [found.number for found in state.rounds]
    plot_errors(figure, "round", numbers, lines, "Error on games kept aside; each round has its own games")


def _terms_weights(figure: Any, state: learner.ImproveState) -> None:
    """The way of each weight of the best, group by group; endgame values are dashed."""
    best, numbers = [np.array(state.weights)], [0]
    for found in state.rounds:
        best.append(np.array(found.weights) if found.is_proven else best[-1])
        numbers.append(found.number)
    terms, groups = state.plan.terms, dict[str, list[Path]]()
    pairs = np.array([halves(weights, len(terms)) for weights in best])  # [rounds, phase, terms]
    for index, term in enumerate(terms):
        paths = groups.setdefault(term.group.title, [])
        colour = COLOURS[sum(path.style == "-" for path in paths) % len(COLOURS)]
        is_split = bool((pairs[:, 0, index] != pairs[:, 1, index]).any())
        for phase, style in enumerate(("-", "--") if is_split else ("-",)):
            path = pairs[:, phase, index]
            label = f"{term.name}{SUFFIXES[phase] if is_split else ''} {path[-1] + 0.0:g}"
            paths.append(Path(label, path, colour, style))
    _panels(figure, "round", numbers, groups, 7.5)


IMPROVE_PICTURES: dict[str, Callable[[Any, learner.ImproveState], None]] = {
    "elo": _terms_elo,
    "error": _terms_error,
    "weights": _terms_weights,
}
