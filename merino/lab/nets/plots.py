"""Pictures of a net and its training, and of a run of `night`, drawn with matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.files import STATE, is_there, read_user_text
from merino.core.common.sealed import parsed
from merino.core.common.text import GREY, counted
from merino.eval.net.blocks import COLOUR, FILE, MAX_MOVES, RANK, ROLE
from merino.eval.net.features import Summand
from merino.eval.net.file import load_net
from merino.eval.net.network import Network
from merino.lab.nets.night import NightState, ladder_of
from merino.learn.errors import LearnError
from merino.learn.plots import COLOURS, draw_elo, is_finite, painted, plot_errors

STRONGEST = 6  # neurons to draw
MOBILITY = "MC"  # the block that counts the squares pieces of a kind can move to
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
    log = log_of(path)
    rows: list[dict[str, Any]] = []
    if is_there(log):
        try:
            for row in map(_epoch, read_user_text(log, STATE).splitlines()):
                while rows and rows[-1]["epoch"] >= row["epoch"]:
                    rows.pop()
                rows.append(row)
        except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
            reason = error if isinstance(error, OSError | ValueError) else repr(error)
            raise LearnError(f"'{log}' is not the log of a training: {reason}") from error
    return NetRun(path, load_net(path), tuple(rows))


def _epoch(line: str) -> dict[str, Any]:
    """A row of a log; raises ValueError, LookupError, TypeError or OverflowError."""
    row = parsed(line)
    return {"epoch": int(row["epoch"]), "error": float(row["error"]), "apart": float(row["apart"])}


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
    boards, groups, (factor,) = (len(FILE), len(RANK), len(ROLE), len(COLOUR)), np.unique(term.kings), term.moving
    features = groups[:, None] + factor.stride * np.arange(np.prod(boards))
    return inputs[features].mean(axis=0).reshape(*boards, -1)


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
    panels = figure.subplots(len(chosen), len(ROLE) * len(COLOUR), squeeze=False)
    for row, neuron in zip(panels, chosen.tolist(), strict=True):
        weights = inputs[..., neuron]
        limit = float(np.abs(weights).max())
        for place, axes in enumerate(row):
            colour, role = divmod(place, len(ROLE))
            style = {"cmap": "RdBu", "vmin": -limit, "vmax": limit, "origin": "lower"}
            axes.imshow(weights[:, :, role, colour].T, **style)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.grid(visible=False)
            if axes in panels[0]:
                axes.set_title(f"{COLOUR.elements[colour]} {ROLE.elements[role]}", fontsize=8)
        row[0].set_ylabel(f"neuron {neuron}", fontsize=8)
    words = ["Weights by square, as a side sees the board: blue adds to the neuron, red takes away"]
    term = _boards_of(run.network)
    if term is not None and term.moving[0].is_mirrored:
        words.append("the board is mirrored left to right while the own king is on the files e to h")
    if term is not None and (groups := len(np.unique(term.kings))) > 1:
        words.append(f"mean over {groups} groups of squares of the own king")
    figure.suptitle(";\n".join(words))


def draw_mobility(often: np.ndarray, ending: str) -> bytes:
    """How many squares the pieces of a kind can move to, a histogram for each kind, as the bytes of a PNG or SVG.

    `often`, int64[features], counts the features of the block MOBILITY. Raises PictureError without matplotlib.
    """
    return painted(lambda figure: _mobility(figure, often), ending)


def _mobility(figure: Any, often: np.ndarray) -> None:
    figure.set_size_inches(10, 6)
    first = 0
    for axes, role, most in zip(figure.subplots(2, 3).flat, ROLE.elements, MAX_MOVES, strict=True):
        counts = often[first : first + most + 1]  # of own pieces; both sides' views are counted
        first += len(COLOUR) * (most + 1)
        axes.bar(np.arange(most + 1), counts / max(1, counts.sum()), color=COLOURS[0])
        mean = float(counts @ np.arange(most + 1)) / max(1, int(counts.sum()))
        axes.set_title(f"{role}, mean {mean:.1f}")
        axes.set_xlabel("squares that its pieces can move to")
        axes.set_ylabel("share of positions")


PICTURES: dict[str, Callable[[Any, NetRun], None]] = {"training": _training, "neurons": _neurons}


def _nets_ladder(figure: Any, state: NightState) -> None:
    """Elo of each net that has won against the older nets of the ladder, by generation and by hour.

    An Elo without bounds is left out.
    """
    figure.set_size_inches(8, 8)
    panels = figure.subplots(2, 1)
    for axes, name in zip(panels, ("generation", f"hours ({counted(len(state.rounds), 'generation')})"), strict=True):
        axes.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_xlabel(name)
        axes.set_ylabel("Elo, 95% intervals")
    panels[0].set_title("Elo of the best against older nets, which stay the same")
    panels[0].xaxis.get_major_locator().set_params(integer=True)
    for place, opponent in enumerate(ladder_of(state)):
        colour, style = COLOURS[place % len(COLOURS)], "o-" if place < len(COLOURS) else "o--"
        met = [
            (found.number, hours, rung.elo, rung.elo_error if is_finite(rung.elo_error) else np.nan)
            for found, hours in zip(state.rounds, state.hours, strict=True)
            for rung in found.ladder
            if rung.name == opponent and is_finite(rung.elo)
        ]
        if met:
            numbers, hours, elos, errors = zip(*met, strict=True)
            for axes, places in zip(panels, (numbers, hours), strict=True):
                axes.errorbar(
                    places, elos, errors, color=colour, fmt=style, markersize=4, linewidth=1.1,
                    label=f"against {opponent}",
                )  # fmt: skip
            panels[0].legend(frameon=False)
    panels[0].set_xlim(0.5, max(1, len(state.rounds)) + 0.5)
    panels[1].set_xlim(left=0)


def _nets_error(figure: Any, state: NightState) -> None:
    """The error on validation games, by generation."""
    numbers, errors = [found.number for found in state.rounds], [found.error for found in state.rounds]
    lines = ((errors, "its own validation games", COLOURS[0]),)
    plot_errors(figure, "generation", numbers, lines, "Error of each net; each generation has its own games")


def _nets_data(figure: Any, state: NightState) -> None:
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


NIGHT_PICTURES: dict[str, Callable[[Any, NightState], None]] = {
    "elo": partial(draw_elo, gauges={"from_start": "the start", "from_terms": "the terms"}),
    "ladder": _nets_ladder,
    "error": _nets_error,
    "data": _nets_data,
}
