"""A network as numbers: its shape, its weights, and how they become whole numbers.

(features -> N) x 2 -> 1: each side's view adds up a row of N weights for every active feature, both sums are clipped
(the side to move comes first), and a last row of weights makes one number of them, `SCALE` centipawns to 1. A second
layer of M neurons may stand between: (features -> N) x 2 -> M -> 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from eval.evaluation import EvaluationError
from eval.net.features import FeatureSet, features

QA, QB, SCALE = 255, 64, 400  # 1.0 in the first layer, in those behind it, and in centipawns
ACTIVATIONS = ("crelu", "screlu")  # clipped to 0..1, and that squared
LARGEST_WEIGHT = 127 / QB  # beyond it sums and products of 16 bits would run over
MOST_NEURONS, MOST_SECOND = 1024, 128


class NetError(EvaluationError):
    """A net that cannot be used; the message says why."""


@dataclass(frozen=True)
class Shape:
    """What a net consists of: the expression of its features, neurons of its layers (0: no second), activation."""

    features: str = "ALL"
    hidden: int = 64
    second: int = 0
    activation: str = "screlu"

    def __post_init__(self) -> None:
        if not 1 <= self.hidden <= MOST_NEURONS or not 0 <= self.second <= MOST_SECOND:
            raise NetError(
                f"a net has 1 to {MOST_NEURONS} neurons, and up to {MOST_SECOND} in a second layer, not "
                f"{self.hidden},{self.second}"
            )
        if self.activation not in ACTIVATIONS:
            raise NetError(f"the activation is {' or '.join(ACTIVATIONS)}, not '{self.activation}'")

    @property
    def feature_set(self) -> FeatureSet:
        """The features; raises FeatureError."""
        return features(self.features)

    def __str__(self) -> str:
        second = f"-> {self.second} " if self.second else ""
        size = self.feature_set.size
        return f"({self.features}: {size} -> {self.hidden}) x 2 {second}-> 1, {self.activation}"

    def layers(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays of weights, by name, in the order of the file."""
        found = {"inputs": (self.feature_set.size, self.hidden), "input_bias": (self.hidden,)}
        last = 2 * self.hidden
        if self.second:
            found |= {"middle": (2 * self.hidden, self.second), "middle_bias": (self.second,)}
            last = self.second
        return found | {"output": (last,), "output_bias": (1,)}


def quantum(layer: str) -> int:
    """What 1.0 is in the whole numbers of a layer."""
    return {"inputs": QA, "input_bias": QA, "middle": QB, "output": QB}.get(layer, QA * QB)


@dataclass(frozen=True)
class Network:
    """A net in whole numbers: int16 arrays by the names of `Shape.layers`, K, and how it came about (JSON data)."""

    shape: Shape
    weights: Mapping[str, np.ndarray]
    k: float
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def as_floats(self) -> dict[str, np.ndarray]:
        """The weights as real numbers, float64."""
        return {name: array / quantum(name) for name, array in self.weights.items()}


def quantised(shape: Shape, weights: Mapping[str, np.ndarray], k: float, about: Mapping[str, Any]) -> Network:
    """The net of real weights, rounded to whole numbers; raises NetError where one is too large for that."""
    whole = {}
    for name, size in shape.layers().items():
        scaled = np.rint(np.asarray(weights[name], dtype=np.float64).reshape(size) * quantum(name))
        if not np.isfinite(scaled).all() or np.abs(scaled).max(initial=0) > np.iinfo(np.int16).max:
            raise NetError(f"a weight of '{name}' is too large for 16 bits")
        whole[name] = scaled.astype(np.int16)
    return Network(shape, whole, k, about)


def exact_scores(shape: Shape, weights: Mapping[str, np.ndarray], positions: np.ndarray) -> np.ndarray:
    """White's scores of POSITION[n] in centipawns under real weights, float64[n]: plain and slow, to compare with."""
    found = []
    squares = shape.activation == "screlu"
    for record, (white, black) in zip(positions, shape.feature_set.active(positions), strict=True):
        sums = [weights["inputs"][active].sum(axis=0) + weights["input_bias"] for active in (white, black)]
        if record["side"]:
            sums.reverse()
        layer = _clipped(np.concatenate(sums), squares)
        if shape.second:
            layer = _clipped(layer @ weights["middle"] + weights["middle_bias"], squares)
        value = float(layer @ weights["output"] + weights["output_bias"][0]) * SCALE
        found.append(-value if record["side"] else value)
    return np.array(found)


def _clipped(values: np.ndarray, squares: bool) -> np.ndarray:
    clipped = np.clip(values, 0, 1)
    return clipped**2 if squares else clipped
