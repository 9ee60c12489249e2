"""Training of nets: gradients, starts, order of positions, resumed runs, refusals."""

import random
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import chess
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board import bitboard, fen
from merino.core.common.interrupt import INTERRUPTED
from merino.eval.families import default, find_net
from merino.eval.net import family, file, network
from merino.formats.packed import PackedError, pack, unpack, with_checks, without_checks
from merino.formats.packed_files import is_held_out
from merino.lab.nets import gradient, position_blocks, quantising, shapes, starting, training
from merino.lab.nets.gradient import Gradient, Layout, Objective, learn_scores
from merino.learn.request import TrainingError
from tests.boards import records
from tests.test_features import boards
from tests.test_net import random_net

VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 300, chess.ROOK: 500, chess.QUEEN: 900, chess.KING: 0}


def material_positions(count: int) -> np.ndarray:
    """Positions whose score is their material."""
    chosen = boards(count)
    scores = [
        sum(VALUES[p.piece_type] * (1 if p.color else -1) for p in board.piece_map().values()) for board in chosen
    ]
    rng = random.Random(1)
    results = [2 if score > 100 else 0 if score < -100 else rng.randrange(3) for score in scores]
    return pack(records(chosen), np.clip(scores, -3000, 3000), np.array(results), np.arange(count) // 4)


@cache
def sample() -> np.ndarray:
    """400 packed positions; treat them as read-only."""
    return material_positions(400)


def stop_in(epoch: int) -> Callable[[training.TrainingState], None]:
    """Stops the training, as Ctrl-C does, at the end of this epoch."""

    def stop(state: training.TrainingState) -> None:
        if state.is_epoch and state.epoch == epoch:
            raise KeyboardInterrupt

    return stop


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., int]:
    """Runs `merino train` on the sample, into n.net in this folder, and returns its exit code."""
    path = tmp_path / "p.bin"
    path.write_bytes(sample().tobytes())
    return lambda *words, out="n.net": main(["train", str(path), "--out", str(tmp_path / out), *map(str, words)])


def weights_of(layout: Layout, seed: int = 2) -> np.ndarray:
    draw = np.random.default_rng(seed)
    vector = np.zeros(layout.size, dtype=np.float32)
    layout.fill(vector, {name: draw.normal(0, 0.15, size) for name, size in layout.shape.layers().items()})
    return vector


@pytest.mark.parametrize(
    "shape",
    [
        network.Shape("ALL", 16),
        network.Shape("ALL", 20, 0, "crelu"),
        network.Shape("H+V", 16, 5),
        network.Shape("KING*H", 16, 16, "crelu"),
        network.Shape("ALL", 20, outputs=8),
        network.Shape("H+V", 16, 5, outputs=4),
        network.Shape("MIRRORED(KING8*H+D1)+PV", 16),
        network.Shape("ALL", 20, piece_values=True),
        network.Shape("ALL", 16, 0, "crelu", True),
    ],
    ids=str,
)
def test_the_error_is_that_of_the_net_written_plainly(shape: network.Shape) -> None:
    layout, objective = Layout(shape), Objective(0.3, 180.0, 2.6, score_k=120.0)
    vector, chosen = weights_of(layout), sample()[:60]
    scores = quantising.exact_scores(shape, layout.cut(vector.astype(np.float64)), unpack(chosen))
    target = 0.3 * chosen["result"] / 2 + 0.7 / (1 + np.exp(-chosen["score"] / 120.0))
    expected = np.mean(np.abs(1 / (1 + np.exp(-scores / 180.0)) - target) ** 2.6)
    with ThreadPoolExecutor(2) as pool:
        found = Gradient(layout, pool, 2, 64).error(vector, chosen, layout.options(objective))
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("shape", "objective"),
    [
        (network.Shape("ALL", 16), Objective(0.3, 200.0, 2.6)),
        (network.Shape("H+V", 20, 0, "crelu"), Objective(0.3, 200.0, 2.0)),
        (network.Shape("H", 16, 5), Objective(0.3, 200.0, 2.6)),
        (network.Shape("H", 16, 5, outputs=8), Objective(0.3, 200.0, 2.6)),
        (network.Shape("ALL", 20, piece_values=True), Objective(0.3, 200.0, 2.6)),
        (network.Shape("ALL", 16, outputs=8), Objective(0.3, 200.0, 2.6)),
    ],
    ids=str,
)
def test_the_gradient_is_that_of_finite_differences(shape: network.Shape, objective: Objective) -> None:
    layout, places = Layout(shape), np.arange(40)
    options = layout.options(objective, mirror=77)
    vector, draw = weights_of(layout), np.random.default_rng(5)
    with ThreadPoolExecutor(2) as pool:
        gradient = Gradient(layout, pool, 2, 64)
        gradient.add_up(vector, sample(), places, options)
        found = gradient.whole()
        gradient.errors(clears=True)
        worth = np.flatnonzero(np.abs(found) > 1e-3)
        assert len(worth) > 100
        off = 0
        for place in draw.choice(worth, 60, replace=False):
            sums = []
            for step in (1e-3, -1e-3):
                moved = vector.copy()
                moved[place] += np.float32(step)
                gradient.add_up(moved, sample(), places, options)
                sums.append(gradient.errors(clears=True))
                gradient.whole()
            slope = (sums[0] - sums[1]) / 2e-3
            off += abs(slope - found[place]) > 0.02 * abs(found[place]) + 2e-3  # a neuron may pass its corner
        assert off <= 3


