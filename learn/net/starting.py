"""The weights that training begins with: random ones, or those of a net, which may see less and be smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from merino.inner.eval.net.features import FeatureSet, Summand, block_of
from merino.inner.eval.net.network import Network, Shape
from merino.inner.learn.errors import TrainingError


def random_layers(shape: Shape, seed: int) -> dict[str, np.ndarray]:
    """Random weights, by the names of `Shape.layers`.

    Their size falls with the number of features. If it were larger, many sums of weights would be beyond the range of a
    neuron from the start, where a neuron learns nothing.
    """
    draw = np.random.default_rng(seed)
    layers = {}
    for name, size in shape.layers().items():
        bound = np.sqrt(1 / size[-1 if name == "output" else 0])
        layers[name] = np.zeros(size) if name.endswith("bias") else draw.uniform(-bound, bound, size)
    return layers


def is_part(known: Shape, wanted: Shape) -> bool:
    """Whether a net of the shape `wanted` can begin with the weights of one of the shape `known`."""
    if replace(known, features=wanted.features, hidden=wanted.hidden, outputs=wanted.outputs) != wanted:
        return False
    is_shared = known.features == wanted.features or any(_shared(wanted.feature_set, known.feature_set))
    return is_shared and known.hidden <= wanted.hidden and known.outputs <= wanted.outputs


def layers_of(start: Network, shape: Shape, seed: int) -> dict[str, np.ndarray]:
    """The weights of a net for a net of this shape, by the names of `Shape.layers`, with the same scores.

    Features that the start has for all squares of the own king get its row for each group of squares, so that
    `KING8*ALL` begins with the scores of `ALL`; features that it does not have get zeros. Where it has one output for
    some numbers of men, each of several begins as that. Neurons that it does not have begin with random weights by the
    seed, and count for nothing. Raises TrainingError where the start is wider, has more outputs, or differs otherwise.
    """
    known = replace(start.shape, features=shape.features, hidden=shape.hidden, outputs=shape.outputs)
    if known != shape or start.shape.hidden > shape.hidden or start.shape.outputs > shape.outputs:
        raise TrainingError(f"the net to start from is {start.shape}, and not {shape} or a part of it")
    layers = dict(start.as_floats)
    layers["inputs"] = _inputs_of(start, shape)
    for name in ("output", "output_bias"):
        if name in layers:
            layers[name] = np.repeat(layers[name], shape.outputs // start.shape.outputs, axis=0)
    return _widened(layers, start.shape.hidden, shape, seed)


def _inputs_of(start: Network, shape: Shape) -> np.ndarray:
    """The rows of the start's neurons for the features of the shape, float64[features, neurons of the start]."""
    known = start.as_floats["inputs"]
    if start.shape.features == shape.features:
        return known
    inputs, found = np.zeros((shape.feature_set.size, start.shape.hidden)), False
    for own, theirs in _shared(shape.feature_set, start.shape.feature_set):
        inputs[own], found = known[theirs], True
    if not found:
        raise TrainingError(f"the net to start from has features {start.shape.features}: none are in {shape.features}")
    return inputs


def _widened(layers: dict[str, np.ndarray], hidden: int, shape: Shape, seed: int) -> dict[str, np.ndarray]:
    """The layers with as many neurons as the shape has; the new ones count for nothing."""
    if hidden == shape.hidden:
        return layers
    wide = random_layers(shape, seed)
    wide["inputs"][:, :hidden], wide["input_bias"][:hidden] = layers["inputs"], layers["input_bias"]
    if shape.second:
        by_view = wide["middle"].reshape(2, shape.hidden, -1)
        by_view[:, :hidden], by_view[:, hidden:] = layers["middle"].reshape(2, hidden, -1), 0
        return {**layers, **{name: wide[name] for name in ("inputs", "input_bias", "middle")}}
    last = "values" if shape.piece_values else "output"
    by_view = wide[last].reshape(-1, 2, shape.hidden)
    by_view[:, :, :hidden], by_view[:, :, hidden:] = layers[last].reshape(-1, 2, hidden), 0
    return {**layers, **{name: wide[name] for name in ("inputs", "input_bias", last)}}


def _shared(wanted: FeatureSet, known: FeatureSet) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The indices of features in `wanted`, and those in `known` from which they follow, summand by summand."""
    left = [term for term in known.terms if len(term.moving) == len(term.factors)]
    for term in wanted.terms:
        blocks = [factor.block for factor in term.moving]
        base = next((each for each in left if blocks and [factor.block for factor in each.factors] == blocks), None)
        if base is not None:
            left.remove(base)
            yield indices_by(term, base)


def indices_by(term: Summand, base: Summand) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the features of a term, and of those of `base`, the same but for the blocks of the own king."""
    own, theirs, strides = np.array(term.offset), np.array(base.offset), iter(base.factors)
    for factor in term.factors:
        numbers = np.arange(block_of(factor.block).size)
        own = np.add.outer(own, factor.stride * numbers)
        theirs = np.add.outer(theirs, next(strides).stride * numbers if factor in term.moving else 0 * numbers)
    return own.ravel(), theirs.ravel()
