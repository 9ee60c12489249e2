"""Probes of nets: what their neurons tell, and the motifs that are asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.app.shell.probes import by_name
from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.core.common.command import CommandError
from merino.eval.families import load_net
from merino.eval.linear.evaluate import features_of
from merino.eval.linear.registry import TERMS
from merino.eval.net.family import NetEvaluation
from merino.eval.net.network import exact_scores
from merino.study.errors import StudyError
from merino.study.probes.motifs import MOTIFS
from merino.study.probes.probe import Probed, neurons_of, probe, told_by
from tests.test_words import walked

CASES = {
    "hanging piece": ("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", 0, 1),
    "loose piece": ("4k3/8/8/3n4/8/8/4N3/4K3 w - - 0 1", 0, 1),
    "fork": ("r3k3/2N5/8/8/8/8/8/4K3 b - - 0 1", 1, 0),
    "pin": ("4k3/3n4/8/1B6/8/8/8/4K3 b - - 0 1", 1, 0),
    "absolute pin": ("4k3/3n4/8/1B6/8/8/8/4K3 b - - 0 1", 1, 0),
    "attacked by less": ("4k3/8/4p3/3R4/8/8/8/4K3 w - - 0 1", 1, 0),
    "back rank": ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 0, 1),
    "bishop pair": ("4k3/8/8/8/8/8/8/2B1KB2 w - - 0 1", 1, 0),
    "bad bishop": ("4k3/8/8/8/8/2P1P3/8/2B1K3 w - - 0 1", 2, 0),
    "passed pawn": ("4k3/p7/8/8/8/1P6/6P1/4K3 w - - 0 1", 1, 0),
    "outside passed pawn": ("4k3/6p1/8/8/8/8/P5P1/4K3 w - - 0 1", 1, 0),
    "connected passed pawns": ("4k3/8/8/8/8/8/PP6/4K3 w - - 0 1", 2, 0),
    "protected passed pawn": ("4k3/8/8/8/8/1P6/P7/4K3 w - - 0 1", 1, 0),
    "rook behind passed pawn": ("4k3/8/8/P7/8/8/8/R3K3 w - - 0 1", 1, 0),
    "isolated queens pawn": ("4k3/4p3/3p4/8/3P4/8/8/4K3 w - - 0 1", 1, 0),
    "doubled rooks": ("4k3/8/8/8/8/3R4/8/3RK3 w - - 0 1", 1, 0),
    "rook on open file": ("4k3/7p/8/8/8/8/8/3RK2R w - - 0 1", 1, 0),
    "battery": ("4k3/8/8/8/8/3R4/3Q4/4K3 w - - 0 1", 1, 0),
    "castled king": ("4k3/8/8/8/8/8/8/6K1 w - - 0 1", 1, 0),
    "open file at king": ("4k3/3ppp2/8/8/8/8/8/6K1 w - - 0 1", 3, 0),
    "attackers near king": ("6k1/8/8/6N1/8/8/8/4K3 w - - 0 1", 1, 0),
    "fianchetto": ("4k3/8/8/8/8/8/6B1/4K3 w - - 0 1", 1, 0),
    "knight on the rim": ("4k3/8/7n/8/8/8/8/1N2K3 w - - 0 1", 0, 1),
    "opposite bishops": ("4kb2/8/8/8/8/8/8/4KB2 w - - 0 1", 1, 0),
}


def test_each_motif_is_counted_for_each_side() -> None:
    assert len(MOTIFS) >= 20 and MOTIFS.keys() == CASES.keys()
    for name, (fen, white, black) in CASES.items():
        board = chess.Board(fen)
        counted = [MOTIFS[name](board, side) for side in (chess.WHITE, chess.BLACK)]
        assert counted == [white, black], name
        assert MOTIFS[name].__doc__


def test_the_neurons_are_those_that_make_the_score() -> None:
    net, positions = load_net("gen1"), walked(5)
    assert isinstance(net, NetEvaluation)
    weights, half = net.network.as_floats, net.network.shape.hidden
    for record, neurons in zip(positions, neurons_of(net, positions), strict=True):
        views = [neurons[:half], neurons[half:]]
        own = np.concatenate(views[::-1] if record["side"] else views)
        score = 400 * float(own @ weights["output"][0] + weights["output_bias"][0])
        expected = exact_scores(net.network.shape, weights, record[None])[0]
        assert (-score if record["side"] else score) == pytest.approx(expected)


def test_a_probe_finds_a_target_made_of_the_neurons_and_no_random_one() -> None:
    draw = np.random.default_rng(2)
    neurons = draw.random((800, 5))
    targets = np.stack([neurons @ np.arange(5.0), draw.random(800)], axis=1)
    held, chance = told_by(neurons, targets)
    assert held > 0.95 and chance < 0.05


def test_the_command_probes_nets_for_terms_and_motifs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    positions = tmp_path / "positions.txt"
    positions.write_text("".join(f"{to_fen(position[None])} | 0 | 0.5\n" for position in walked(1200)))
    assert main(["probes", str(positions), "gen1", "gen12", "--positions", "1200", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert found["VAL_Q"]["r2"]["gen12"] > 0.5 > found["pin"]["r2"]["gen12"]
    assert found["VAL_Q"]["is_term"] and not found["pin"]["is_term"]
    assert found["VAL_Q"]["chance"] < found["VAL_Q"]["r2"]["gen12"]
    assert {each["learned"] for each in found.values()} == {None, "gen12"}
    assert found["VAL_N"]["board"] > 0.9  # a sum over the knights on their squares
    assert main(["probes", str(positions), "gen1", "--positions", "300"]) == 0
    assert "castled king" in capsys.readouterr().out


def test_nets_of_one_name_are_told_apart_by_their_folders() -> None:
    files = ["night/generation-0001/candidate.net", "night/generation-0002/candidate.net"]
    assert list(by_name(files)) == ["generation-0001", "generation-0002"]
    assert by_name(["gen1", "other/gen1"]) == {"gen1": "gen1", "other/gen1": "other/gen1"}
    with pytest.raises(CommandError, match="'gen1' is named twice"):
        by_name(["gen1", "gen12", "gen1"])
    with pytest.raises(CommandError, match=r"'a\.net' is named twice"):
        by_name(["./a.net", "gen12", "a.net"])


def test_what_a_probe_of_chance_reaches_too_is_not_called_learned() -> None:
    told = Probed("a", True, 99, {"old": 0.2, "newer": 0.45, "newest": 0.5}, chance=0.1, board=1.0)
    by_chance = replace(told, chance=0.41)
    assert told.learned == "newer" and told.order < by_chance.order
    assert by_chance.learned is None


def test_a_net_with_shuffled_weights_lets_probes_find_less() -> None:
    net, positions = load_net("gen12"), walked(1200)
    assert isinstance(net, NetEvaluation)
    true, shuffled = neurons_of(net, positions), neurons_of(net, positions, shuffle=1)
    assert true.shape == shuffled.shape
    queens = features_of(positions)[:, [term.name for term in TERMS].index("VAL_Q")][:, None]
    assert told_by(shuffled, queens)[0] < told_by(true, queens)[0]


def test_a_probe_needs_positions() -> None:
    net = load_net("gen1")
    assert isinstance(net, NetEvaluation)
    with pytest.raises(StudyError, match="200 positions"):
        probe({"gen1": net}, Position().record)


def test_positions_without_terms_and_motifs_are_refused_in_words(tmp_path: Path, capsys) -> None:
    positions = tmp_path / "positions.txt"
    positions.write_text(f"{Position().fen()} | 0 | 0.5\n" * 300)  # as much of everything for both sides
    assert main(["probes", str(positions), "gen1", "--plot", str(tmp_path / "probes.svg")]) == 1
    assert "no term or motif is in 10 of these positions" in capsys.readouterr().err