def test_the_error_grows_along_the_gradient_of_each_layer_as_it_says() -> None:
    layout, places, objective = Layout(network.Shape("H", 16, 5)), np.arange(6), Objective(0.3, 200.0, 2.6)
    options, vector = layout.options(objective), weights_of(layout)
    with ThreadPoolExecutor(1) as pool:
        gradient = Gradient(layout, pool, 1, 64)
        gradient.add_up(vector, sample(), places, options)
        whole = gradient.whole()
        gradient.errors(clears=True)
        for name, slope in layout.views(whole).items():
            step, sums = np.zeros(layout.size), []
            layout.views(step)[name][:] = slope / np.linalg.norm(slope)
            for sign in (1e-3, -1e-3):
                gradient.add_up((vector + sign * step).astype(np.float32), sample(), places, options)
                sums.append(gradient.errors(clears=True))
                gradient.whole()
            assert (sums[0] - sums[1]) / 2e-3 == pytest.approx(np.linalg.norm(slope), rel=0.05), name


@pytest.mark.parametrize("shape", [network.Shape("ALL", 16), network.Shape("H+V", 16)], ids=str)
def test_about_half_of_the_positions_are_learned_as_their_mirror_images(shape: network.Shape) -> None:
    layout, vector = Layout(shape), weights_of(Layout(shape))
    board = boards(30)[-1].copy(stack=False)
    board.castling_rights = chess.BB_EMPTY
    mirrored = board.transform(chess.flip_horizontal)
    plain, flipped = (
        pack(records([each] * 20), np.full(20, 30), np.ones(20), np.zeros(20)) for each in (board, mirrored)
    )
    with ThreadPoolExecutor(1) as pool:
        gradient = Gradient(layout, pool, 1, 64)
        never, always = (gradient.error(vector, chosen, layout.options(Objective())) for chosen in (plain, flipped))
        found = gradient.error(vector, plain, layout.options(Objective(), mirror=77))
    times = 20 * (found - never) / (always - never)
    assert times == pytest.approx(round(times), abs=0.01)
    assert 3 <= times <= 17


