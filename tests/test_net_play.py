"""Nets in use: UCI, console, players, self-play with positions, and the command that shows one."""

import pickle
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from merino.engine.search.limits import Limits
from merino.engine.search.parameters import parameter_values, parameters_for, tuned_for
from merino.engine.search.searcher import Searcher
from merino.engine.uci.options import open_net, open_weights
from merino.engine.uci.runtime import Runtime
from merino.eval.evaluation import EvaluationError
from merino.eval.families import default, from_identity, load_net
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import save_net
from merino.eval.net.network import Network, Shape
from merino.formats.packed import PACKED, Filter, checked_blocks, with_checks
from merino.formats.packed_files import packed_positions
from merino.lab.tune.parameters import own_parameters
from merino.match.games import PlayerError
from merino.match.players import read_player
from tests.boards import KIWIPETE
from tests.uci_process import UciProcess


def material_net() -> Network:
    """A net that counts material: 100 centipawns for a pawn and so on."""
    shape, index = Shape("ALL", 17, 0, "crelu"), np.arange(768)
    worth = np.array([1, 3, 3, 5, 9, 0])[index % 12 // 2]
    counted = np.where(index % 2 == 0, 2 * worth, 0)  # each neuron counts the viewer's pieces: 39 pawns are 78 of 255
    weights = {
        "inputs": np.repeat(counted[:, None], 17, axis=1).astype(np.int16),
        "input_bias": np.zeros(17, dtype=np.int16),
        "output": np.repeat([[120, -120]], 17, axis=1).astype(np.int16),  # 2 * 17 * 120 * 400 / (255 * 64) = 100
        "output_bias": np.zeros(1, dtype=np.int16),
    }
    return Network(shape, weights, 200.0, {"data": {"positions": 7}})


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "material.net"
    save_net(material_net(), path)
    return path


def test_a_net_is_set_and_put_away_by_an_option(engine: UciProcess, net: Path) -> None:
    engine.send(f"setoption name EvalFile value {net}", "position fen 4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "eval")
    lines = engine.sync()
    assert f"info string net: {net}" in lines and any("R  5.00" in line for line in lines)
    assert any("Score for White +10.00 by " in line for line in lines)
    engine.send("setoption name EvalFile value <empty>", "eval")
    assert any("Evaluation:" in line for line in engine.sync())


@pytest.mark.parametrize("content", [b"", b"Merino net 1\n{}", b"VAL_P 100\n", bytes(100)])
def test_a_bad_net_is_one_error_and_changes_nothing(engine: UciProcess, tmp_path: Path, content: bytes) -> None:
    bad = tmp_path / "bad.net"
    bad.write_bytes(content)
    engine.send(f"setoption name EvalFile value {bad}", "position startpos", "eval")
    lines = engine.sync()
    errors = [line for line in lines if "error" in line]
    assert len(errors) == 1 and str(bad) in errors[0] and any("Evaluation:" in line for line in lines)


def test_weights_set_beneath_a_net_wait_for_their_turn(net: Path) -> None:
    runtime = Runtime(1)
    terms = runtime.evaluation
    runtime.use_net(open_net(str(net)))
    assert runtime.evaluation is not terms
    runtime.use_weights(open_weights(""))
    assert runtime.net_file == net and isinstance(runtime.evaluation, NetEvaluation)
    with pytest.raises(EvaluationError, match="there is no net"):
        runtime.use_net(open_net("nowhere"))
    assert runtime.net_file == net
    runtime.use_net(open_net(""))
    assert runtime.net_file is None and runtime.evaluation is runtime.terms


def test_players_take_a_net_by_name_or_by_the_word_of_uci(net: Path) -> None:
    for text in (str(net), f"default,EvalFile={net}", f"EvalFile={net},name=x"):
        assert isinstance(read_player(text).evaluation, NetEvaluation)
    with pytest.raises(PlayerError, match="there is no net"):
        read_player("default,EvalFile=nowhere.net")


def test_another_k_of_a_net_is_kept_by_copies_of_it(net: Path) -> None:
    other = load_net(str(net)).with_k(50.0)
    for copied in (copy(other), pickle.loads(pickle.dumps(other)), other.with_search_numbers({"razor_depth": 2})):
        assert copied.k == 50.0 and copied.name == other.name


def test_a_net_plays_with_the_numbers_of_the_search_that_were_tuned_for_it(net: Path) -> None:
    load_net(str(net)).with_search_numbers({"razor_depth": 2, "soft_beta": 40}).save(net)  # the second by its old name
    read = load_net(str(net))
    assert read.search_numbers == {"razor_depth": 2, "soft_beta": 40}
    assert parameters_for(read) == parameter_values({"razor_depth": 2, "reverse_futility_blend": 40})
    assert parameters_for(read, {"razor_depth": 1}) == parameter_values({"razor_depth": 1, "soft_beta": 40})
    both = tuned_for(read, {"reverse_futility_blend": 50})  # again, by its present name
    assert both.search_numbers == {"razor_depth": 2, "reverse_futility_blend": 50}
    assert from_identity(read.identity).search_numbers == read.search_numbers
    assert read_player(f"{net},razor_margin=200").parameters == parameters_for(read, {"razor_margin": 200})
    assert own_parameters(read)["reverse_futility_blend"].value == 40
    bare, searcher = NetEvaluation(material_net()), Searcher(1, evaluation=read)
    assert nodes_of(searcher) == nodes_of(Searcher(1, evaluation=bare, parameters=parameters_for(read)))
    assert nodes_of(searcher) != nodes_of(Searcher(1, evaluation=bare))
    searcher.set_evaluation(default())  # the numbers go with the net
    assert nodes_of(searcher) == nodes_of(Searcher(1))


def test_a_net_tuned_for_another_search_is_refused(engine: UciProcess, net: Path) -> None:
    load_net(str(net)).with_search_numbers({"razor_dpth": 2}).save(net)
    said = "was tuned for another search: there is no search parameter 'razor_dpth'"
    with pytest.raises(EvaluationError, match=said):
        Searcher(1, evaluation=load_net(str(net)))
    with pytest.raises(PlayerError, match=said):
        read_player(str(net))
    engine.send(f"setoption name EvalFile value {net}", "position startpos", "eval")
    lines = engine.sync()
    assert len([line for line in lines if "error" in line and said in line]) == 1
    assert any("Evaluation:" in line for line in lines)
    net.write_bytes(net.read_bytes().replace(b'"razor_dpth": 2', b'"razor_dpt": "2"'))
    with pytest.raises(EvaluationError, match="'search' is not a table of whole numbers"):
        load_net(str(net))


def nodes_of(searcher: Searcher) -> int:
    searcher.clear()
    return searcher.search(KIWIPETE, Limits(depth=8)).line.nodes


def test_the_command_shows_a_net(net: Path, tmp_path: Path, shell) -> None:
    printed = shell("net", str(net), "--json")
    means = {(row["piece"], row["phase"]): row["mean"] for row in printed["pieces"]}
    assert means["pawn", "all"] == pytest.approx(100) and means["queen", "all"] == pytest.approx(900)
    assert any("positions: 7" in line for line in printed["text"]) and "9.00 +- 0.00" in shell("net", str(net))
    assert "there is no net" in shell("net", "nowhere", status=1)
    (file := tmp_path / "none.txt").write_text("# nothing yet\n")
    assert "none.txt' holds no position" in shell("net", str(net), "--positions", str(file), status=1)


def test_selfplay_writes_the_positions_of_its_games(tmp_path: Path, shell) -> None:
    packed, pgn = tmp_path / "p.bin", tmp_path / "g.pgn"
    order = ["selfplay", "4", "--nodes", "60", "--concurrency", "1", "--early", "0"]
    shell(*order, "--positions", str(packed), "--pgn", str(pgn))
    written = np.fromfile(packed, dtype=PACKED)
    list(checked_blocks([written], "it"))
    read = np.concatenate(list(packed_positions(pgn, Filter())))
    assert len(read) == len(written) > 50
    assert sorted(record.tobytes() for record in with_checks(read)) == sorted(record.tobytes() for record in written)
    shell(*order, "--positions", str(packed))
    assert len(np.fromfile(packed, dtype=PACKED)) == 2 * len(written)
    for content in (b"x", b"my notes" * 8):
        packed.write_bytes(content)
        said = shell(*order, "--positions", str(packed), status=1)
        assert f"'{packed}' holds no packed positions, or its end is missing" in said and packed.read_bytes() == content
