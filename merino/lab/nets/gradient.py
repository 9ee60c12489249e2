"""The error of a net over packed positions and its gradient, by compiled code on all threads.

All weights are in one float32 vector, each layer padded with zeros to a multiple of 16. A batch is divided into a fixed
number of parts; each sums its own gradient, and the parts are summed in order. So the result does not depend on the
number of threads.

For a position with score s and result r (0, 1/2, 1) of the side to move, the target is
blend * r + (1 - blend) * sigmoid(s / K of the scores), the prediction sigmoid(SCALE * output / K of the net), and the
error |difference|^power.
"""

import ctypes
import operator
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from merino.core.board.bitboard import U64, lsb, mirror, popcount
from merino.core.compiled import lanes
from merino.core.compiled.jit import Later, entry, kernel, primitive
from merino.core.compiled.memory import array_at, prefetch, record_dtype
from merino.eval.net import features as feature_sets
from merino.eval.net import network, play, view
from merino.formats.packed import read_view

# Sixteen floats as one value, which the processor takes in whole registers: see `core.compiled.lanes`.

ir: Any = Later("llvmlite.ir")
types: Any = Later("numba.core.types")
FLOAT_LANES = 16
float_lanes = lanes.Lanes("float_lanes", FLOAT_LANES, ctypes.c_float, {operator.add: "fadd", operator.mul: "fmul"})


def _constants(*numbers: float) -> list[Any]:
    """Float lanes whose numbers all are one, for each of these."""
    return [ir.Constant(float_lanes.vector, [number] * FLOAT_LANES) for number in numbers]


@primitive(lambda address: float_lanes.at(address).copy())
def load_floats(typing, address):
    """The float32[16] at `address`, uint64."""
    return lanes.load(float_lanes)


@primitive(lambda address, row: np.copyto(float_lanes.at(address), row))
def store_floats(typing, address, row):
    """Write float32[16] to `address`, uint64."""
    return lanes.store(float_lanes)


@primitive(lambda number: np.full(FLOAT_LANES, number, dtype=np.float32))
def floats_of(typing, number):
    """The float32[16] whose numbers all are `number`, float32."""

    def generate(context, builder, signature, args):
        return lanes.spread(builder, args[0], float_lanes.vector)

    return float_lanes(types.float32), generate


@primitive(lambda row: np.clip(row, np.float32(0), np.float32(1)))
def clipped_floats(typing, row):
    """Each number of float32[16] raised to 0 and cut at 1."""

    def generate(context, builder, signature, args):
        zeros, ones = _constants(0.0, 1.0)
        raised = builder.select(builder.fcmp_ordered(">", args[0], zeros), args[0], zeros)
        return builder.select(builder.fcmp_ordered("<", raised, ones), raised, ones)

    return float_lanes(float_lanes), generate


@primitive(lambda row, values: np.where((row > 0) & (row < 1), values, np.float32(0)))
def where_inside(typing, row, values):
    """The numbers of float32[16] `values` where those of `row` are between 0 and 1, elsewhere 0."""

    def generate(context, builder, signature, args):
        zeros, ones = _constants(0.0, 1.0)
        inside = builder.and_(builder.fcmp_ordered(">", args[0], zeros), builder.fcmp_ordered("<", args[0], ones))
        return builder.select(inside, args[1], zeros)

    return float_lanes(float_lanes, float_lanes), generate