def test_a_step_of_adam_is_the_one_of_the_paper() -> None:
    """With decoupled decay (AdamW), from the sum of all parts, within the largest weight."""
    rate, first, second, epsilon, share, decay, most = 0.01, 0.9, 0.99, 1e-8, 1 / 40, 0.002, 0.3
    layout, draw = Layout(network.Shape("H", 16)), np.random.default_rng(8)
    with ThreadPoolExecutor(2) as pool:
        gradient = Gradient(layout, pool, 2, 64)
        gradient._gradients[:] = draw.normal(0, 1, gradient._gradients.shape)
        slope = gradient._gradients.sum(axis=0, dtype=np.float64) * share
        weights = draw.uniform(-1.1 * most, 1.1 * most, layout.size).astype(np.float32)
        moments = np.abs(draw.normal(0, 0.01, (2, layout.size))).astype(np.float32)
        mean = first * moments[0].astype(np.float64) + (1 - first) * slope
        square = second * moments[1].astype(np.float64) + (1 - second) * slope**2
        moved = weights * (1 - decay) - rate * mean / (np.sqrt(square) + epsilon)
        gradient.step(weights, moments, np.array([rate, first, second, epsilon, share, decay, most]))
        assert not gradient.whole().any()
    assert moments == pytest.approx(np.stack([mean, square]), rel=1e-4, abs=1e-7)
    assert weights == pytest.approx(np.clip(moved, -most, most), rel=1e-4, abs=1e-6)
    assert (np.abs(moved) > most).sum() > 2


def test_a_piece_value_net_learns_a_value_for_each_piece() -> None:
    shape = network.Shape("ALL", 8, piece_values=True)
    settings = training.TrainingSettings(
        shape, Objective(0, 200.0, 2.0), epochs=40, batch=32, rate=0.01, validation=0.1
    )
    evaluation = family.NetEvaluation(training.Trainer(sample(), settings).run().network)
    positions = unpack(sample())
    kinds, values = positions["board"] & 7, evaluation.attributed(positions)
    means = [values[kinds == kind].mean() for kind in range(bitboard.KING)]
    assert 0 < means[0] < min(means[1:3]) <= max(means[1:3]) < means[3] < means[4], means


@pytest.mark.parametrize("features", ["ALL", "H+V", "ALL+PH+PV", "ALL+MB"])
def test_hardly_a_neuron_begins_beyond_its_range(features: str) -> None:
    shape = network.Shape(features, 64)
    weights, positions = starting.random_layers(shape, 1)["inputs"], unpack(sample()[:200])
    views = [view for both in shape.feature_set.active(positions) for view in both]
    sums = np.array([weights[view].sum(axis=0) for view in views])
    assert np.mean(np.abs(sums) > 1) < 0.001 and sums.std() > 0.02


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ("ALL+H -> 16 -> 1", "KING8*ALL+H -> 16 -> 1"),
        ("ALL+H -> 16 -> 1", "H+KING*ALL -> 16 -> 1"),
        ("ALL+H -> 16 -> 1", "V+KING8*(H+ALL)+ALL -> 16 -> 1"),
        ("ALL+H -> 16 -> 1", "KING8*MIRRORED(KING8)*H+ALL -> 16 -> 1"),
        ("KING8*ALL+H -> 8 -> 1", "KING8*ALL+H+V -> 8 -> 1"),
        ("KING8*ALL+H -> 8 -> 1", "KING*H+V+KING8*ALL -> 8 -> 1"),
        ("H*V+KING8 -> 8 -> 1", "KING8+V*KING8*H -> 8 -> 1"),
        ("MIRRORED(KING8*H)+H -> 8 -> 1", "KING8*H+MIRRORED(H)+MIRRORED(KING8*H) -> 8 -> 1"),
        ("ALL -> 16 -> 1", "ALL -> 16 -> 1 x 8"),
        ("H -> 16 -> 1 x 2", "KING8*H -> 24 -> 1 x 16"),
        ("H+V -> 16 -> 5 -> 1", "H+V -> 20 -> 5 -> 1 x 4"),
        ("ALL -> 8 -> values", "ALL -> 12 -> values"),
    ],
)
def test_a_net_grows_with_the_scores_that_it_has(known: str, wanted: str) -> None:
    small, large, positions = network.parse_shape(known), network.parse_shape(wanted), unpack(sample()[:50])
    start = random_net(small)
    layers = starting.layers_of(start, large, 1)
    before = quantising.exact_scores(small, start.as_floats, positions)
    assert not starting.fault_of_part(small, large) and quantising.exact_scores(
        large, layers, positions
    ) == pytest.approx(before, abs=1e-6)
    if large.hidden > small.hidden:
        assert np.abs(layers["inputs"][:, small.hidden :]).mean() > 0.01
    with pytest.raises(TrainingError, match="the net to start from"):
        starting.layers_of(random_net(large), small, 1)


