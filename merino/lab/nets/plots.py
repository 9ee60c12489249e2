"""Pictures of a net and its training, and of a run of `night`, drawn with matplotlib (the extra `plots`)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common import files, sealed, text
from merino.eval.net import blocks, file
from merino.eval.net.features import Summand
from merino.eval.net.network import Network
from merino.lab.nets.night import NightState, ladder_of
from merino.learn import plots
from merino.learn.request import LearnError

STRONGEST = 6  # neurons to draw
BOARDS = "ALL"  # the block whose features are pieces on squares
LOG_ENDING = ".log"  # of the log of training, behind the name of the net


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
    return {name: picture for name, picture in PICTURES.items() if has[name]}


def strongest(network: Network) -> np.ndarray:
    """The neurons that contribute most, by number: spread of their input weights times their largest output weight."""
    layers, hidden = network.as_floats, network.shape.hidden
    behind = layers["middle"].T if "middle" in layers else layers["values" if network.shape.piece_values else "output"]
    by_neuron = np.abs(behind).reshape(-1, 2, hidden).max(axis=(0, 1))
    return np.argsort(-by_neuron * layers["inputs"].std(axis=0), kind="stable")[:STRONGEST]


def _boards_of(network: Network) -> Summand | None:
    """The features that are pieces on squares, for all squares of the own king or for some; None if there are none."""
    terms = network.shape.feature_set.terms
    return next((term for term in terms if [factor.block for factor in term.moving] == [BOARDS]), None)


def weights_by_square(network: Network) -> np.ndarray:
    """The first layer's weights of pieces on squares by file, rank, role, colour and neuron, as a side sees its board.

    Where they depend on the own king, the mean over the groups of its squares. The net must have such features.
    """
    term, inputs = _boards_of(network), network.as_floats["inputs"]
    assert term is not None
    boards, groups, (factor,) = (
        (len(blocks.FILE), len(blocks.RANK), len(blocks.ROLE), len(blocks.COLOUR)),
        np.unique(term.kings),
        term.moving,
    )
    features = groups[:, None] + factor.stride * np.arange(np.prod(boards))
    return inputs[features].mean(axis=0).reshape(*boards, -1)


def _training(figure: Any, run: NetRun) -> None:
    """Both errors by epoch."""
    lines = []
    for key, label, colour in (
        ("error", "training positions", plots.COLOURS[0]),
        ("apart", "validation games", plots.COLOURS[1]),
    ):
        errors = [row[key] for row in run.epochs]
        lines.append((errors, f"{label}: {errors[-1]:.6f}", colour))
    epochs = [row["epoch"] for row in run.epochs]
    plots.plot_errors(figure, "epoch", epochs, lines, f"Error by epoch: {run.network.shape}").set_yscale("log")


def _neurons(figure: Any, run: NetRun) -> None:
    """The weights of the strongest neurons on the board: a row for each, a board for each piece."""
    inputs = weights_by_square(run.network)
    chosen = strongest(run.network)
    figure.set_size_inches(14, 0.6 + 1.25 * len(chosen))
    panels = figure.subplots(len(chosen), len(blocks.ROLE) * len(blocks.COLOUR), squeeze=False)
    for row, neuron in zip(panels, chosen.tolist(), strict=True):
        weights = inputs[..., neuron]
        limit = float(np.abs(weights).max())
        for place, axes in enumerate(row):
            colour, role = divmod(place, len(blocks.ROLE))
            style = {"cmap": "RdBu", "vmin": -limit, "vmax": limit, "origin": "lower"}
            axes.imshow(weights[:, :, role, colour].T, **style)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.grid(visible=False)
            if axes in panels[0]:
                axes.set_title(f"{blocks.COLOUR.elements[colour]} {blocks.ROLE.elements[role]}", fontsize=8)
        row[0].set_ylabel(f"neuron {neuron}", fontsize=8)
    words = ["Weights by square, as a side sees the board: blue adds to the neuron, red takes away"]
    term = _boards_of(run.network)
    if term is not None and term.moving[0].is_mirrored:
        words.append("the board is mirrored left to right while the own king is on the files e to h")
    if term is not None and (groups := len(np.unique(term.kings))) > 1:
        words.append(f"mean over {groups} groups of squares of the own king")
    figure.suptitle(";\n".join(words))


PICTURES: dict[str, Callable[[Any, NetRun], None]] = {"training": _training, "neurons": _neurons}


def _nets_ladder(figure: Any, state: NightState) -> None:
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
    for place, opponent in enumerate(ladder_of(state)):
        met = [
            (found.number, rung.elo, rung.elo_error if plots.is_finite(rung.elo_error) else np.nan)
            for found in state.rounds
            for rung in found.ladder
            if rung.name == opponent and plots.is_finite(rung.elo)
        ]
        if met:
            style = {
                "color": plots.COLOURS[place % len(plots.COLOURS)],
                "fmt": "o-" if place < len(plots.COLOURS) else "o--",
            }
            axes.errorbar(*zip(*met, strict=True), **style, markersize=4, linewidth=1.1, label=f"against {opponent}")
            axes.legend(frameon=False)
    axes.set_xlim(0.5, max(1, len(state.rounds)) + 0.5)


def _nets_error(figure: Any, state: NightState) -> None:
    """The error on validation games, by generation."""
    numbers, errors = [found.number for found in state.rounds], [found.error for found in state.rounds]
    lines = ((errors, "its own validation games", plots.COLOURS[0]),)
    plots.plot_errors(figure, "generation", numbers, lines, "Error of each net; each generation has its own games")


def _nets_data(figure: Any, state: NightState) -> None:
    """Positions learned from, neurons and nodes a second, by generation."""
    figure.set_size_inches(8, 9)
    numbers = [found.number for found in state.rounds]
    panels = {
        "positions learned from, in millions": [found.positions / 1e6 for found in state.rounds],
        "neurons": [found.neurons for found in state.rounds],
        "nodes a second while playing, in millions": [found.nodes_a_second / 1e6 for found in state.rounds],
    }
    for axes, title, colour in zip(figure.subplots(3, 1), panels, plots.COLOURS, strict=False):
        axes.plot(numbers, panels[title], "o-", color=colour, markersize=4, linewidth=1.1)
        axes.set_title(title)
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("generation")


NIGHT_PICTURES: dict[str, Callable[[Any, NightState], None]] = {
    "elo": partial(plots.draw_elo, gauges={"from_start": "the start", "from_terms": "the terms"}),
    "ladder": _nets_ladder,
    "error": _nets_error,
    "data": _nets_data,
}