def _sum_by_halves(row):
    while len(row) > 1:
        row = row[: len(row) // 2] + row[len(row) // 2 :]
    return row[0]


@primitive(_sum_by_halves)
def sum_of_floats(typing, row):
    """The sum of float32[16], float32: the upper half is added to the lower one, and so on."""

    def generate(context, builder, signature, args):
        row, half = args[0], FLOAT_LANES // 2
        while half:
            lower, upper = (
                ir.Constant(ir.VectorType(ir.IntType(32), half), list(range(at, at + half))) for at in (0, half)
            )
            row, half = builder.fadd(*(builder.shuffle_vector(row, row, part) for part in (lower, upper))), half // 2
        return builder.extract_element(row, ir.Constant(ir.IntType(32), 0))

    return types.float32(float_lanes.type), generate


@kernel
def look_back(seen, other):
    """Fill `other` with the opponent's view of the position `seen`, without facts."""
    for kind in range(view.KINDS):
        other[kind ^ 1] = mirror(seen[kind])
    other[view.OCCUPIED] = mirror(seen[view.OCCUPIED])


# The layers of a net, forward and backward, for one position; weights in the order of `Layout`. Rows are float32, and
# as long as a multiple of FLOAT_LANES. In the last layer of a piece-value net, `neurons` begins with those of the side
# to move. A piece of the other side swaps the two halves, and its value is subtracted: so the sum of all values is one
# row of weights, combined for each position.
@kernel
def _at(row, index):
    """The address of row[index]; `row` is float32[n]."""
    return U64(row.ctypes.data) + U64(4 * index)


@kernel
def add_inputs(weights, active, count, width, features, sums):
    """Fill `sums` with the bias plus the rows of active features; each block of neurons stays in registers."""
    size, fours = U64(4 * width), count & ~3
    for block in range(0, width, FLOAT_LANES):
        column = _at(weights, block)
        total = _block_of(column, features, size)
        for index in range(0, fours, 4):
            a, b = _block_of(column, active[index], size), _block_of(column, active[index + 1], size)
            c, d = _block_of(column, active[index + 2], size), _block_of(column, active[index + 3], size)
            total = total + ((a + b) + (c + d))
        for index in range(fours, count):
            total = total + _block_of(column, active[index], size)
        store_floats(_at(sums, block), total)


@kernel
def _block_of(column, row, size):
    """One block of a row of weights; `column` is its address in row 0, `size` the bytes of a row."""
    return load_floats(column + U64(row) * size)


@kernel
def add_to_inputs(gradient, active, count, width, features, slopes):
    """Add the gradient of one view's sums to the rows of its active features and to the bias."""
    size = U64(4 * width)
    for block in range(0, width, FLOAT_LANES):
        column, slope = _at(gradient, block), load_floats(_at(slopes, block))
        add_floats(column + U64(features) * size, slope)
        for index in range(count):
            add_floats(column + U64(active[index]) * size, slope)


@kernel
def add_floats(address, numbers):
    """Add float32[16] to those at an address."""
    store_floats(address, load_floats(address) + numbers)


@kernel
def add_row(target, row, factor):
    """Add `factor` times a row to `target`."""
    factors = floats_of(factor)
    for k in range(0, len(row), FLOAT_LANES):
        add_floats(_at(target, k), factors * load_floats(_at(row, k)))


@kernel
def set_row(target, row, factor):
    """Make `target` `factor` times a row."""
    factors = floats_of(factor)
    for k in range(0, len(row), FLOAT_LANES):
        store_floats(_at(target, k), factors * load_floats(_at(row, k)))


@kernel
def activate(sums, out, squares):
    """Clipped to 0..1, and squared for squared clipped ReLU."""
    for k in range(0, len(sums), FLOAT_LANES):
        clipped = clipped_floats(load_floats(_at(sums, k)))
        store_floats(_at(out, k), clipped * clipped if squares else clipped)


@kernel
def activate_back(sums, slopes, squares):
    """Turn `slopes` from those of the neurons' outputs into those of their sums."""
    for k in range(0, len(sums), FLOAT_LANES):
        total, slope = load_floats(_at(sums, k)), load_floats(_at(slopes, k))
        if squares:
            slope = slope * (total + total)
        store_floats(_at(slopes, k), where_inside(total, slope))


@kernel
def dot(a, b):
    """The dot product of two rows."""
    total = floats_of(np.float32(0))
    for k in range(0, len(a), FLOAT_LANES):
        total = total + load_floats(_at(a, k)) * load_floats(_at(b, k))
    return sum_of_floats(total)


@kernel
def _output_place(o, output):
    """Where in the vector the row of this output begins, and where its bias is."""
    first, rows = 2 * o.width, (o.features + 1) * o.width
    if o.second:
        rows += (first + 1) * o.second
    size = first if o.second == 0 else o.second
    return rows + output * size, rows + o.outputs * size + output


@kernel
def forward(weights, o, buffers, second, output, squares):
    """What this output of the net gives for the sums in buffers[0]; neurons give buffers[1] and second[1]."""
    first = 2 * o.width
    behind = (o.features + 1) * o.width
    last, last_bias = _output_place(o, output)
    activate(buffers[0, :first], buffers[1, :first], squares)
    if o.second == 0:
        return dot(buffers[1, :first], weights[last:]) + weights[last_bias]
    sums, bias = second[0], behind + first * o.second
    set_row(sums, weights[bias : bias + o.second], np.float32(1))
    for k in range(first):
        value = buffers[1, k]
        if value != np.float32(0):
            add_row(sums, weights[behind + k * o.second : behind + (k + 1) * o.second], value)
    activate(sums, second[1], squares)
    return dot(second[1], weights[last:]) + weights[last_bias]


@kernel
def backward(weights, gradient, o, buffers, second, output, squares, slope):
    """Add the gradient of all layers after the first; the slopes of its sums go to buffers[2]."""
    first = 2 * o.width
    behind = (o.features + 1) * o.width
    last, last_bias = _output_place(o, output)
    slopes = buffers[2]
    gradient[last_bias] += slope
    if o.second == 0:
        set_row(slopes, weights[last : last + first], slope)
        add_row(gradient[last:], buffers[1, :first], slope)
    else:
        bias = behind + first * o.second
        add_row(gradient[last:], second[1], slope)
        set_row(second[2], weights[last : last + o.second], slope)
        activate_back(second[0], second[2], squares)
        add_row(gradient[bias:], second[2], np.float32(1))
        for k in range(first):
            row = behind + k * o.second
            slopes[k] = dot(second[2], weights[row:])
            value = buffers[1, k]
            if value != np.float32(0):
                add_row(gradient[row:], second[2], value)
    activate_back(buffers[0, :first], slopes, squares)


@kernel
def _first_value(o):
    """The index of the pieces' first row in the vector of the weights."""
    return (o.features + 1) * o.width


@kernel
def _first_constant(o):
    """The index of the pieces' first constant."""
    return _first_value(o) + feature_sets.PIECE_ROWS * 2 * o.width


@kernel
def gather_values(weights, o, active, counts, mixed):
    """Fill `mixed` with the sum of all pieces' rows, with signs and halves as above; the sum of the constants.

    `active`, int32[2, most], are the features of both views, the side to move first.
    """
    width, first, constants = o.width, _first_value(o), _first_constant(o)
    mixed[: 2 * width] = np.float32(0)
    total = np.float32(0)
    for side in range(2):
        sign = np.float32(-1) if side else np.float32(1)
        own, other = mixed[side * width : (side + 1) * width], mixed[(1 - side) * width : (2 - side) * width]
        for index in range(counts[side]):
            row = feature_sets.ROW_OF_FEATURE[active[side, index]]
            if row == feature_sets.NO_ROW:
                continue
            start = first + 2 * width * row
            add_row(own, weights[start : start + width], sign)
            add_row(other, weights[start + width : start + 2 * width], sign)
            total += sign * weights[constants + row]
    return total


@kernel
def forward_values(weights, o, buffers, constant, squares):
    """The output of the net from the sums in buffers[0] and the row in buffers[3]; outputs of neurons go to [1]."""
    both = 2 * o.width
    activate(buffers[0, :both], buffers[1, :both], squares)
    last = weights[_first_constant(o) + feature_sets.PIECE_ROWS]
    return dot(buffers[1, :both], buffers[3, :both]) + np.float32(network.VALUE) * constant + last


@kernel
def add_to_values(gradient, o, active, counts, neurons, slope):
    """Add to the gradient of the rows and constants of the pieces on the board."""
    width, first, constants = o.width, _first_value(o), _first_constant(o)
    for side in range(2):
        signed = -slope if side else slope
        own, other = neurons[side * width : (side + 1) * width], neurons[(1 - side) * width : (2 - side) * width]
        for index in range(counts[side]):
            row = feature_sets.ROW_OF_FEATURE[active[side, index]]
            if row == feature_sets.NO_ROW:
                continue
            start = first + 2 * width * row
            add_row(gradient[start:], own, signed)
            add_row(gradient[start + width :], other, signed)
            gradient[constants + row] += np.float32(network.VALUE) * signed


@kernel
def backward_values(gradient, o, buffers, squares, slope):
    """Add the gradient of the constant of the side to move; the slopes of the first layer's sums go to buffers[2]."""
    both = 2 * o.width
    gradient[_first_constant(o) + feature_sets.PIECE_ROWS] += slope
    set_row(buffers[2], buffers[3, :both], slope)
    activate_back(buffers[0, :both], buffers[2], squares)


AHEAD = 12  # positions prefetched
OUTPUT = 2  # where in a slot's numbers that of the output is, behind those of the active features of both views
_FINDER = 2 * view.VIEW_SIZE + feature_sets.SCRATCH // 2  # words of memory to find features with


@kernel
def draws_mirror(place, mirror):
    """Whether the position at this place is mirrored this time; about half of them are."""
    mixed = (U64(place) ^ mirror) * U64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> U64(32)
    return mirror != U64(0) and (mixed * U64(0xD6E8FEB86659FD93)) >> U64(63) != U64(0)


@kernel
def _features_of_views(record, is_mirrored, program, views, scratch, active, counts):
    """Fill `active` and `counts` with the features of both views of a position, the side to move first."""
    read_view(record, views[0])
    if is_mirrored:
        view.mirror_view(views[0])
    look_back(views[0], views[1])
    for side in range(2):
        counts[side] = feature_sets.active_features(views[side], program, scratch, active[side])


@kernel
def _features_of_pieces(record, is_mirrored, rows, active):
    """The same if each feature is one piece; their number for each side."""
    left, count = U64(record.occupied), 0
    turned = 7 if is_mirrored else 0
    while left:
        piece = np.int64(record.pieces[count >> 1]) >> 4 * (count & 1) & 15
        square = lsb(left) ^ turned
        active[0, count] = rows[0, piece, square]
        active[1, count] = rows[1, piece, square]
        count += 1
        left &= left - U64(1)
    return count


@kernel
def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@entry
def learn_scores(weights, records, places, options, program, rows, most, gradient):
    """The sum of the errors over records[places]; its gradient is added to `gradient`, unless that is empty.

    `rows`, int32[2, 14, 64], are the features of pieces if each feature is one piece, else int32[0, 14, 64].
    """
    memory = np.zeros(_FINDER + _slot_size(options[0], most), dtype=np.uint64)  # not freed before the call returns
    return _pass_over_scores(weights, records, places, options[0], program, rows, most, gradient, memory)


@kernel
def _pass_over_scores(weights, records, places, o, program, rows, most, gradient, memory):
    finder, slot = _finder(memory), _slot(o, most, memory)
    total = 0.0
    for number in range(len(places)):
        ahead = places[min(number + AHEAD, len(places) - 1)]
        prefetch(U64(records.ctypes.data) + U64(32 * ahead))
        place = places[number]
        is_mirrored = draws_mirror(place, o.mirror)
        total += _learn_score(weights, gradient, o, records[place], is_mirrored, program, rows, finder, slot)
    return total


@kernel(makes_arrays=True)
def _finder(memory):
    """Both views and scratch memory."""
    address = U64(memory.ctypes.data)
    scratch = array_at(address + U64(8 * 2 * view.VIEW_SIZE), np.int32, feature_sets.SCRATCH)
    return array_at(address, np.uint64, (2, view.VIEW_SIZE)), scratch


@kernel
def _slot_size(o, most):
    """The words of memory that one position needs on its way through the net and back."""
    return 3 + most + (8 * o.width + 3 * o.second) // 2


@kernel(makes_arrays=True)
def _slot(o, most, memory):
    """Where a position is worked on: active features of both views, their numbers and OUTPUT, and two blocks of rows.

    The first block: sums, outputs of neurons, slopes, sums of values. The second: those of the second layer.
    """
    start = U64(memory.ctypes.data) + U64(8 * _FINDER)
    buffers = array_at(start, np.float32, (4, 2 * o.width))
    start += U64(4 * 8 * o.width)
    second = array_at(start, np.float32, (3, o.second))
    start += U64(4 * 3 * o.second)
    return array_at(start + U64(24), np.int32, (2, most)), array_at(start, np.int64, 3), buffers, second


@kernel
def _learn_score(weights, gradient, o, record, is_mirrored, program, rows, finder, slot):
    """The error at a position with a score and a result; its gradient is added, unless `gradient` is empty."""
    output = _forward(weights, o, record, is_mirrored, program, rows, finder, slot)
    predicted = _sigmoid(output * network.SCALE / o.k)
    target = o.blend * (record.result * 0.5) + (1.0 - o.blend) * _sigmoid(record.score / o.score_k)
    off = predicted - target
    if len(gradient) == 0:
        return abs(off) ** o.power
    steepness = abs(off) ** (o.power - 1.0)
    slope = o.power * (steepness if off > 0 else -steepness) * predicted * (1.0 - predicted) * network.SCALE / o.k
    _backward(weights, gradient, o, np.float32(slope), slot)
    return steepness * abs(off)


@kernel
def _forward(weights, o, record, is_mirrored, program, rows, finder, slot):
    """The output of the net; what `_backward` needs of this position stays in the slot."""
    views, scratch = finder
    active, counts, buffers, second = slot
    if len(rows):
        counts[:OUTPUT] = _features_of_pieces(record, is_mirrored, rows, active)
    else:
        _features_of_views(record, is_mirrored, program, views, scratch, active, counts)
    for side in range(2):
        add_inputs(weights, active[side], counts[side], o.width, o.features, buffers[0, side * o.width :])
    if o.values:
        constant = gather_values(weights, o, active, counts, buffers[3])
        return forward_values(weights, o, buffers, constant, o.squares != 0)
    counts[OUTPUT] = play.output_by(popcount(U64(record.occupied)), o.men_shift)
    return forward(weights, o, buffers, second, counts[OUTPUT], o.squares != 0)


@kernel
def _backward(weights, gradient, o, slope, slot):
    """Add the gradient of a position, given the slope of the error over the net's output."""
    active, counts, buffers, second = slot
    squares = o.squares != 0
    if o.values:
        add_to_values(gradient, o, active, counts, buffers[1], slope)
        backward_values(gradient, o, buffers, squares, slope)
    else:
        backward(weights, gradient, o, buffers, second, counts[OUTPUT], squares, slope)
    for side in range(2):
        add_to_inputs(gradient, active[side], counts[side], o.width, o.features, buffers[2, side * o.width :])


PARTS, PARTS_OF_LARGE = 16, 4  # of a batch; fewer for nets with many weights, as each part has its own gradient
LARGE = 1 << 20  # weights
MIN_PART = 512  # positions; adding up the gradients of many smaller parts takes a sixth of the time

OPTIONS = record_dtype(
    [
        ("width", np.int64),  # neurons of the first layer, padded
        ("second", np.int64),  # of the second, padded; 0 for none
        ("features", np.int64),
        ("squares", np.int64),  # 1 for squared clipped ReLU
        ("values", np.int64),  # 1 for a piece-value net
        ("outputs", np.int64),
        ("men_shift", np.int64),  # selects the output by the number of men
        ("blend", np.float64),
        ("k", np.float64),
        ("score_k", np.float64),
        ("power", np.float64),
        ("mirror", np.uint64),  # 0: never; else a number that decides which positions are mirrored
    ]
)


@dataclass(frozen=True)
class Objective:
    """The objective: the share of the result in the target, the scale of the net, the exponent of the error.

    `score_k` is the scale of the scores, None for that of the net.
    """

    blend: float = 0.1
    k: float = 200.0
    power: float = 1.6
    score_k: float | None = None

    @property
    def scale_of_scores(self) -> float:
        """K of the scores."""
        return self.k if self.score_k is None else self.score_k


@dataclass(frozen=True)
class Layout:
    """The places of a net's weights in one vector."""

    shape: network.Shape

    @cached_property
    def feature_set(self) -> feature_sets.FeatureSet:
        """The features."""
        return self.shape.feature_set

    @property
    def width(self) -> int:
        """Neurons of the first layer, padded."""
        return -(-self.shape.hidden // FLOAT_LANES) * FLOAT_LANES

    @property
    def second(self) -> int:
        """Neurons of the second layer, padded; 0 for none."""
        return -(-self.shape.second // FLOAT_LANES) * FLOAT_LANES

    @cached_property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The layers in order, padded. The middle one is by input, so that a row is the contribution of one input."""
        width, second = self.width, self.second
        found: dict[str, tuple[int, ...]] = {"inputs": (self.feature_set.size, width), "input_bias": (width,)}
        if self.shape.piece_values:
            rows = {"values": (feature_sets.PIECE_ROWS, 2 * width), "value_constants": (feature_sets.PIECE_ROWS,)}
            return found | rows | {"output_bias": (FLOAT_LANES,)}
        if second:
            found |= {"middle": (2 * width, second), "middle_bias": (second,)}
        outputs = self.shape.outputs
        return found | {"output": (outputs, second or 2 * width), "output_bias": (FLOAT_LANES,)}

    @cached_property
    def size(self) -> int:
        """Of the vector."""
        return sum(int(np.prod(size)) for size in self.sizes.values())

    def views(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The layers of a vector, as arrays that share its memory."""
        found, at = {}, 0
        for name, size in self.sizes.items():
            count = int(np.prod(size))
            found[name] = vector[at : at + count].reshape(size)
            at += count
        return found

    def _unpadded(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The layers of a vector without padding, as views of it; the neurons of both sides' views along an axis."""
        hidden, second, outputs, width = self.shape.hidden, self.shape.second, self.shape.outputs, self.width
        found = self.views(vector)
        for name, part in found.items():
            if name in ("inputs", "input_bias"):
                found[name] = part[..., :hidden]
            elif name == "middle":
                found[name] = part.reshape(2, width, -1)[:, :hidden, :second]
            elif name == "values" or name == "output" and not second:
                found[name] = part.reshape(-1, 2, width)[:, :, :hidden]
            elif name != "value_constants":
                found[name] = part[:outputs] if name == "output_bias" else part[..., :second]
        return found

    def cut(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The layers in the shapes of `Shape.layers`, without padding."""
        sizes = self.shape.layers()
        return {name: part.reshape(sizes[name]) for name, part in self._unpadded(vector).items()}

    def fill(self, vector: np.ndarray, layers: Mapping[str, np.ndarray]) -> None:
        """Write layers in the form of `cut` to a vector."""
        vector[:] = 0
        for name, part in self._unpadded(vector).items():
            part[:] = layers[name].reshape(part.shape)

    def options(self, objective: Objective, mirror: int = 0) -> np.ndarray:
        """The options for compiled code, OPTIONS[1]."""
        shape = self.shape
        layers = self.width, self.second, self.feature_set.size, shape.activation == "screlu", shape.piece_values
        target = objective.blend, objective.k, objective.scale_of_scores, objective.power
        return np.array([(*layers, shape.outputs, shape.men_shift, *target, mirror)], dtype=OPTIONS)


class Gradient:
    """Errors and gradients of nets of one layout, computed by a pool of threads. Used by one thread at a time."""

    def __init__(self, layout: Layout, pool: ThreadPoolExecutor, threads: int, batch: int) -> None:
        """For batches of at most `batch` positions."""
        self._layout, self._pool, self._threads = layout, pool, threads
        most = PARTS if layout.size <= LARGE else PARTS_OF_LARGE
        parts = min(most, max(PARTS_OF_LARGE, batch // MIN_PART))
        self._gradients = np.zeros((parts, layout.size), dtype=np.float32)
        self._error = 0.0
        self._none = np.zeros((parts, 0), dtype=np.float32)

    def error(self, weights: np.ndarray, records: np.ndarray, options: np.ndarray) -> float:
        """The mean error over PACKED[n]."""
        places = np.arange(len(records))
        return self._run(weights, records, places, options, self._none) / max(1, len(places))

    def add_up(self, weights: np.ndarray, records: np.ndarray, places: np.ndarray, options: np.ndarray) -> None:
        """Add up the errors over records[places], for `errors`, and the gradients of the parts, for `step`."""
        self._error += self._run(weights, records, places, options, self._gradients)

    def errors(self, clears: bool = False) -> float:
        """The sum of the errors that were added up since it was last cleared."""
        found, self._error = self._error, 0.0 if clears else self._error
        return found

    def whole(self) -> np.ndarray:
        """The gradient summed by `add_up`, float64; clears it."""
        found = self._gradients.sum(axis=0, dtype=np.float64)
        self._gradients[:] = 0
        return found

    def step(self, weights: np.ndarray, moments: np.ndarray, rates: np.ndarray) -> None:
        """A step of Adam with the gradient of `add_up`; `moments` is float32[2, size], for `rates` see `_adam`."""
        bounds = np.linspace(0, len(weights), self._threads + 1).astype(np.int64)
        list(self._pool.map(partial(_adam, weights, moments, self._gradients, rates), bounds[:-1], bounds[1:]))

    def fetch(self, weights: np.ndarray, moments: np.ndarray) -> None:
        """Nothing: these are the arrays that `step` has changed."""

    def _run(
        self, weights: np.ndarray, records: np.ndarray, places: np.ndarray, options: np.ndarray, gradients: np.ndarray
    ) -> float:
        parts, records = len(gradients), np.asarray(records).view()
        records.flags.writeable = False  # one type to compile for, in memory as mapped from the disk
        wanted = self._layout.feature_set
        rows = feature_sets.PIECE_FEATURES if feature_sets.is_by_piece(wanted) else feature_sets.PIECE_FEATURES[:0]
        length = -(-len(places) // parts)
        sums = np.zeros(parts)  # of this call: threads of one that Ctrl-C has ended go on with theirs

        def work(thread: int) -> None:
            for part in range(thread, parts, self._threads):
                chosen = places[part * length : (part + 1) * length]
                known = options, wanted.program, rows, wanted.most
                sums[part] = learn_scores(weights, records, chosen, *known, gradients[part])

        list(self._pool.map(work, range(self._threads)))
        return float(sums.sum())


@entry
def _adam(weights, moments, gradients, rates, start, stop):
    """A step of Adam on weights[start:stop] with the sum of `gradients`, which are cleared.

    `rates`, float64: learning rate (bias corrections included), betas, epsilon, 1 / positions, decay, largest weight.
    """
    rate, beta1, beta2 = np.float32(rates[0]), np.float32(rates[1]), np.float32(rates[2])
    epsilon, share, decay = np.float32(rates[3]), np.float32(rates[4]), np.float32(rates[5])
    most = np.float32(rates[6])
    one = np.float32(1)
    for part in range(1, len(gradients)):
        for k in range(start, stop):
            gradients[0, k] += gradients[part, k]
            gradients[part, k] = 0
    for k in range(start, stop):
        slope = gradients[0, k] * share
        gradients[0, k] = 0
        moments[0, k] = beta1 * moments[0, k] + (one - beta1) * slope
        moments[1, k] = beta2 * moments[1, k] + (one - beta2) * slope * slope
        moved = weights[k] - rate * moments[0, k] / (np.sqrt(moments[1, k]) + epsilon) - decay * weights[k]
        weights[k] = min(max(moved, -most), most)