def test_a_mirrored_set_begins_with_what_the_net_knows_of_a_king_on_the_left() -> None:
    start, on_the_left = random_net(network.Shape("ALL", 16)), fen.parse_fen("2k5/p6b/8/8/3P4/2K5/P1N5/8 w - - 0 1")
    layers = starting.layers_of(start, network.Shape("MIRRORED(KING8*ALL)", 16), 1)
    before = quantising.exact_scores(start.shape, start.as_floats, on_the_left)
    assert quantising.exact_scores(network.Shape("MIRRORED(KING8*ALL)", 16), layers, on_the_left) == pytest.approx(
        before, abs=1e-6
    )


@pytest.mark.parametrize(
    ("known", "wanted", "said"),
    [
        ("ALL -> 4 -> 1", "H+V -> 4 -> 1", "has features ALL, and H+V has not all of them"),
        ("ALL+H -> 4 -> 1", "ALL -> 4 -> 1", "has features ALL+H, and ALL has not"),
        ("KING8*H -> 4 -> 1", "KING8*H*V -> 4 -> 1", "has features KING8*H, and KING8*H*V has not"),
        ("KING8*ALL -> 4 -> 1", "KING*ALL -> 4 -> 1", "has features KING8*ALL, and KING*ALL has not"),
        ("MIRRORED(ALL) -> 4 -> 1", "ALL -> 4 -> 1", "has features MIRRORED(ALL), and ALL has not"),
        ("MIRRORED(ALL)+ALL -> 4 -> 1", "ALL+KING8*ALL -> 4 -> 1", "has features MIRRORED(ALL)+ALL, and"),
        ("ALL+ALL -> 4 -> 1", "KING8*ALL -> 4 -> 1", "has features ALL+ALL, and KING8*ALL has not"),
        *(
            ("ALL -> 8 -> values", wanted, f"is ALL -> 8 -> values, and not {wanted} or a part of it")
            for wanted in ("ALL -> 8 -> 1 x 8", "ALL+H -> 8 -> 1", "ALL -> 8 -> 4 -> 1", "ALL -> 8 -> 1, crelu")
        ),
    ],
)
def test_a_start_whose_weights_would_be_lost_is_refused(known: str, wanted: str, said: str) -> None:
    assert starting.fault_of_part(network.parse_shape(known), network.parse_shape(wanted))
    with pytest.raises(TrainingError, match=re.escape(said)):
        starting.layers_of(random_net(network.parse_shape(known)), network.parse_shape(wanted), 1)


def test_a_net_learns_what_pieces_are_worth() -> None:
    settings = training.TrainingSettings(
        network.Shape("ALL", 16), Objective(0, 200.0, 2.0), epochs=40, batch=32, rate=0.01, validation=0.1
    )
    trainer, states = training.Trainer(sample(), settings), list[training.TrainingState]()
    trained = trainer.run(states.append)
    ended = [state for state in states if state.is_epoch]
    assert len(ended) == 40
    assert trained.error < 0.1 * ended[0].error
    assert trained.validation_error < 0.8 * ended[0].validation_error
    assert trained.network.about["training"]["epochs"] == 40
    assert 0 < trained.network.about["training"]["rounding_cp"] < 20
    assert trained.network.about["data"]["positions"] == len(sample())


