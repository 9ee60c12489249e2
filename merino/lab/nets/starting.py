"""The weights that training begins with: random, or those of a smaller net."""

import numpy as np

from merino.eval.net import blocks, features, network
from merino.learn.request import TrainingError


def random_layers(shape: network.Shape, seed: int) -> dict[str, np.ndarray]:
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


def fault_of_part(known: network.Shape, wanted: network.Shape) -> str:
    """Why a net of the shape `wanted` cannot begin with the weights of one of the shape `known`; "" if it can."""
    differ = any(getattr(known, name) != getattr(wanted, name) for name in ("second", "activation", "piece_values"))
    if differ or known.hidden > wanted.hidden or known.outputs > wanted.outputs:
        return f"the net to start from is {known}, and not {wanted} or a part of it"
    if _shared(wanted.feature_set, known.feature_set) is None:
        return f"the net to start from has features {known.features}, and {wanted.features} has not all of them"
    return ""


def layers_of(start: network.Network, shape: network.Shape, seed: int) -> dict[str, np.ndarray]:
    """The weights of a net for a net of this shape, by the names of `Shape.layers`, with the same scores.

    Features that the start has for all squares of the friendly king get its row for each group of squares, so that
    `KING8*ALL` begins with the scores of `ALL`; features that it does not have get zeros. Where it has one output for
    some numbers of men, each of several begins as that. Neurons that it does not have begin with random weights by the
    seed, and count for nothing. On a mirrored board it begins with what the start knows of a king on the left. Raises
    TrainingError where the start is wider, has more outputs or features that the shape lacks, or differs otherwise.
    """
    if fault := fault_of_part(start.shape, shape):
        raise TrainingError(fault)
    known, hidden = start.as_floats, start.shape.hidden
    inputs = np.zeros((shape.feature_set.size, hidden))
    for own, theirs in _shared(shape.feature_set, start.shape.feature_set) or ():
        inputs[own] = known["inputs"][theirs]
    layers = {**known, "inputs": inputs}
    for name in {"output", "output_bias"} & layers.keys():
        layers[name] = np.repeat(layers[name], shape.outputs // start.shape.outputs, axis=0)
    if hidden == shape.hidden:
        return layers
    wide = random_layers(shape, seed)
    wide["inputs"][:, :hidden], wide["input_bias"][:hidden] = inputs, layers["input_bias"]
    last = "middle" if shape.second else "values" if shape.piece_values else "output"
    if shape.second:
        new, old = wide[last].reshape(2, shape.hidden, -1), layers[last].reshape(2, hidden, -1)
        new[:, :hidden], new[:, hidden:] = old, 0
    else:
        new, old = wide[last].reshape(-1, 2, shape.hidden), layers[last].reshape(-1, 2, hidden)
        new[:, :, :hidden], new[:, :, hidden:] = old, 0
    return {**layers, **{name: wide[name] for name in ("inputs", "input_bias", last)}}


def _shared(wanted: features.FeatureSet, known: features.FeatureSet) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """The indices of features in `wanted`, and those in `known` from which they follow, summand by summand.

    Each summand of `known` goes to the one that is most like it; None if one has none, as its weights would be lost.
    """
    ways = [
        (mirrors, len(term.factors) - len(base.factors), term, base)
        for base in known.terms
        for term in wanted.terms
        for mirrors in (False, True)
        if _strides_in(base, term, mirrors) is not None
    ]
    terms, bases, found = list(wanted.terms), list(known.terms), []
    for mirrors, _, term, base in sorted(ways, key=lambda way: way[:2]):
        if term in terms and base in bases:
            terms.remove(term)
            bases.remove(base)
            found.append(_indices_by(term, base, mirrors))
    return None if bases else found


def _strides_in(base: features.Summand, term: features.Summand, mirrors: bool) -> list[int] | None:
    """What the index of a feature of `term` counts for in that of `base`, factor by factor; 0 where `base` lacks it.

    None if `base` lacks more than blocks of the friendly king, or has other ones. If `term` `mirrors`, `base` need not.
    """
    strides, left = [], list(base.factors)
    for block, _, is_mirrored in term.factors:
        seen = (False, True) if mirrors and is_mirrored else (is_mirrored,)
        same = next((each for each in left if each.block == block and each.is_mirrored in seen), None)
        if same is not None:
            left.remove(same)
        elif block in blocks.BLOCKS:
            return None
        strides.append(same.stride if same else 0)
    return None if left else strides


def _indices_by(term: features.Summand, base: features.Summand, mirrors: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the features of a term, and of those of `base`, the same but for blocks of the friendly king."""
    strides = _strides_in(base, term, mirrors)
    assert strides is not None
    own, theirs = np.array(term.offset), np.array(base.offset)
    for factor, stride in zip(term.factors, strides, strict=True):
        numbers = np.arange(features.block_of(factor.block).size)
        own, theirs = np.add.outer(own, factor.stride * numbers), np.add.outer(theirs, stride * numbers)
    return own.ravel(), theirs.ravel()
