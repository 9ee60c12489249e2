"""A network: its shape and its weights, rounded to the whole numbers that play computes with.

(features -> N) x 2 -> 1: each side's view sums a row of N weights for every active feature; both sums are clipped, the
side to move's first, and a last row of weights turns them into one number, with `SCALE` centipawns per 1. A second
layer of M neurons may be added: (features -> N) x 2 -> M -> 1. There may be several last rows, (features -> N) x 2 ->
1 x 8: the number of men on the board says which of them counts (`output_for`).

A piece-value net, (features -> N) x 2 -> a value for each piece, has an output row for each piece on each square
instead, without kings. The value of a piece to its owner is the product of this row with the neurons, those of the
owner's view first, plus a constant. The score is the sum of White's values minus Black's, plus a constant for the side
to move.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, KING
from merino.core.common.errors import number_of, turning
from merino.eval.evaluation import EvaluationError
from merino.eval.net import features as feature_sets

QA, QB, SCALE = 255, 64, 400  # 1.0 in the first layer, in later layers at least, and in centipawns
MAX_QB = 1024  # 1.0 in later layers at most
FINE_QA = (4080, 2040, 1020, 510)  # 1.0 in the first layer where the sums that can occur allow it, finest first
MAX_FINE_QB, FINE_QC = 4096, 8192  # 1.0 in the weights behind such a layer at most, and in their biases
FINE_SQUARE = 32640  # a sum times this / QA fits 16 bits, and so does the upper half of its product with the sum
QR = 1024  # 1.0 in the rows of pieces: finer, since rounding errors add up over the pieces
VALUE, QV = 4, 2048  # 1.0 in the constants of pieces, in units of SCALE and as a whole number
ACTIVATIONS = ("crelu", "screlu")  # clipped to 0..1, and that squared
MAX_FACTOR = 127  # of a weight that is multiplied by a neuron in 16 bits; beyond it, the product would overflow
MAX_WEIGHT = MAX_FACTOR / QB
MAX_NEURONS, MAX_SECOND = 1024, 128
ARROW, MIRRORED_WORD = "->", "mirrored"  # in the expression of a shape
OUTPUTS = (1, 2, 4, 8, 16)  # how many last rows a net may have
MAX_MEN = 32  # on a board
MAX_INT16 = 32767
LANES_OF_SUMS = 16  # in which products are added up
MAX_PIECES = 15  # of a side, without the king


class NetError(EvaluationError):
    """An unusable net; the message says why."""


@dataclass(frozen=True)
class Shape:
    """The shape of a net: its feature set, the neurons of its layers (0: no second layer), its activation, its outputs.

    With `piece_values` it is a piece-value net.
    """

    features: str = "ALL"
    hidden: int = 64
    second: int = 0
    activation: str = "screlu"
    piece_values: bool = False
    outputs: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.hidden <= MAX_NEURONS or not 0 <= self.second <= MAX_SECOND:
            raise NetError(
                f"a net has 1 to {MAX_NEURONS} neurons, and up to {MAX_SECOND} in a second layer, not "
                f"{self.hidden},{self.second}"
            )
        if self.activation not in ACTIVATIONS:
            raise NetError(f"the activation is {' or '.join(ACTIVATIONS)}, not '{self.activation}'")
        if self.outputs not in OUTPUTS:
            *others, last = map(str, OUTPUTS)
            raise NetError(f"a net has {', '.join(others)} or {last} outputs, not {self.outputs}")
        if self.piece_values and (self.second or self.outputs > 1 or not feature_sets.is_by_piece(self.feature_set)):
            raise NetError("a piece-value net has the features ALL, one layer and one output")

    @property
    def feature_set(self) -> feature_sets.FeatureSet:
        """The features; raises FeatureError."""
        return feature_sets.features(self.features)

    @property
    def men_shift(self) -> int:
        """By how many bits `output_for` shifts the number of men."""
        return (MAX_MEN // self.outputs).bit_length() - 1

    def __str__(self) -> str:
        """The expression that `parse_shape` reads."""
        inside = self.features.removeprefix(f"{feature_sets.MIRRORED}(").removesuffix(")")
        is_mirrored = self.features == f"{feature_sets.MIRRORED}({inside})" and "(" not in inside
        wanted = f"{inside} {MIRRORED_WORD}" if is_mirrored else self.features
        layers = [str(neurons) for neurons in (self.hidden, self.second) if neurons]
        last = "values" if self.piece_values else "1" if self.outputs == 1 else f"1 x {self.outputs}"
        activation = "" if self.activation == Shape.activation else f", {self.activation}"
        return f" {ARROW} ".join([wanted, *layers, last]) + activation

    def layers(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays of weights, by name, in the order of the file."""
        found = {"inputs": (self.feature_set.size, self.hidden), "input_bias": (self.hidden,)}
        if self.piece_values:
            rows = {"values": (feature_sets.PIECE_ROWS, 2 * self.hidden), "value_constants": (feature_sets.PIECE_ROWS,)}
            return found | rows | {"output_bias": (1,)}
        last = 2 * self.hidden
        if self.second:
            found |= {"middle": (2 * self.hidden, self.second), "middle_bias": (self.second,)}
            last = self.second
        return found | {"output": (self.outputs, last), "output_bias": (self.outputs,)}


