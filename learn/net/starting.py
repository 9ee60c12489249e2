"""The weights that training begins with: random ones, or those of a net, whose features may be others."""

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
        bound = np.sqrt(1 / size[0])
        layers[name] = np.zeros(size) if name.endswith("bias") else draw.uniform(-bound, bound, size)
    return layers


def layers_of(start: Network, shape: Shape) -> dict[str, np.ndarray]:
    """The weights of a net for a net of this shape, by the names of `Shape.layers`; raises TrainingError.

    Only the features may differ. Those that the start has for all squares of the own king get its row for each group
    of squares, so that `KING8*ALL` begins with the scores of `ALL`; features that it does not have get zeros.
    """
    if replace(start.shape, features=shape.features) != shape:
        raise TrainingError(f"the net to start from is {start.shape}, and not {shape}")
    layers = dict(start.as_floats)
    if start.shape == shape:
        return layers
    inputs, found = np.zeros((shape.feature_set.size, shape.hidden)), False
    for own, known in _shared(shape.feature_set, start.shape.feature_set):
        inputs[own], found = layers["inputs"][known], True
    if not found:
        raise TrainingError(f"the net to start from has features {start.shape.features}: none are in {shape.features}")
    return layers | {"inputs": inputs}


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