def test_training_is_resumed_where_it_was_interrupted(tmp_path: Path) -> None:
    settings, state = training.TrainingSettings(network.Shape("ALL", 16), epochs=4, batch=64), tmp_path / "n.state"
    whole = training.Trainer(sample(), settings).run().network

    assert training.Trainer(sample(), settings, checkpoint=state).run(stop_in(3)).interrupted
    second = training.Trainer(sample(), settings, checkpoint=state).run()
    assert not second.interrupted
    for name, array in whole.weights.items():
        assert np.array_equal(array, second.network.weights[name]), name
    with pytest.raises(TrainingError, match="remove it to train from the beginning"):
        training.Trainer(sample(), training.TrainingSettings(network.Shape("ALL", 32), epochs=4), checkpoint=state)
    state.write_bytes(b"nothing")
    with pytest.raises(TrainingError, match="not a checkpoint"):
        training.Trainer(sample(), settings, checkpoint=state)


def test_training_that_diverges_ends_with_an_error_and_writes_no_net(train, tmp_path: Path, capsys) -> None:
    assert train("--hidden", 16, "--rate", "1e300") == 1
    said = "train: training diverged in epoch 1: its error is no number; try a rate below 1e+300"
    assert said in capsys.readouterr().err
    assert {each.name for each in tmp_path.iterdir()} == {"p.bin"}


def test_a_net_with_which_play_would_overflow_is_not_written(train, tmp_path: Path, capsys) -> None:
    out = tmp_path / "n.net"
    out.write_bytes(b"the net before")
    assert train("--shape", "ALL -> 8 -> values", "--rate", 1, "--epochs", 100) == 1
    said = capsys.readouterr().err
    assert re.search(r"train: training diverged in epoch \d+: its layer 'value_constants' has a weight of", said)
    assert "play would overflow with more than 2184; try a rate below 1\n" in said
    assert out.read_bytes() == b"the net before"


@pytest.mark.parametrize(("rate", "is_named"), [("100", True), ("0.004", False)])
def test_a_net_that_predicts_no_better_than_an_even_score_is_named(train, capsys, rate, is_named) -> None:
    assert train("--hidden", 16, "--epochs", 2, "--rate", rate) == 0
    assert ("no better than an even score does" in capsys.readouterr().err) == is_named


def test_the_error_of_the_start_is_shown_also_after_a_break(train, tmp_path: Path, capsys) -> None:
    settings = training.TrainingSettings(network.Shape("ALL", 16), epochs=3)
    net = training.Trainer(sample(), settings).run()
    assert net.start_error is None
    further, state = replace(settings, epochs=2), tmp_path / "state"
    whole = training.Trainer(sample(), further, start=net.network).run()
    assert whole.start_error == pytest.approx(net.validation_error, rel=0.02)  # but for its rounding

    training.Trainer(sample(), further, checkpoint=state, start=net.network).run(stop_in(2))
    assert state.exists()
    assert (
        training.Trainer(sample(), further, checkpoint=state, start=net.network).run().start_error == whole.start_error
    )
    file.save_net(net.network, start := tmp_path / "start.net")
    assert train("--start", start, "--epochs", 1, "--rate", "0.0001") == 0
    assert re.search(r"on validation games [\d.]+ \(the start [\d.]+\); the net", capsys.readouterr().out)


def played(k: float) -> np.ndarray:
    """Positions with random scores, whose results are those that scores of this scale promise."""
    draw = np.random.default_rng(1)
    found = np.repeat(sample(), 100)
    found["score"] = draw.normal(0, 300, len(found))
    found["result"] = 2 * (draw.random(len(found)) < 1 / (1 + np.exp(-found["score"] / k)))
    return found


def test_the_scale_of_scores_is_found_and_is_no_more_than_that_of_the_terms() -> None:
    assert training.fit_k(played(150)) == pytest.approx(150, rel=0.05)
    assert shapes.course_for(played(150), 4096, None, 0.02).score_k == pytest.approx(150, rel=0.05)
    assert training.fit_k(played(400)) > 350 and shapes.course_for(played(400), 4096, None, 0.02).score_k == default().k