def output_for(men: Any, shift: int) -> Any:
    """The number of the output for `men` on the board, 2 to 32, under `Shape.men_shift`; arrays as numbers.

    Of eight the first is for up to 4 men, the second for 5 to 8, the last for 29 to 32. The field calls them material
    buckets.
    """
    return (men - 1) >> shift


class Quanta(NamedTuple):
    """The whole numbers that stand for 1.0 in a net: in the first layer, and in the weights behind it."""

    qa: int = QA
    qb: int = QB

    @property
    def is_fine(self) -> bool:
        """Whether the first layer is finer than the neurons of Merino 1.0."""
        return self.qa > QA

    @property
    def qc(self) -> int:
        """1.0 in the biases behind the first layer."""
        return FINE_QC if self.is_fine else self.qa * self.qb

    @property
    def largest_factor(self) -> int:
        """The largest weight that is multiplied by neurons, as a whole number: beyond it products or sums overflow.

        If it is not `is_fine`, a product has 16 bits. Else each lane of 32 bits sums 2 * MAX_NEURONS / 16 products of a
        weight and of a neuron, which is no more than `qa`.
        """
        if not self.is_fine:
            return MAX_INT16 // self.qa
        return min(MAX_INT16, (1 << 31) // (2 * MAX_NEURONS // LANES_OF_SUMS) // self.qa)

    def of_layer(self, layer: str) -> int:
        """1.0 in a layer."""
        known = {"inputs": self.qa, "input_bias": self.qa, "middle": self.qb, "output": self.qb}
        return (known | {"values": QR, "value_constants": QV}).get(layer, self.qc)

    def of_neurons(self, activation: str) -> float:
        """1.0 in the outputs of the first layer's neurons, which are whole numbers."""
        if activation == "crelu":
            return self.qa
        return FINE_SQUARE * self.qa / (1 << 16) if self.is_fine else self.qa**2


COARSE = Quanta()  # those of Merino 1.0, and of piece-value nets


@dataclass(frozen=True)
class Network:
    """A quantised net: int16 arrays by the names of `Shape.layers`, K, and how it was made (JSON data).

    `search` are the numbers of the search that were tuned for it, by name; `quanta` are what stands for 1.0.
    """

    shape: Shape
    weights: Mapping[str, np.ndarray]
    k: float
    about: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, int] = field(default_factory=dict)
    quanta: Quanta = COARSE

    @cached_property
    def as_floats(self) -> dict[str, np.ndarray]:
        """The weights as real numbers, float64."""
        return {name: array / self.quanta.of_layer(name) for name, array in self.weights.items()}


def largest_sum(shape: Shape, weights: Mapping[str, np.ndarray]) -> float:
    """A bound for the weights and the sums of the first layer: no position has a larger sum, of either sign."""
    inputs, bias = weights["inputs"], weights["input_bias"]
    sums = [_most_of(shape.feature_set, sign * inputs) + sign * bias for sign in (1, -1)]
    return float(max(np.max(sums), np.abs(inputs).max(), np.abs(bias).max()))


def _is_by_men(wanted: feature_sets.FeatureSet) -> bool:
    """Whether each man on the board is one active feature: `largest_sum` is then close to what a board can reach."""
    return len(wanted.terms) == 1 and feature_sets.is_by_piece_and_king(wanted)


