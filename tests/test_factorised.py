"""Factorised training: features by the own king that are learned for all its squares at once as well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.eval.net.blocks import KINGS
from merino.eval.net.file import load_net
from merino.eval.net.network import MAX_WEIGHT, Shape, exact_scores
from merino.formats.packed import unpack
from merino.lab.nets.starting import extended, factorised, folded, random_layers
from merino.lab.nets.training import Trainer, TrainingSettings
from merino.learn.errors import TrainingError
from tests.test_net import random_net
from tests.test_net_training import sample

SETS = {
    "KING8*ALL": "ALL",
    "MIRRORED(KING8*ALL)": "MIRRORED(ALL)",
    "H+KING*(ALL+D1)": "ALL+D1",
    "KING8*H+KING*H": "H",
    "ALL+KING8*ALL+KING8*V": "V",
    "KING8*MIRRORED(KING8)*H": "H",
}


@pytest.mark.parametrize(("features", "added"), SETS.items())
def test_what_is_by_the_own_king_is_trained_without_it_too(features: str, added: str) -> None:
    assert factorised(Shape(features, 8)).features == f"{features}+{added}"


@pytest.mark.parametrize("features", SETS)
def test_the_net_scores_as_it_did_while_it_was_trained(features: str) -> None:
    shape, positions = Shape(features, 8), unpack(sample()[:60])
    trained = factorised(shape)
    layers = random_layers(trained, 3)
    found = folded(layers, shape)
    assert {name: array.shape for name, array in found.items()} == shape.layers()
    before = exact_scores(trained, layers, positions)
    assert exact_scores(shape, found, positions) == pytest.approx(before, abs=1e-9)
    assert before.std() > 0.1


def test_no_weight_is_folded_beyond_its_bounds() -> None:
    shape = Shape("KING8*H", 4)
    layers = random_layers(factorised(shape), 1)
    layers["inputs"][:] = 0.8 * MAX_WEIGHT
    assert (folded(layers, shape)["inputs"] == MAX_WEIGHT).all()


def test_a_net_that_is_continued_begins_with_its_own_scores() -> None:
    net, positions = random_net(Shape("KING8*H", 8)), unpack(sample()[:40])
    trained = factorised(net.shape)
    before = exact_scores(net.shape, net.as_floats, positions)
    assert exact_scores(trained, extended(net.as_floats, trained), positions) == pytest.approx(before, abs=1e-9)


NO_KING, SHARED = "has no features by the own king to learn for all its squares at once", "learns ALL for all squares"


@pytest.mark.parametrize(
    ("features", "said"), [("ALL", NO_KING), ("KING8", NO_KING), ("ALL+KING8*ALL", SHARED), ("H*V", NO_KING)]
)
def test_a_set_without_anything_to_share_is_refused(features: str, said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        factorised(Shape(features, 8))


def test_groups_of_squares_where_no_king_has_been_learn_what_pieces_are_worth() -> None:
    places = KINGS["KING8"].places
    at_home = np.array([_groups(record, places) <= {0, 1, 2, 3} for record in unpack(sample())])
    records, learned = sample()[at_home], []
    for is_factorised in (False, True):
        settings = TrainingSettings(Shape("KING8*ALL", 8), epochs=15, batch=16, rate=0.01, validation=0.1)
        trained = Trainer(records, replace(settings, factorised=is_factorised)).run()
        inputs = trained.network.as_floats["inputs"].reshape(8, -1, 8)
        learned.append(np.abs(np.corrcoef(inputs[:4].mean(axis=0).ravel(), inputs[5].ravel())[0, 1]))
    assert learned[1] > 0.5 > 2 * learned[0]


def _groups(record: np.void, places: tuple[int, ...]) -> set[int]:
    """The groups of squares of both kings, each as its side sees it."""
    kings, (white, black) = int(record["pieces"][5]), (int(colour) for colour in record["colours"])
    return {places[chess.lsb(kings & white)], places[chess.lsb(kings & black) ^ 56]}


def test_the_command_trains_factorised_and_says_so_in_the_net(tmp_path: Path, capsys) -> None:
    path, out = tmp_path / "p.bin", tmp_path / "n.net"
    path.write_bytes(sample().tobytes())
    arguments = ["train", str(path), "--epochs", "1", "--hidden", "8", "--out", str(out), "--factorised", "--quiet"]
    assert main([*arguments, "--features", "KING8*H"]) == 0
    net = load_net(out)
    assert net.shape == Shape("KING8*H", 8) and net.about["settings"]["factorised"] is True
    capsys.readouterr()
    assert main([*arguments, "--features", "H"]) == 1
    assert "train: H has no features by the own king" in capsys.readouterr().err
