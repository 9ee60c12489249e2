"""Nets: files read and written, foreign ones, what is refused, and scores against the same written plainly."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from merino.core.board.bitboard import BLACK_PIECE, KING, WHITE
from merino.eval.evaluation import EvaluationError
from merino.eval.families import from_identity, load
from merino.eval.net.family import NetEvaluation
from merino.eval.net.features import NO_ROW, PIECE_ROWS, ROW_OF_FEATURE
from merino.eval.net.file import as_bytes, load_net, read_net, save_net
from merino.eval.net.network import (
    FINE_QA,
    MAX_FINE_QB,
    MAX_INT16,
    OUTPUTS,
    QA,
    QB,
    SCALE,
    VALUE,
    NetError,
    Network,
    Quanta,
    Shape,
    largest_sum,
    output_for,
)
from merino.lab.nets.quantising import exact_scores, finest, plain_scores, quantised
from tests.boards import records
from tests.test_features import boards

SHAPES = (Shape("ALL", 64), Shape("ALL", 40, 0, "crelu"), Shape("ALL+H+MC", 70, 16), Shape("KING*H", 32, 5, "crelu"))
OUTPUT_SHAPES = (Shape("ALL", 40, outputs=8), Shape("H", 32, 5, outputs=16))
PIECE_SHAPES = (Shape("ALL", 20, piece_values=True), Shape("ALL", 64, 0, "crelu", True))


def random_weights(shape: Shape, seed: int = 1, deviation: float = 0.2) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    return {name: draw.normal(0, deviation, size) for name, size in shape.layers().items()}


def random_net(shape: Shape, seed: int = 1) -> Network:
    return quantised(shape, random_weights(shape, seed), 210.0, {"data": {"positions": 5}})


every_shape = pytest.mark.parametrize("shape", SHAPES + OUTPUT_SHAPES + PIECE_SHAPES, ids=str)


@every_shape
def test_scores_are_those_of_the_net_written_plainly(shape: Shape) -> None:
    net, positions = random_net(shape), records(boards(60))
    found = NetEvaluation(net).white_scores(positions)
    assert found == pytest.approx(plain_scores(net, positions), abs=1e-6)
    if not shape.piece_values:
        assert net.quanta.is_fine and found == pytest.approx(exact_scores(shape, net.as_floats, positions), abs=4)
        coarse = whole_numbers(shape, net.as_floats, Quanta(QA, 100))
        scores = NetEvaluation(coarse).white_scores(positions)
        assert scores == pytest.approx(exact_scores(shape, coarse.as_floats, positions), abs=1e-6)


@every_shape
def test_a_weight_is_rounded_to_the_nearest_whole_number(shape: Shape) -> None:
    net, weights = random_net(shape), random_weights(shape)
    for name, rounded in net.as_floats.items():
        assert np.abs(rounded - weights[name]).max() <= 0.5 / net.quanta.of_layer(name) + 1e-12, name


def whole_numbers(shape: Shape, weights: dict[str, np.ndarray], quanta: Quanta) -> Network:
    """A net with these quanta, as nets were before its own were chosen."""
    whole = {name: np.rint(weight * quanta.of_layer(name)).astype(np.int16) for name, weight in weights.items()}
    return Network(shape, whole, 200.0, quanta=quanta)


def test_rounding_costs_less_than_a_centipawn() -> None:
    positions = records(boards(60))
    for shape in SHAPES + OUTPUT_SHAPES:
        weights = random_weights(shape, 4, 0.1)
        fine, exact = quantised(shape, weights, 200.0, {}), exact_scores(shape, weights, positions)
        assert fine.quanta.is_fine and QB < fine.quanta.qb <= MAX_FINE_QB
        nets = fine, whole_numbers(shape, weights, Quanta(QA, 128))
        errors = [np.abs(NetEvaluation(net).white_scores(positions) - exact).mean() for net in nets]
        assert errors[0] < min(1, 0.6 * errors[1]), (shape, errors)


def test_weights_are_rounded_as_finely_as_sixteen_bits_allow() -> None:
    shape = Shape("ALL", 1)
    plain = {name: np.zeros(size) for name, size in shape.layers().items()}
    assert finest(PIECE_SHAPES[0], {}) == Quanta()
    assert finest(shape, plain) == Quanta(FINE_QA[0], MAX_FINE_QB)
    assert finest(shape, plain | {"output": np.array([[-1.9, 0]])}).qb == 2164  # 128 x 4080 x 4111 in 32 bits
    piece = np.arange(768) % 12
    for worth, qa in ((0.4, 2040), (0.9, 1020), (1.9, 510), (3.0, QA)):  # 30 men of one kind
        assert finest(shape, plain | {"inputs": np.where(piece == 1, worth, 0.0)[:, None]}).qa == qa
    kings = plain | {"inputs": np.where(piece == 11, 3.0, 0.0)[:, None]}  # of which there is but one
    assert finest(shape, kings).qa == FINE_QA[0] and largest_sum(shape, kings) == 3
    large = plain | {"input_bias": np.array([70.0])}
    assert finest(shape, large).qa == QA and finest(shape, large | {"output": np.array([[-1.9, 0]])}).qb == 66
    assert finest(shape, large | {"output_bias": np.array([1.0])}).qb == 128  # 255 x 128 in 16 bits
    assert finest(shape, plain | {"output_bias": np.array([5.0])}).qa == QA


@pytest.mark.parametrize("features", ["ALL", "MIRRORED(KING8*ALL)", "H+MC"])
def test_no_sum_is_beyond_its_bound(features: str) -> None:
    weights = random_weights(shape := Shape(features, 16), 3)
    bound = largest_sum(shape, weights)
    views = [view for both in shape.feature_set.active(records(boards(200))) for view in both]
    sums = np.array([weights["inputs"][view].sum(axis=0) + weights["input_bias"] for view in views])
    assert np.abs(sums).max() <= bound <= MAX_INT16 / finest(shape, weights).qa


@every_shape
def test_a_net_that_is_written_is_read_again(tmp_path: Path, shape: Shape) -> None:
    net, path = random_net(shape), tmp_path / "n.net"
    save_net(net, path)
    read = load_net(path)
    assert (read.shape, read.k, read.about) == (net.shape, net.k, net.about)
    assert all(np.array_equal(array, read.weights[name]) for name, array in net.weights.items())
    evaluation, positions = load(path), records(boards(10))
    assert isinstance(evaluation, NetEvaluation) and evaluation.k == 210.0
    again = from_identity(json.loads(json.dumps(evaluation.identity)))
    assert (again.scores(positions) == evaluation.scores(positions)).all()


@pytest.mark.parametrize("shape", PIECE_SHAPES, ids=str)
def test_the_values_of_the_pieces_are_the_score(shape: Shape) -> None:
    net, positions = random_net(shape), records(boards(60))
    evaluation = NetEvaluation(net)
    values = evaluation.attributed(positions)
    sides = np.where(positions["board"] >= BLACK_PIECE, -1, 1)
    to_move = np.where(positions["side"] == WHITE, 1, -1) * float(net.as_floats["output_bias"][0]) * SCALE
    assert (values * sides).sum(axis=1) + to_move == pytest.approx(evaluation.white_scores(positions), abs=1e-6)
    assert (values[(positions["board"] & 7) >= KING] == 0).all()
    for found, views in zip(values, shape.feature_set.active(positions), strict=True):
        assert sorted(found[found != 0]) == pytest.approx(plain_values(net, *views), abs=1e-6)


def plain_values(net: Network, *views: np.ndarray) -> list[float]:
    """What each piece is worth to its owner by the definition, sorted."""
    weights, found = net.as_floats, []
    sums = [np.clip(weights["inputs"][view].sum(axis=0) + weights["input_bias"], 0, 1) for view in views]
    neurons = [each**2 if net.shape.activation == "screlu" else each for each in sums]
    for side, view in enumerate(views):
        both = np.concatenate([neurons[side], neurons[1 - side]])
        rows = [row for row in ROW_OF_FEATURE[view] if row != NO_ROW]
        found += [SCALE * float(weights["values"][r] @ both + VALUE * weights["value_constants"][r]) for r in rows]
    return sorted(found)


def test_every_piece_but_the_king_has_a_row_for_each_square() -> None:
    rows = ROW_OF_FEATURE[ROW_OF_FEATURE != NO_ROW]
    assert sorted(rows) == list(range(PIECE_ROWS)) and PIECE_ROWS == 5 * 64


OF_ANOTHER_KIND = [
    (PIECE_SHAPES[0], b"Merino net 2\n", b'"unit": 4', b'"unit": 5', "units of piece values"),
    (OUTPUT_SHAPES[0], b"Merino net 3\n", b'"outputs": 8', b'"outputs": 7', "outputs, not 7"),
]


@pytest.mark.parametrize(("shape", "version", "old", "new", "said"), OF_ANOTHER_KIND)
def test_an_older_reader_refuses_a_net_of_another_kind(
    shape: Shape, version: bytes, old: bytes, new: bytes, said: str
) -> None:
    content = as_bytes(random_net(shape))
    assert content.startswith(version) and as_bytes(random_net(SHAPES[0])).startswith(b"Merino net 1\n")
    with pytest.raises(NetError, match="bytes"):
        read_net(content.replace(version, b"Merino net 1\n", 1))
    with pytest.raises(NetError, match=said):
        read_net(content.replace(old, new, 1))


def test_a_piece_value_net_has_one_layer_of_pieces() -> None:
    for shape in (("H", 16, 0), ("ALL", 16, 8)):
        with pytest.raises(NetError, match="features ALL, one layer and one output"):
            Shape(*shape, piece_values=True)
    with pytest.raises(NetError, match="one output"):
        Shape(piece_values=True, outputs=8)


def test_each_number_of_men_has_its_output() -> None:
    for outputs in OUTPUTS:
        men = np.arange(2, 33)
        found = output_for(men, Shape(outputs=outputs).men_shift)
        assert found.tolist() == [(count - 1) * outputs // 32 for count in men]
        assert set(found.tolist()) == set(range(outputs))
    with pytest.raises(NetError, match="1, 2, 4, 8 or 16 outputs, not 6"):
        Shape(outputs=6)


def test_weights_and_constants_that_sixteen_bits_cannot_hold_are_refused() -> None:
    layers = random_weights(shape := Shape("H", 16))
    layers["input_bias"][3] = 200.0
    with pytest.raises(NetError, match="input_bias"):
        quantised(shape, layers, 200.0, {})
    net = random_net(PIECE_SHAPES[0])
    net.weights["value_constants"][7] = 3000
    with pytest.raises(NetError, match="3000"):
        NetEvaluation(net)


MOST = [
    (Shape("ALL", 16), "output", QA, 128),
    (Shape("ALL", 16), "output", 4080, 4112),
    (Shape("ALL", 16, 4), "middle", QA, 128),
    (Shape("ALL", 16, piece_values=True), "values", QA, 2184),
    (Shape("ALL", 16, piece_values=True), "value_constants", QA, 2184),
]


@pytest.mark.parametrize(("shape", "layer", "qa", "most"), MOST, ids=str)
def test_weights_with_which_play_would_overflow_are_refused(shape: Shape, layer: str, qa: int, most: int) -> None:
    weights = {name: np.ones(size, dtype=np.int16) for name, size in shape.layers().items()}
    weights["input_bias"][:], weights[layer][:] = qa, most
    net = Network(shape, weights, 200.0, quanta=Quanta(qa, QB))
    positions = records(boards(20))
    found = NetEvaluation(read_net(as_bytes(net))).white_scores(positions)
    assert found == pytest.approx(plain_scores(net, positions), abs=1e-6) and found.any()
    weights[layer].flat[-1] = most + 1
    with pytest.raises(NetError, match=f"'{layer}' has a weight of {most + 1} .* more than {most}$"):
        read_net(as_bytes(net))
    weights[layer].flat[-1] = -MAX_INT16 - 1
    with pytest.raises(NetError, match="32768"):
        read_net(as_bytes(net))


@pytest.mark.parametrize("quanta", [Quanta(), Quanta(4080, QB)], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_the_first_layer_that_sixteen_bits_cannot_hold_are_refused(quanta: Quanta, sign: int) -> None:
    shape, place = Shape("KING8*ALL", 3), np.arange(8 * 768)
    weights = {name: np.zeros(size, dtype=np.int16) for name, size in shape.layers().items()}
    weights["inputs"][place % 12 == 1, 2] = 1092 * sign  # thirty of the other side's pawns
    weights["input_bias"][2] = 7 * sign
    net = Network(shape, weights, 200.0, quanta=quanta)
    assert read_net(as_bytes(net)).shape == shape
    weights["input_bias"][2] = 8 * sign
    with pytest.raises(NetError, match=r"first layer has sums of up to 32768 as whole numbers, .* more than 32767$"):
        read_net(as_bytes(net))


def test_a_foreign_net_whose_first_layer_overflows_is_refused(tmp_path: Path) -> None:
    values = np.zeros(771 * 4 + 1, dtype="<i2")
    values[: 768 * 4] = 1000
    path = tmp_path / "q.bin"
    path.write_bytes(values.tobytes())
    assert load_net(path).shape.hidden == 4
    values[: 768 * 4] = 1024  # 32 men
    path.write_bytes(values.tobytes())
    with pytest.raises(NetError, match=r"q\.bin' is not a usable net: its first layer has sums of up to 32768"):
        load_net(path)


def test_an_older_net_whose_sums_are_only_feared_to_overflow_is_read() -> None:
    shape = Shape("H+V+ALL", 4)  # far fewer features are active together than its bound takes
    weights = {name: np.ones(size, dtype=np.int16) for name, size in shape.layers().items()}
    weights["inputs"][:] = MAX_INT16 // shape.feature_set.most + 1
    assert read_net(as_bytes(Network(shape, weights, 200.0))).quanta == Quanta()
    with pytest.raises(NetError, match="first layer"):
        read_net(as_bytes(Network(shape, weights, 200.0, quanta=Quanta(510, QB))))


def test_a_net_of_the_usual_trainer_is_read(tmp_path: Path) -> None:
    net, path = whole_numbers(shape := Shape("ALL", 48), random_net(shape).as_floats, Quanta()), tmp_path / "q.bin"
    net.weights["output"][:] //= 3  # within what that trainer writes
    inputs = np.zeros((768, 48), dtype=np.int16)
    for place, role, colour in product(range(64), range(6), range(2)):  # file * 8 + rank there
        square = place % 8 * 8 + place // 8
        inputs[384 * colour + 64 * role + square] = net.weights["inputs"][place * 12 + role * 2 + colour]
    layers = inputs, *(net.weights[name] for name in ("input_bias", "output", "output_bias"))
    content = b"".join(array.astype("<i2").tobytes() for array in layers)
    path.write_bytes(content + (b"bullet" * 11)[: -len(content) % 64])
    positions = records(boards(20))
    assert (load(path).white_scores(positions) == NetEvaluation(net).white_scores(positions)).all()


SPOILT = [
    (lambda content: content[:-2], "bytes"),
    (lambda content: content + b"\0\0", "bytes"),
    (lambda content: content.replace(b"net 1", b"net 7", 1), "version is '7'"),
    (lambda content: content[:15], "cut off"),
    (lambda content: content.replace(b'"hidden": 64', b'"hidden": 65', 1), "bytes"),
    (lambda content: content.replace(b'"features": "ALL"', b'"features": "ALX"', 1), "no block 'ALX'"),
    (lambda content: content.replace(b'"qa": ', b'"qa": 1', 1), "QA, scale and QC are 1"),
    (lambda content: content.replace(b'"qc": 8192', b'"qc": 8191', 1), "8191"),
    (lambda content: content.replace(b'"qb": ', b'"qb": 99', 1), "QB is 99"),
    (lambda content: content.replace(b'"hidden"', b'"hidde"', 1), "header"),
    (lambda content: content.replace(b'"hidden": 64', b'"hidden": 64.0', 1), "'hidden' must be a whole number"),
    (lambda content: content.replace(b'"second": 0', b'"second": 1' + 400 * b"0", 1), "'second' must be a whole"),
    (lambda content: content.replace(b'"k": 210.0', b'"k": 1e999', 1), "'k' must be a number from 0.001"),
    (lambda content: content.replace(b'"k": 210.0', b'"k": "210.0"', 1), "'k' must be a number from 0.001"),
    (lambda content: content.replace(b'{"f', b'["f', 1), "header"),
    (lambda content: b"\x7fELF\0\0" + content, "no header of Merino"),
]


@pytest.mark.parametrize(("spoil", "said"), SPOILT)
def test_what_is_no_net_is_refused_in_a_sentence(tmp_path: Path, spoil, said: str) -> None:
    path = tmp_path / "n.net"
    path.write_bytes(spoil(as_bytes(random_net(Shape("ALL", 64)))))
    with pytest.raises(EvaluationError) as refused:
        load(path)
    assert said in str(refused.value) and str(path) in str(refused.value)


def test_the_card_of_a_net_is_shown_in_characters_that_print() -> None:
    about = {"note": "a\x1b[2Jb\nc", "data": {"files": ["x\r.pgn"]}, "\x07": 1}
    printed = NetEvaluation(replace(random_net(Shape("H", 4)), about=about)).describe()
    assert printed.splitlines()[1:] == [r"note: a\x1b[2Jb\nc", "data:", r"  files: ['x\r.pgn']", r"\x07: 1"]