def test_a_course_has_steps_enough_with_what_is_left_to_learn_from() -> None:
    found = [shapes.course_for(played(150)[:4100], 4096, None, validation).epochs for validation in (1e-9, 0.02)]
    assert found == [shapes.MIN_STEPS / 2, shapes.MIN_STEPS]


def test_the_command_trains_a_net_that_can_be_loaded(train, tmp_path: Path, capsys) -> None:
    out, words = tmp_path / "n.net", ("--epochs", 2, "--hidden", 16, "--features", "all+h")
    assert train(*words) == 0
    assert "Done: 2 epochs" in capsys.readouterr().out
    assert file.load_net(out).shape == network.Shape("ALL+H", 16)
    assert file.load_net(out).k == default().k  # a centipawn of it promises what one of the terms does
    assert len((tmp_path / "n.net.log").read_text().splitlines()) == 2
    assert not (tmp_path / "n.net.state").exists()
    assert train(*words, "--quiet") == 0
    said = capsys.readouterr()
    assert said.out.startswith("Done: ") and said.out.count("\n") == 1 and not said.err
    on = tmp_path / "on.net"
    file.save_net(replace(file.load_net(out), search={"razor_depth": 2}), out)
    assert train("--start", out, "--epochs", 1, out="on.net") == 0
    assert file.load_net(on).shape == file.load_net(out).shape and file.load_net(on).search == {"razor_depth": 2}
    capsys.readouterr()
    assert train("--start", out, "--hidden", 8, out="on.net") == 1
    assert "the net to start from is" in capsys.readouterr().err


def test_a_net_does_not_replace_the_one_that_it_starts_from(train, tmp_path: Path, capsys) -> None:
    net, link = tmp_path / "my.net", tmp_path / "other.net"
    file.save_net(random_net(network.Shape("ALL", 4)), net)
    link.symlink_to(net)
    before = net.read_bytes()
    for out in (net, link):
        assert train("--start", net, "--epochs", 1, out=out) == 2
        assert f"'{out}' is also an input; name another output file" in capsys.readouterr().err
    assert net.read_bytes() == before


def test_a_log_that_cannot_be_written_is_refused_before_positions_are_read(tmp_path: Path, capsys) -> None:
    (tmp_path / "n.net.log").mkdir()
    assert main(["train", "not/read.bin", "--out", str(tmp_path / "n.net")]) == 1
    assert "n.net.log'" in (printed := capsys.readouterr().err) and "it is a folder" in printed


def test_ctrl_c_before_the_first_epoch_has_ended_keeps_nothing(train, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(training.Trainer, "_compile", Mock(side_effect=KeyboardInterrupt))
    assert train() == INTERRUPTED
    assert {each.name for each in tmp_path.iterdir()} == {"p.bin"}


def test_what_a_net_has_learned_is_changed_gently(train, tmp_path: Path) -> None:
    out = tmp_path / "n.net"
    assert train("--start", "gen1", "--quiet") == 0
    before, after = file.load_net(find_net("gen1")), file.load_net(out)
    assert (
        after.k == before.k
        and after.about["settings"]["rate"] == training.FURTHER_RATE < training.TrainingSettings().rate
    )
    assert after.about["training"]["epochs"] == training.FURTHER_EPOCHS
    assert train("--start", "gen1", "--rate", "0.004", "--epochs", 1, "--quiet") == 0
    assert file.load_net(out).about["settings"]["rate"] == 0.004


def test_records_on_the_disk_are_compiled_for_as_those_in_memory(tmp_path: Path) -> None:
    path, settings = tmp_path / "p.bin", training.TrainingSettings(network.Shape("ALL", 16), epochs=1)
    path.write_bytes(sample().tobytes())
    training.Trainer(sample(), settings).run()
    compiled = list(learn_scores.signatures)
    with position_blocks.open_blocks(path) as records:
        training.Trainer(records, settings).run()
    assert learn_scores.signatures == compiled


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--hidden", "9999"], 1, "neurons"),
        (["--hidden", "9" * 5000], 2, "--hidden"),
        (["--hidden", "8", "--shape", "ALL -> 8 -> 1"], 2, "--shape says all of the shape"),
        (["--start", "gen1", "--hidden", "16"], 1, "start from is ALL -> 64 -> 1, and not ALL -> 16 -> 1"),
        (["--features", "ALL+"], 1, "is not a feature set"),
        (["--shape", "H -> 8 -> values"], 1, "features ALL"),
        (["--blend", "2"], 2, "--blend"),
        (["--epochs", "0"], 2, "epochs"),
        (["--validation", "0"], 2, "'0' is not a number above 0 and below 1"),
        (["--out", "/nowhere/at/all.net"], 1, "/nowhere/at"),
        (["--start", "/nowhere.net"], 1, "there is no net '/nowhere.net'"),
        (["--validation", "0.999999"], 1, "positions are kept for validation, and none is left to learn from"),
        (["--validation", "0.0000001"], 1, "positions are too few to keep some games for validation"),
    ],
)
def test_what_cannot_be_trained_is_refused(train, tmp_path, capsys, words: list[str], code: int, said: str) -> None:
    assert train(*words) == code
    errors = capsys.readouterr().err
    assert said in errors and "Traceback" not in errors
    assert not (tmp_path / "n.net").exists()