def _most_of(wanted: feature_sets.FeatureSet, inputs: np.ndarray) -> np.ndarray:
    """No features that can be active together have a larger sum of rows, float64[neurons].

    If each is a piece on a square there is one king of each colour, and at most one of 30 other men on a square.
    """
    if not _is_by_men(wanted):
        most = min(wanted.most, len(inputs))
        return np.partition(np.maximum(inputs, 0), -most, axis=0)[-most:].sum(axis=0)
    (term,) = wanted.terms
    places = feature_sets.piece_features(term)[0, 0].reshape(feature_sets.PIECES, 64)
    others, found = [piece for piece in range(feature_sets.PIECES) if piece % BLACK_PIECE < KING], []
    for group in np.unique(term.kings):
        rows = inputs[group + places]
        by_square = np.maximum(rows[others].max(axis=0), 0)
        kings = rows[KING].max(axis=0) + rows[KING + BLACK_PIECE].max(axis=0)
        found.append(kings + np.partition(by_square, 2 - MAX_MEN, axis=0)[2 - MAX_MEN :].sum(axis=0))
    return np.max(found, axis=0)


def check_play(shape: Shape, weights: Mapping[str, np.ndarray], quanta: Quanta) -> None:
    """Raise NetError if play would overflow with these whole numbers, int16 by layer."""
    limits = {"middle" if "middle" in weights else "output": quanta.largest_factor}
    limits |= dict.fromkeys(("values", "value_constants"), MAX_INT16 // MAX_PIECES)
    for layer in limits.keys() & weights.keys():
        largest = _largest(weights[layer])
        if largest > limits[layer]:
            raise NetError(
                f"its layer '{layer}' has a weight of {largest} as a whole number, and play would overflow with more "
                f"than {limits[layer]}"
            )
    inputs, bias, wanted = weights["inputs"], weights["input_bias"], shape.feature_set
    if wanted.most * _largest(inputs) + _largest(bias) <= MAX_INT16:
        return  # the bound takes longer
    if not (quanta.is_fine or _is_by_men(wanted)):
        return  # older nets of Merino may be beyond a bound that no position comes near
    most = largest_sum(shape, {"inputs": inputs.astype(np.int32), "input_bias": bias.astype(np.int32)})
    if most > MAX_INT16:
        raise NetError(
            f"its first layer has sums of up to {most:.0f} as whole numbers, and play would overflow with more than "
            f"{MAX_INT16}"
        )


def _largest(whole: np.ndarray) -> int:
    return int(np.abs(whole.astype(np.int32)).max())


EXAMPLE = "ALL mirrored -> 512 -> 1 x 8"
_SHAPE = re.compile(
    r"\s*(?P<features>[^>]+?)(?P<mirrored>\s+mirrored)?\s*->\s*(?P<hidden>\d+)\s*->(?:\s*(?P<second>\d+)\s*->)?"
    r"\s*(?:(?P<values>values)|1(?:\s*x\s*(?P<outputs>\d+))?)\s*(?:,\s*(?P<activation>\w+))?\s*",
    re.IGNORECASE,
)


def parse_shape(text: str) -> Shape:
    """The shape of an expression, as `str` of a shape writes it; raises NetError.

    Features, the neurons of the first layer, those of a second one if there is one, and the outputs, with arrows
    between. `mirrored` behind the features is MIRRORED(...) around them all. The last part is `1`, `1 x OUTPUTS`, or
    `values` in a piece-value net. `, crelu` at the end is the activation where it is not squared clipped ReLU.
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise NetError(f"'{text[:60]}' is no shape of a net; one is {EXAMPLE!r}")
    hidden, second, outputs = (number_of(digits or "0") for digits in found.group("hidden", "second", "outputs"))
    wanted = f"{feature_sets.MIRRORED}({found['features']})" if found["mirrored"] else found["features"]
    with turning(EvaluationError, NetError, f"'{text[:60]}' is no shape of a net: "):
        activation = (found["activation"] or Shape.activation).lower()
        shape = Shape(wanted, hidden, second, activation, bool(found["values"]), outputs if found["outputs"] else 1)
        return replace(shape, features=shape.feature_set.name)
