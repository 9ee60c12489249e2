"""The error of a net over packed positions and its gradient, by compiled code on all threads.

All weights are in one float32 vector, each layer padded with zeros to a multiple of 16. A batch is divided into a fixed
number of parts; each sums its own gradient, and the parts are summed in order. So the result does not depend on the
number of threads.

For a position with score s and result r (0, 1/2, 1) of the side to move, the target is
blend * r + (1 - blend) * sigmoid(s / K of the scores), the prediction sigmoid(SCALE * output / K of the net), and the
error |difference|^power.

The PQR objective needs no scores: it takes a position P, the position Q after the move that was played, and R after
another move. With p, q, r = 2 sigmoid(SCALE * output / K) - 1, each for its side to move, the error is
-log sigmoid(r - q) - log sigmoid(p + q) - log sigmoid(-p - q): the opponent likes R better than Q, and thinks of Q the
opposite of what is thought of P.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from merino.core.compiled.jit import entry
from merino.core.compiled.lanes import FLOAT_LANES
from merino.core.compiled.memory import record_dtype
from merino.eval.net.features import PIECE_ROWS, FeatureSet, rows_of_pieces
from merino.eval.net.network import Shape
from merino.lab.nets.backpropagation import TRIPLE, learn_moves, learn_scores

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
        ("men_shift", np.int64),  # tells the output by the number of men
        ("blend", np.float64),
        ("k", np.float64),
        ("score_k", np.float64),
        ("power", np.float64),
        ("mirror", np.uint64),  # 0: never; else a number that decides which positions are mirrored
        ("together", np.int64),  # records that are learned from together: 3 for PQR, else 1
    ]
)


@dataclass(frozen=True)
class Objective:
    """The objective: the share of the result in the target, the scale of the net, the exponent of the error.

    `score_k` is the scale of the scores, None for that of the net. With `pqr` it is the PQR objective, which has only a
    scale, and records come in threes.
    """

    blend: float = 0.1
    k: float = 200.0
    power: float = 1.6
    pqr: bool = False
    score_k: float | None = None

    @property
    def scale_of_scores(self) -> float:
        """K of the scores."""
        return self.k if self.score_k is None else self.score_k

    @property
    def together(self) -> int:
        """How many records are learned from together."""
        return TRIPLE if self.pqr else 1


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
            rows = {"values": (PIECE_ROWS, 2 * width), "value_constants": (PIECE_ROWS,)}
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

    def cut(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The layers in the shapes of `Shape.layers`, without padding."""
        views, hidden, second = self.views(vector), self.shape.hidden, self.shape.second
        found = {"inputs": views["inputs"][:, :hidden], "input_bias": views["input_bias"][:hidden]}
        if self.shape.piece_values:
            found["values"] = self._both(views["values"].T).T
            found["value_constants"] = views["value_constants"]
            return found | {"output_bias": views["output_bias"][:1]}
        if second:
            found |= {"middle": self._both(views["middle"])[:, :second], "middle_bias": views["middle_bias"][:second]}
            found["output"] = views["output"][:, :second]
        else:
            found["output"] = self._both(views["output"].T).T
        return found | {"output_bias": views["output_bias"][: self.shape.outputs]}

    def fill(self, vector: np.ndarray, layers: dict[str, np.ndarray]) -> None:
        """Write layers in the form of `cut` to a vector."""
        views, hidden, second = self.views(vector), self.shape.hidden, self.shape.second
        vector[:] = 0
        views["inputs"][:, :hidden], views["input_bias"][:hidden] = layers["inputs"], layers["input_bias"]
        views["output_bias"][: len(layers["output_bias"])] = layers["output_bias"]
        if self.shape.piece_values:
            by_view = views["values"].reshape(PIECE_ROWS, 2, self.width)
            by_view[:, :, :hidden] = layers["values"].reshape(PIECE_ROWS, 2, hidden)
            views["value_constants"][:] = layers["value_constants"]
            return
        if second:
            both = views["middle"].reshape(2, self.width, -1)
            both[:, :hidden, :second] = layers["middle"].reshape(2, hidden, second)
            views["middle_bias"][:second], views["output"][:, :second] = layers["middle_bias"], layers["output"]
        else:
            by_view = views["output"].reshape(self.shape.outputs, 2, self.width)
            by_view[:, :, :hidden] = layers["output"].reshape(self.shape.outputs, 2, hidden)

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
        options["outputs"], options["men_shift"] = self.shape.outputs, self.shape.men_shift
        options["blend"], options["k"], options["power"] = objective.blend, objective.k, objective.power
        options["score_k"] = objective.scale_of_scores
        options["mirror"], options["together"] = mirror, objective.together
        return options


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
        places = np.arange(0, len(records), options["together"][0], dtype=np.int64)
        return self._run(weights, records, places, options, self._none) / max(1, len(places))

    def add_up(self, weights: np.ndarray, records: np.ndarray, places: np.ndarray, options: np.ndarray) -> None:
        """Add up the errors over records[places], for `errors`, and the gradients of the parts, for `step`.

        For PQR a place is that of the first of three records.
        """
        self._error += self._run(weights, records, places, options, self._gradients)

    def errors(self, clears: bool = False) -> float:
        """The sum of the errors that were added up since it was last cleared."""
        found = self._error
        if clears:
            self._error = 0.0
        return found

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

    def fetch(self, weights: np.ndarray, moments: np.ndarray) -> None:
        """Nothing: these are the arrays that `step` has changed."""

    def _run(
        self, weights: np.ndarray, records: np.ndarray, places: np.ndarray, options: np.ndarray, gradients: np.ndarray
    ) -> float:
        parts, records = len(gradients), np.asarray(records).view()
        records.flags.writeable = False  # one type to compile for, in memory as mapped from the disk
        wanted = self._layout.feature_set
        rows = rows_of_pieces(wanted)
        length = -(-len(places) // parts)
        learn = learn_scores if options["together"][0] == 1 else learn_moves
        sums = np.zeros(parts)  # of this call: threads of one that Ctrl-C has ended go on with theirs

        def work(thread: int) -> None:
            for part in range(thread, parts, self._threads):
                chosen = places[part * length : (part + 1) * length]
                sums[part] = learn(
                    weights, records, chosen, options, wanted.program, rows, wanted.most, gradients[part]
                )

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
