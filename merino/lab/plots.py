"""`merino plot`: pictures of runs of `learn`, `improve` and `night`, and of nets and their training, with matplotlib.

A run of `learn` is drawn from its record, one of `improve` or `night` from its folder. Needs the extra `plots`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merino.app.console import shared
from merino.core.common import command, files, sealed, text
from merino.core.common.text import COLOURS
from merino.eval.linear import phases, weights
from merino.eval.net import blocks, file
from merino.eval.net.features import Summand
from merino.eval.net.network import Network
from merino.lab.nets import night
from merino.learn import judging, procedure
from merino.learn.improve import learner, rounds
from merino.learn.request import LearnError

_MIN_GAP = 0.05  # of the height of a panel, between two labels
PLOT_SETTINGS = text.SETTINGS | {
    "axes.grid": True,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "grid.alpha": 0.25,
}

STRONGEST = 6  # neurons to draw
BOARDS = "ALL"  # the block whose features are pieces on squares
LOG_ENDING = ".log"  # of the log of training, behind the name of the net
FORMATS = tuple(ending.lstrip(".") for ending in text.ENDINGS)
Record = dict[str, Any]
PROVEN, DROPPED = COLOURS[:2]


def draw(record: Any, picture: Callable[[Any, Any], None], ending: str) -> bytes:
    """The bytes of a PNG or SVG of a record; raises PictureError without matplotlib."""
    figure_class, style = text.load_matplotlib()
    with style.rc_context(PLOT_SETTINGS):
        figure = figure_class(layout="constrained")
        picture(figure, record)
        return text.saved(figure, ending)


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
    paths, groups = np.array([step["weights"] for step in record["steps"]]), dict[str, list[Trail]]()
    for index in record["free"]:
        name, group = record["terms"][index]["name"], record["terms"][index]["group"]
        found = groups.setdefault(group, [])
        found.append(Trail(f"{name} {ends[name] + 0.0:g}", paths[:, index], COLOURS[len(found) % len(COLOURS)]))
    _panels(figure, "step", range(len(paths)), groups, 8.5)


class Trail(NamedTuple):
    """The way of a weight in a picture."""

    label: str
    values: np.ndarray
    colour: str
    style: str = "-"


def _panels(
    figure: Any, by: str, numbers: Sequence[int], groups: Mapping[str, Sequence[Trail]], label_size: float
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


def _label_ends(axes: Any, last: int, paths: Sequence[Trail], size: float) -> None:
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


LEARN_PICTURES: dict[str, Callable[[Any, Record], None]] = {"error": _error, "weights": _weights}


def draw_elo(figure: Any, state: rounds.LoopState, gauges: Mapping[str, str]) -> None:
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
    by_hour.set_xlabel(f"hours ({text.counted(len(state.rounds), 'round')})")
    for axes in (by_round, by_hour):
        axes.axhline(0, color=text.GREY, linewidth=0.8, linestyle=":")
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


def _terms_error(figure: Any, state: learner.ImproveState) -> None:
    """The error on validation games before and after learning, by round."""
    lines = (
        ([found.error_before for found in state.rounds], "before learning", text.GREY),
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
    terms, groups = state.plan.terms, dict[str, list[Trail]]()
    pairs = np.array([phases.halves(weights, len(terms)) for weights in best])  # [rounds, phase, terms]
    for index, term in enumerate(terms):
        paths = groups.setdefault(term.group.title, [])
        colour = COLOURS[sum(path.style == "-" for path in paths) % len(COLOURS)]
        is_split = bool((pairs[:, 0, index] != pairs[:, 1, index]).any())
        for phase, style in enumerate(("-", "--") if is_split else ("-",)):
            path = pairs[:, phase, index]
            label = f"{term.name}{phases.SUFFIXES[phase] if is_split else ''} {path[-1] + 0.0:g}"
            paths.append(Trail(label, path, colour, style))
    _panels(figure, "round", numbers, groups, 7.5)


IMPROVE_PICTURES: dict[str, Callable[[Any, learner.ImproveState], None]] = {
    "elo": partial(draw_elo, gauges={"from_start": "the start"}),
    "error": _terms_error,
    "weights": _terms_weights,
}


@dataclass(frozen=True)
class NetRun:
    """A net, and a row of its log for each epoch of its training: `epoch`, `error` and `apart`."""

    path: Path
    network: Network
    epochs: tuple[dict[str, Any], ...]


def load_run(path: Path) -> NetRun:
    """A net with the log next to it, which may be missing; raises EvaluationError and LearnError.

    A log holds all trainings of nets of this name: the last one counts, without epochs that were trained again.
    """
    log, rows = log_of(path), list[dict[str, Any]]()
    with files.faults_named(log, "the log of a training", LearnError):
        for line in files.read_user_text(log, files.STATE).splitlines() if files.is_there(log) else ():
            row = sealed.parsed(line)
            row = {"epoch": int(row["epoch"]), "error": float(row["error"]), "apart": float(row["apart"])}
            while rows and rows[-1]["epoch"] >= row["epoch"]:
                rows.pop()
            rows.append(row)
    return NetRun(path, file.load_net(path), tuple(rows))


def log_of(net: Path) -> Path:
    """The log of the training of a net."""
    return net.with_name(net.name + LOG_ENDING)


def pictures_of(run: NetRun) -> dict[str, Callable[[Any, NetRun], None]]:
    """The pictures that can be drawn of it; raises LearnError if there is none."""
    has = {"training": bool(run.epochs), "neurons": _boards_of(run.network) is not None}
    if not any(has.values()):
        raise LearnError(
            f"there is nothing to draw of '{run.path}': '{log_of(run.path)}', the log of its training, is not there, "
            f"and weights are drawn of nets with the features {BOARDS}"
        )
    return {name: picture for name, picture in NET_PICTURES.items() if has[name]}


def strongest(network: Network) -> np.ndarray:
    """The neurons that contribute most, by number: spread of their input weights times their largest output weight."""
    layers, hidden = network.as_floats, network.shape.hidden
    behind = layers["middle"].T if "middle" in layers else layers["values" if network.shape.piece_values else "output"]
    by_neuron = np.abs(behind).reshape(-1, 2, hidden).max(axis=(0, 1))
    return np.argsort(-by_neuron * layers["inputs"].std(axis=0), kind="stable")[:STRONGEST]


def _boards_of(network: Network) -> Summand | None:
    """The features that are pieces on squares, for all squares of the friendly king or some; None if it has none."""
    terms = network.shape.feature_set.terms
    return next((term for term in terms if [factor.block for factor in term.moving] == [BOARDS]), None)


def weights_by_square(network: Network) -> np.ndarray:
    """The first layer's weights of pieces on squares by file, rank, role, colour and neuron, as a side sees its board.

    Where they depend on the friendly king, the mean over the groups of its squares. The net must have such features.
    """
    term, inputs = _boards_of(network), network.as_floats["inputs"]
    assert term is not None
    boards, groups, (factor,) = (
        (len(blocks.FILE), len(blocks.RANK), len(blocks.ROLE), len(blocks.COLOUR)),
        np.unique(term.kings),
        term.moving,
    )
    return inputs[groups[:, None] + factor.stride * np.arange(np.prod(boards))].mean(axis=0).reshape(*boards, -1)


def _training(figure: Any, run: NetRun) -> None:
    """Both errors by epoch."""
    lines = []
    for key, label, colour in (("error", "training positions", COLOURS[0]), ("apart", "validation games", COLOURS[1])):
        errors = [row[key] for row in run.epochs]
        lines.append((errors, f"{label}: {errors[-1]:.6f}", colour))
    epochs = [row["epoch"] for row in run.epochs]
    plot_errors(figure, "epoch", epochs, lines, f"Error by epoch: {run.network.shape}").set_yscale("log")


def _neurons(figure: Any, run: NetRun) -> None:
    """The weights of the strongest neurons on the board: a row for each, a board for each piece."""
    inputs = weights_by_square(run.network)
    chosen = strongest(run.network)
    figure.set_size_inches(14, 0.6 + 1.25 * len(chosen))
    names = [f"{colour} {role}" for colour in blocks.COLOUR.elements for role in blocks.ROLE.elements]
    for axes, neuron in zip(figure.subplots(len(chosen), squeeze=False).flat, chosen.tolist(), strict=True):
        boards = inputs[..., neuron].transpose(1, 3, 2, 0)  # by rank, colour, role and file, with a gap behind each
        boards = np.pad(boards, ((0, 0), (0, 0), (0, 0), (0, 1)), constant_values=np.nan).reshape(len(boards), -1)
        limit = float(np.nanmax(np.abs(boards)))
        axes.imshow(boards, cmap="RdBu", vmin=-limit, vmax=limit, origin="lower")
        axes.set_xticks(9 * np.arange(len(names)) + 3.5, names, fontsize=8)
        axes.tick_params(length=0, labeltop=bool(neuron == chosen[0]), labelbottom=False)
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.set_ylabel(f"neuron {neuron}", fontsize=8)
    words = ["Weights by square, as a side sees the board: blue adds to the neuron, red takes away"]
    term = _boards_of(run.network)
    if term is not None and term.moving[0].is_mirrored:
        words.append("the board is mirrored left to right while the friendly king is on the files e to h")
    if term is not None and (groups := len(np.unique(term.kings))) > 1:
        words.append(f"mean over {groups} groups of squares of the friendly king")
    figure.suptitle(";\n".join(words))


NET_PICTURES: dict[str, Callable[[Any, NetRun], None]] = {"training": _training, "neurons": _neurons}


def _nets_ladder(figure: Any, state: night.NightState) -> None:
    """Elo of each net that has won against the older nets of the ladder, by generation.

    An Elo without bounds is left out.
    """
    figure.set_size_inches(8, 5)
    axes = figure.subplots()
    axes.axhline(0, color=text.GREY, linewidth=0.8, linestyle=":")
    axes.set_xlabel("generation")
    axes.set_ylabel("Elo, 95% intervals")
    axes.set_title("Elo of the best against older nets, which stay the same")
    axes.xaxis.get_major_locator().set_params(integer=True)
    for place, opponent in enumerate(night.ladder_of(state)):
        met = [
            (found.number, rung.elo, rung.elo_error if is_finite(rung.elo_error) else np.nan)
            for found in state.rounds
            for rung in found.ladder
            if rung.name == opponent and is_finite(rung.elo)
        ]
        if met:
            style = {"color": COLOURS[place % len(COLOURS)], "fmt": "o-" if place < len(COLOURS) else "o--"}
            axes.errorbar(*zip(*met, strict=True), **style, markersize=4, linewidth=1.1, label=f"against {opponent}")
            axes.legend(frameon=False)
    axes.set_xlim(0.5, max(1, len(state.rounds)) + 0.5)


def _nets_error(figure: Any, state: night.NightState) -> None:
    """The error on validation games, by generation."""
    numbers, errors = [found.number for found in state.rounds], [found.error for found in state.rounds]
    lines = ((errors, "its own validation games", COLOURS[0]),)
    plot_errors(figure, "generation", numbers, lines, "Error of each net; each generation has its own games")


def _nets_data(figure: Any, state: night.NightState) -> None:
    """Positions learned from, neurons and nodes a second, by generation."""
    figure.set_size_inches(8, 9)
    numbers = [found.number for found in state.rounds]
    panels = {
        "positions learned from, in millions": [found.positions / 1e6 for found in state.rounds],
        "neurons": [found.neurons for found in state.rounds],
        "nodes a second while playing, in millions": [found.nodes_a_second / 1e6 for found in state.rounds],
    }
    for axes, title, colour in zip(figure.subplots(3, 1), panels, COLOURS, strict=False):
        axes.plot(numbers, panels[title], "o-", color=colour, markersize=4, linewidth=1.1)
        axes.set_title(title)
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("generation")


NIGHT_PICTURES: dict[str, Callable[[Any, night.NightState], None]] = {
    "elo": partial(draw_elo, gauges={"from_start": "the start", "from_terms": "the terms"}),
    "ladder": _nets_ladder,
    "error": _nets_error,
    "data": _nets_data,
}


def run_plot(arguments: Sequence[str]) -> int:
    """Write a file for each picture; raises CommandError."""
    args = _parser().parse_args(arguments)
    path = args.record or weights.active_file().parent / procedure.RECORD_NAME
    if args.record is None and not files.is_there(path):
        raise command.UsageError(f"there is no record of learning in '{path}' yet; run 'merino learn', or name one")
    load: Callable[[Path], Any] = judging.load_record
    pictures: Mapping[str, Callable[[Any, Any], None]] = LEARN_PICTURES
    folder = args.out or (path if files.is_folder(path) else path.parent)
    if files.is_folder(path):
        is_night = files.is_there(night.NightState.place(path))
        kind = night.NightState if is_night else learner.ImproveState
        load, pictures, path = kind.load, NIGHT_PICTURES if is_night else IMPROVE_PICTURES, kind.place(path)
    elif file.is_net_file(path):
        load = load_run
    text.load_matplotlib()
    try:
        record = load(path)
        if isinstance(record, NetRun):
            pictures = pictures_of(record)
        shared.make_folder(folder)
        names = {name: folder / f"{path.stem}-{name}.{args.format}" for name in pictures}
        contents = {names[name]: draw(record, picture, args.format) for name, picture in pictures.items()}
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise command.CommandError(f"the record '{path}' is damaged: {error!r}") from error
    with files.writing(command.CommandError):
        files.write_together(contents)
    print("\n".join(map(str, contents)))
    return 0


def _parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino plot",
        description=f"Draw a run of 'merino learn' ({', '.join(LEARN_PICTURES)}); given its folder, of 'merino "
        f"improve' ({', '.join(IMPROVE_PICTURES)}) or 'merino night' ({', '.join(NIGHT_PICTURES)}); "
        f"or a net ({', '.join(NET_PICTURES)}). One file per picture.",
        examples=(
            "merino plot",
            "merino plot my-folder/learning.json --out pictures --format svg",
            "merino plot my.net",
        ),
    )
    sentence = (
        "the record of a run of 'learn' (default: the last run on the weights in use), the folder of 'improve' "
        "or 'night', or a net"
    )
    parser.add_argument("record", nargs="?", type=shared.file_path, metavar="RECORD", help=sentence)
    add = parser.group(shared.OUTPUT).add_argument
    add("--out", type=shared.file_path, metavar="FOLDER", help="folder of the pictures (default: that of the record)")
    add("--format", choices=FORMATS, default=FORMATS[0], help="kind of picture (default: %(default)s)")
    return parser
