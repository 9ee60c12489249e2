"""The error of a net over packed positions and its gradient, by compiled code on all threads.

All weights are in one float32 vector, each layer padded with zeros to a multiple of 16. A batch is divided into a fixed
number of parts; each sums its own gradient, and the parts are summed in order. So the result does not depend on the
number of threads.

For a position with score s and result r (0, 1/2, 1) of the side to move, the target is
blend * r + (1 - blend) * sigmoid(s / K), the prediction sigmoid(SCALE * output / K), and the error |difference|^power.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.board.bitboard import U64, lsb
from engine.compiled.jit import entry, kernel
from engine.compiled.memory import array_at, prefetch
from engine.compiled.records import record_dtype
from eval.net.features import SCRATCH, FeatureSet, active_features
from eval.net.network import SCALE, Shape
from eval.net.rows import PIECE_ROWS, rows_of_pieces
from eval.net.view import VIEW_SIZE, look_back
from formats.packed import read_view
from learn.net.layers import add_inputs, add_to_inputs, backward, forward
from learn.net.piece_layers import add_to_values, backward_values, forward_values, gather_values

LANES = 16
PARTS, PARTS_OF_LARGE = 16, 4  # of a batch; fewer for nets with many weights, as each part has its own gradient
LARGE = 1 << 20  # weights
AHEAD = 12  # positions prefetched

OPTIONS = record_dtype(
    [
        ("width", np.int64),  # neurons of the first layer, padded
        ("second", np.int64),  # of the second, padded; 0 for none
        ("features", np.int64),
        ("squares", np.int64),  # 1 for squared clipped ReLU
        ("values", np.int64),  # 1 for a piece-value net
        ("blend", np.float64),
        ("k", np.float64),
        ("power", np.float64),
        ("mirror", np.uint64),  # 0: never; else a number that decides which positions are mirrored
    ]
)


@dataclass(frozen=True)
class Objective:
    """The objective: the share of the result in the target, the scale of the scores, the exponent of the error."""

    blend: float = 0.25
    k: float = 200.0
    power: float = 2.6


@dataclass(frozen=True)
class Layout:
    """The places of a net's weights in one vector."""

    shape: Shape

    @cached_property
    def feature_set(self) -> FeatureSet:
        """The features."""
        return self.shape.feature_set

    @property
    def width(self) -> int:
        """Neurons of the first layer, padded."""
        return -(-self.shape.hidden // LANES) * LANES

    @property
    def second(self) -> int:
        """Neurons of the second layer, padded; 0 for none."""
        return -(-self.shape.second // LANES) * LANES

    @cached_property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The layers in order, padded. The middle one is by input, so that a row is the contribution of one input."""
        width, second = self.width, self.second
        found: dict[str, tuple[int, ...]] = {"inputs": (self.feature_set.size, width), "input_bias": (width,)}
        if self.shape.piece_values:
            rows = {"values": (PIECE_ROWS, 2 * width), "value_constants": (PIECE_ROWS,)}
            return found | rows | {"output_bias": (LANES,)}
        if second:
            found |= {"middle": (2 * width, second), "middle_bias": (second,)}
        return found | {"output": (second or 2 * width,), "output_bias": (LANES,)}

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

    def cut(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The layers in the shapes of `Shape.layers`, without padding."""
        views, hidden, second = self.views(vector), self.shape.hidden, self.shape.second
        found = {"inputs": views["inputs"][:, :hidden], "input_bias": views["input_bias"][:hidden]}
        if self.shape.piece_values:
            found["values"] = self._both(views["values"].T).T
            found["value_constants"] = views["value_constants"]
            return found | {"output_bias": views["output_bias"][:1]}
        rows = self._both(views["middle" if second else "output"])
        if second:
            found |= {"middle": rows[:, :second], "middle_bias": views["middle_bias"][:second]}
            found["output"] = views["output"][:second]
        else:
            found["output"] = rows
        return found | {"output_bias": views["output_bias"][:1]}

    def fill(self, vector: np.ndarray, layers: dict[str, np.ndarray]) -> None:
        """Write layers in the form of `cut` to a vector."""
        views, hidden, second = self.views(vector), self.shape.hidden, self.shape.second
        vector[:] = 0
        views["inputs"][:, :hidden], views["input_bias"][:hidden] = layers["inputs"], layers["input_bias"]
        views["output_bias"][:1] = layers["output_bias"]
        if self.shape.piece_values:
            by_view = views["values"].reshape(PIECE_ROWS, 2, self.width)
            by_view[:, :, :hidden] = layers["values"].reshape(PIECE_ROWS, 2, hidden)
            views["value_constants"][:] = layers["value_constants"]
            return
        both = views["middle" if second else "output"].reshape(2, self.width, -1)
        source = layers["middle" if second else "output"].reshape(2, hidden, -1)
        both[:, :hidden, : source.shape[2]] = source
        if second:
            views["middle_bias"][:second], views["output"][:second] = layers["middle_bias"], layers["output"]

    def _both(self, rows: np.ndarray) -> np.ndarray:
        """The part for the neurons of both views, without padding."""
        hidden = self.shape.hidden
        return np.concatenate([rows[:hidden], rows[self.width : self.width + hidden]])

    def options(self, objective: Objective, mirror: int = 0) -> np.ndarray:
        """The options for compiled code, OPTIONS[1]."""
        options = np.zeros(1, dtype=OPTIONS)
        options["width"], options["second"], options["features"] = self.width, self.second, self.feature_set.size
        options["squares"] = self.shape.activation == "screlu"
        options["values"] = self.shape.piece_values
        options["blend"], options["k"], options["power"] = objective.blend, objective.k, objective.power
        options["mirror"] = mirror
        return options


class Gradient:
    """Errors and gradients of nets of one layout, computed by a pool of threads. Used by one thread at a time."""

    def __init__(self, layout: Layout, pool: ThreadPoolExecutor, threads: int) -> None:
        self._layout, self._pool, self._threads = layout, pool, threads
        parts = PARTS if layout.size <= LARGE else PARTS_OF_LARGE
        self._gradients = np.zeros((parts, layout.size), dtype=np.float32)
        self._sums = np.zeros(parts)
        self._none = np.zeros((parts, 0), dtype=np.float32)

    def error(self, weights: np.ndarray, records: np.ndarray, options: np.ndarray) -> float:
        """The mean error over PACKED[n]."""
        places = np.arange(len(records), dtype=np.int64)
        return self._run(weights, records, places, options, self._none) / max(1, len(records))

    def add_up(self, weights: np.ndarray, records: np.ndarray, places: np.ndarray, options: np.ndarray) -> float:
        """The sum of the errors over records[places]; the gradients of the parts wait for `step`."""
        return self._run(weights, records, places, options, self._gradients)

    def whole(self) -> np.ndarray:
        """The gradient summed by `add_up`, float64; clears it."""
        found = self._gradients.sum(axis=0, dtype=np.float64)
        self._gradients[:] = 0
        return found

    def step(self, weights: np.ndarray, moments: np.ndarray, rates: np.ndarray) -> None:
        """A step of Adam with the gradient of `add_up`; `moments` is float32[2, size], for `rates` see `_adam`."""
        bounds = np.linspace(0, len(weights), self._threads + 1).astype(np.int64)
        list(
            self._pool.map(
                lambda thread: _adam(weights, moments, self._gradients, rates, bounds[thread], bounds[thread + 1]),
                range(self._threads),
            )
        )

    def _run(
        self, weights: np.ndarray, records: np.ndarray, places: np.ndarray, options: np.ndarray, gradients: np.ndarray
    ) -> float:
        parts = len(gradients)
        wanted = self._layout.feature_set
        rows = rows_of_pieces(wanted)
        length = -(-len(places) // parts)

        def work(thread: int) -> None:
            for part in range(thread, parts, self._threads):
                chosen = places[part * length : (part + 1) * length]
                self._sums[part] = _pass(
                    weights, records, chosen, options, wanted.program, rows, wanted.most, gradients[part]
                )

        list(self._pool.map(work, range(self._threads)))
        return float(self._sums.sum())


@kernel
def _mirrored(squares):
    """The squares mirrored left to right."""
    one, two, four = U64(0x5555555555555555), U64(0x3333333333333333), U64(0x0F0F0F0F0F0F0F0F)
    squares = (squares >> U64(1)) & one | (squares & one) << U64(1)
    squares = (squares >> U64(2)) & two | (squares & two) << U64(2)
    return (squares >> U64(4)) & four | (squares & four) << U64(4)


@kernel
def _is_mirrored(place, mirror):
    """Whether the position at this place is mirrored this time; about half of them are."""
    mixed = (U64(place) ^ mirror) * U64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> U64(32)
    return mirror != U64(0) and (mixed * U64(0xD6E8FEB86659FD93)) >> U64(63) != U64(0)


@kernel
def _features_of_views(record, is_mirrored, program, views, scratch, active, counts):
    """Fill `active` and `counts` with the features of both views of a position, the side to move first."""
    read_view(record, views[0])
    if is_mirrored:
        for piece in range(13):
            views[0, piece] = _mirrored(views[0, piece])
    look_back(views[0], views[1])
    for side in range(2):
        counts[side] = active_features(views[side], program, scratch, active[side])


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


@kernel
def _at_address(array):
    """The array without its owner, so that slices cost nothing; the caller keeps it alive."""
    return array_at(U64(array.ctypes.data), np.float32, array.size)


@entry
def _pass(weights, records, places, options, program, rows, most, gradient):
    """The sum of the errors over records[places]; its gradient is added to `gradient`, unless that is empty.

    `rows`, int32[2, 14, 64], are the features of pieces if each feature is one piece, else int32[0, 14, 64].
    """
    o = options[0]
    memory = np.zeros(10 * o.width + LANES + 3 * o.second, dtype=np.float32)  # not freed before the call returns
    all_weights, slopes = _at_address(weights), _at_address(gradient)
    return _pass_over(all_weights, records, places, options, program, rows, most, slopes, memory)


@kernel
def _pass_over(weights, records, places, options, program, rows, most, gradient, memory):
    o = options[0]
    width, squares = o.width, o.squares != 0
    views = np.zeros((2, VIEW_SIZE), dtype=np.uint64)
    scratch = np.zeros(SCRATCH, dtype=np.int32)
    active, counts = np.zeros((2, most), dtype=np.int32), np.zeros(2, dtype=np.int64)
    address = U64(memory.ctypes.data)
    buffers = array_at(address, np.float32, (5, 2 * width))  # sums, outputs of neurons, slopes, scratch, sums of values
    second = array_at(address + U64(4 * (10 * width + LANES)), np.float32, (3, o.second))
    total = 0.0
    for number in range(len(places)):
        ahead = places[min(number + AHEAD, len(places) - 1)]
        prefetch(U64(records.ctypes.data) + U64(32 * ahead))
        record = records[places[number]]
        is_mirrored = _is_mirrored(places[number], o.mirror)
        if len(rows):
            counts[:] = _features_of_pieces(record, is_mirrored, rows, active)
        else:
            _features_of_views(record, is_mirrored, program, views, scratch, active, counts)
        for side in range(2):
            add_inputs(weights, active[side], counts[side], width, o.features, buffers[0, side * width :])
        if o.values:
            constant = gather_values(weights, o, active, counts, buffers[4])
            output = forward_values(weights, o, buffers, constant, squares)
        else:
            output = forward(weights, o, buffers, second, squares)
        predicted = _sigmoid(output * SCALE / o.k)
        target = o.blend * (record.result * 0.5) + (1.0 - o.blend) * _sigmoid(record.score / o.k)
        off = predicted - target
        if len(gradient) == 0:
            total += abs(off) ** o.power
            continue
        steepness = abs(off) ** (o.power - 1.0)
        total += steepness * abs(off)
        slope = o.power * (steepness if off > 0 else -steepness) * predicted * (1.0 - predicted) * SCALE / o.k
        if o.values:
            add_to_values(gradient, o, active, counts, buffers[1], np.float32(slope))
            backward_values(gradient, o, buffers, squares, np.float32(slope))
        else:
            backward(weights, gradient, o, buffers, second, squares, np.float32(slope))
        for side in range(2):
            add_to_inputs(gradient, active[side], counts[side], width, o.features, buffers[2, side * width :])
    return total


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
