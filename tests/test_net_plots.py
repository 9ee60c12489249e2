"""Pictures of nets and of their training."""

import json
from collections.abc import Iterable
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.core.common.errors import MerinoError
from merino.eval.net import file, network
from merino.lab import plots
from merino.lab.nets import quantising, starting
from merino.lab.plots import run_plot
from tests.boards import records


def save(path: Path, shape: network.Shape) -> Path:
    file.save_net(quantising.quantised(shape, starting.random_layers(shape, 1), 200.0, {}), path)
    return path


def write_log(net: Path, errors: Iterable[tuple[int, float]]) -> None:
    rows = [{"epoch": epoch, "error": error, "apart": error} for epoch, error in errors]
    plots.log_of(net).write_text("".join(json.dumps(row) + "\n" for row in rows))


SHAPES = [network.Shape("H+V", 8), network.Shape("MIRRORED(KING8*ALL)", 8), network.Shape("ALL", 8, 4)]
SHAPES.append(network.Shape("ALL", 8, piece_values=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_training_and_neurons_of_a_net_are_drawn(shape: network.Shape, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    net = save(tmp_path / "my.net", shape)
    neurons = {"neurons"} if "ALL" in shape.features else set()
    if neurons:
        assert set(plots.pictures_of(plots.load_run(net))) == neurons
    else:
        with pytest.raises(MerinoError, match=r"nothing to draw of '.*my\.net'"):
            run_plot([str(net)])
    write_log(net, [(1, 0.02), (2, 0.01), (3, 0.01)])
    assert run_plot([str(net), "--format", "svg"]) == 0
    assert {path.stem for path in tmp_path.glob("*.svg")} == {f"my-{name}" for name in {"training", *neurons}}
    assert all(path.read_bytes().lstrip().startswith(b"<?xml") for path in tmp_path.glob("*.svg"))


@pytest.mark.parametrize("name", ["ALL", "MIRRORED(ALL)", "KING8*ALL", "MIRRORED(ALL*KING8)"])
def test_weights_by_square_are_those_of_the_pieces_seen_there(name: str) -> None:
    shape, rows = network.Shape(name, 2), set[int]()
    for king in set(chess.SQUARES) - {chess.A8, chess.A7, chess.B8, chess.B7, chess.G7}:
        is_flipped = "MIRRORED" in name and chess.square_file(king) > 3
        pieces = {king: chess.Piece.from_symbol("K"), chess.A8: chess.Piece.from_symbol("k")}
        rook = {chess.G7 if is_flipped else chess.B7: chess.Piece.from_symbol("r")}
        boards = [chess.Board(None), chess.Board(None)]
        for board, men in zip(boards, (pieces, pieces | rook), strict=True):
            board.set_piece_map(men)
        (without, _), (with_rook, _) = shape.feature_set.active(records(boards))
        rows |= set(with_rook.tolist()) - set(without.tolist())
    layers = {layer: np.zeros(size) for layer, size in shape.layers().items()}
    layers["inputs"][sorted(rows), 1] = 0.5
    found = plots.weights_by_square(quantising.quantised(shape, layers, 200.0, {}))
    assert found[1, 6, 3, 1, 1] == 0.5 and found.sum() == 0.5  # file b, rank 7, a rook of the other side


def test_the_picture_of_neurons_says_what_board_it_shows() -> None:
    titles = {}
    for name in ("ALL", "MIRRORED(ALL)", "MIRRORED(KING8*ALL)"):
        net = quantising.quantised(shape := network.Shape(name, 2), starting.random_layers(shape, 1), 200.0, {})
        figure = pytest.importorskip("matplotlib.figure").Figure()
        plots.NET_PICTURES["neurons"](figure, plots.NetRun(Path("my.net"), net, ()))
        titles[name] = figure.get_suptitle()
    assert ["mirrored" in title for title in titles.values()] == [False, True, True]
    assert "mean over 8 groups of squares of the friendly king" in titles["MIRRORED(KING8*ALL)"]


def test_of_a_log_with_several_trainings_the_last_is_drawn(tmp_path: Path) -> None:
    net = save(tmp_path / "my.net", network.Shape("ALL", 8))
    trained = [(1, 0.5), (2, 0.4), (3, 0.3), (1, 0.25), (2, 0.24), (3, 0.23), (3, 0.22), (4, 0.21)]  # one went on at 3
    write_log(net, trained)
    assert [row["error"] for row in plots.load_run(net).epochs] == [0.25, 0.24, 0.22, 0.21]


def test_the_strongest_neurons_are_those_that_move_the_score_most() -> None:
    shape = network.Shape("ALL", 16)
    layers = starting.random_layers(shape, 1)
    layers["output"][:] = 0.01
    layers["output"][0, [3, 16 + 9]] = 0.9, -1.0  # one in the view of the mover, one in the other
    found = plots.strongest(quantising.quantised(shape, layers, 200.0, {}))
    assert len(found) == plots.STRONGEST and set(found[:2]) == {3, 9}


def test_with_two_layers_the_strongest_neurons_have_large_weights_behind_them() -> None:
    shape = network.Shape("ALL", 8, 16)  # as many neurons in the second layer as outputs of the first
    layers = starting.random_layers(shape, 1)
    layers["middle"][8 + 5, 2] = 3.0
    assert plots.strongest(quantising.quantised(shape, layers, 200.0, {}))[0] == 5


@pytest.mark.parametrize(
    "row",
    ["epoch 1", "{}", "5", '{"epoch": 1, "error": null, "apart": 0.1}', '{"epoch": 1e999, "error": 1, "apart": 1}'],
)
def test_a_damaged_log_is_named(tmp_path: Path, row: str) -> None:
    pytest.importorskip("matplotlib")
    net = save(tmp_path / "my.net", network.Shape("ALL", 8))
    plots.log_of(net).write_text(f"{row}\n")
    with pytest.raises(MerinoError, match=r"my\.net\.log' is not the log of a training"):
        run_plot([str(net)])