def test_what_ctrl_c_has_left_running_adds_nothing_to_later_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, late, written = threading.Event(), threading.Event(), threading.Event()

    def learn(_weights: object, _records: object, places: np.ndarray, *others: np.ndarray) -> float:
        part = int(places[0]) // 2
        if not len(others[-1]):  # the error that is asked for afterwards
            if part == 3:
                late.set()
                assert written.wait(10)
            return 1.0
        if part == 0:
            assert begun.wait(10)
            raise KeyboardInterrupt
        if part == 1:
            begun.set()
            assert late.wait(10)
            return 100.0
        written.set()
        return 0.0

    monkeypatch.setattr(gradient, "learn_scores", learn)
    layout, some = Layout(network.Shape("H", 1)), sample()[:8]
    options, weights = layout.options(Objective()), np.zeros(layout.size, dtype=np.float32)
    with ThreadPoolExecutor(2) as pool:
        found = Gradient(layout, pool, 2, 64)
        with pytest.raises(KeyboardInterrupt):
            found.add_up(weights, some, np.arange(8), options)
        assert found.error(weights, some, options) == 4 / 8


@pytest.mark.parametrize(
    ("positions", "before", "learned"),
    [(5, 0, 5), (5, 7, 12), (5, None, None), ("many", 0, None), ([1], 0, None), (-5, 0, None), (10**400, 0, None)],
)
def test_only_a_card_with_numbers_says_what_a_net_has_learned_from(positions, before, learned) -> None:
    net = replace(random_net(network.Shape("H", 4)), about={"data": {"positions": positions, "before": before}})
    assert training.learned_by(net) == learned
    assert training.learned_by(replace(net, about={"data": {"positions": 5}})) == 5
    assert training.learned_by(replace(net, about={"data": []})) is None


SHARE = 0.1


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven blocks of 60 positions, two of them in memory at a time."""
    monkeypatch.setattr(training, "BLOCK", 60)
    monkeypatch.setattr(training, "PORTION", 2)


def numbered() -> np.ndarray:
    """Positions whose scores are their places."""
    records = sample().copy()
    records["score"] = np.arange(len(records))
    return records


def order_of(records: np.ndarray, seed: int = 1) -> training.TrainingOrder:
    return training.TrainingOrder(position_blocks.blocks_of(records), SHARE, seed, mirrors=True)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("games_are_known", [True, False])
def test_an_epoch_goes_through_each_position_once(games_are_known: bool) -> None:
    records = numbered()
    records["game"] *= games_are_known
    apart = is_held_out(records["game"], SHARE)
    found, epochs = order_of(records), []
    assert found.count == (~apart).sum() and np.array_equal(found.validation, records[apart])
    for epoch in range(2):
        portions = list(found.portions(epoch))
        assert len(portions) == 4 and len({portion.mirror for portion in portions}) == 4
        found_in = [portion.records["score"][portion.order] for portion in portions]
        places = np.concatenate(found_in)
        assert sorted(places.tolist()) == np.flatnonzero(~apart).tolist()
        assert all(np.array_equal(portion.records, records[portion.records["score"]]) for portion in portions)
        assert all(len(set((some // 60).tolist())) <= 2 and (np.diff(some) < 0).any() for some in found_in)
        epochs.append(places.tolist())
    assert epochs[0] != epochs[1]
    again, other = (
        np.concatenate([some.records["score"][some.order] for some in order_of(records, seed).portions(0)])
        for seed in (1, 2)
    )
    assert again.tolist() == epochs[0] != other.tolist()


def test_of_many_positions_that_validate_some_are_taken_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "MAX_VALIDATION", 10)
    apart = np.flatnonzero(is_held_out(sample()["game"], SHARE))
    step = -(-len(apart) // 10)
    found = order_of(sample())
    assert step > 1 and np.array_equal(found.validation, sample()[apart[::step]])
    assert found.count == len(sample()) - len(apart)


@pytest.mark.usefixtures("small")
def test_no_more_than_a_portion_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, read = [], position_blocks.PackedBlocks.read

    def counted(self: position_blocks.PackedBlocks, first: int, last: int) -> np.ndarray:
        sizes.append(last - first)
        return read(self, first, last)

    monkeypatch.setattr(position_blocks.PackedBlocks, "read", counted)
    list(order_of(sample()).portions(0))
    assert max(sizes) == 120 and sizes.count(60) >= 6


@pytest.mark.usefixtures("small")
def test_files_teach_as_the_same_positions_in_memory_do(tmp_path: Path) -> None:
    paths = tmp_path / "a.bin", tmp_path / "b.txt", tmp_path / "c.bin"
    paths[0].write_bytes(with_checks(sample()[:100]).tobytes())
    paths[2].write_bytes(sample()[100:].tobytes())
    settings = training.TrainingSettings(network.Shape("ALL", 16), epochs=2, batch=64)
    nets = [training.Trainer(sample(), settings, threads=threads).run().network for threads in (1, 2)]
    with position_blocks.training_positions([paths[0], paths[2]], tmp_path) as found:
        assert len(found) == 400 and training.recipe_of(found) == training.recipe_of(sample())
        assert np.array_equal(without_checks(found.read(90, 110)), sample()[90:110])
        assert np.array_equal(without_checks(found.every(7)), sample()[::7])
        nets.append(training.Trainer(found, settings).run().network)
    for net in nets[1:]:
        assert all(np.array_equal(array, net.weights[name]) for name, array in nets[0].weights.items())


def test_what_is_no_packed_file_is_kept_in_a_file_without_a_name(tmp_path: Path) -> None:
    packed, text = tmp_path / "a.bin", tmp_path / "b.txt"
    packed.write_bytes(sample()[:100].tobytes())
    text.write_text("4k3/8/8/8/8/8/8/R3K3 w - - 0 1 | 500 | 1.0\n" * 30)
    with position_blocks.training_positions([text, packed], tmp_path) as found:
        assert len(found) == 130 and (found.read(0, 30)["score"] == 500).all()
        assert np.array_equal(found.read(25, 40)[5:], sample()[:10])
        assert sorted(tmp_path.iterdir()) == [packed, text]
    with position_blocks.joined(
        [position_blocks.spooled([sample()[:5], sample()[:0], sample()[5:9]], tmp_path)]
    ) as found:
        assert np.array_equal(found.read(0, 9), sample()[:9]) and not len(found.read(4, 4))


def test_a_file_that_is_cut_off_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(sample().tobytes())
    with position_blocks.open_blocks(path) as found:
        path.write_bytes(sample()[:10].tobytes())
        with pytest.raises(PackedError, match=r"a\.bin' was cut off"):
            found.read(300, 400)
