"""The weights that training begins with, random or those of a smaller net, and the features added while it lasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from merino.eval.net.blocks import BLOCKS
from merino.eval.net.features import MIRRORED, FeatureSet, Summand, block_of
from merino.eval.net.network import MAX_WEIGHT, Network, Shape
from merino.learn.errors import TrainingError


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
    try:
        check_part(known, wanted)
    except TrainingError:
        return False
    return True


def check_part(known: Shape, wanted: Shape) -> None:
    """Raise TrainingError, which says why, unless `is_part`."""
    differ = any(getattr(known, name) != getattr(wanted, name) for name in ("second", "activation", "piece_values"))
    if differ or known.hidden > wanted.hidden or known.outputs > wanted.outputs:
        raise TrainingError(f"the net to start from is {known}, and not {wanted} or a part of it")
    if _shared(wanted.feature_set, known.feature_set) is None:
        raise TrainingError(
            f"the net to start from has features {known.features}, and {wanted.features} has not all of them"
        )


def layers_of(start: Network, shape: Shape, seed: int) -> dict[str, np.ndarray]:
    """The weights of a net for a net of this shape, by the names of `Shape.layers`, with the same scores.

    Features that the start has for all squares of the own king get its row for each group of squares, so that
    `KING8*ALL` begins with the scores of `ALL`; features that it does not have get zeros. Where it has one output for
    some numbers of men, each of several begins as that. Neurons that it does not have begin with random weights by the
    seed, and count for nothing. On a mirrored board it begins with what the start knows of a king on the left. Raises
    TrainingError where the start is wider, has more outputs or features that the shape lacks, or differs otherwise.
    """
    check_part(start.shape, shape)
    layers = dict(start.as_floats)
    layers["inputs"] = _inputs_of(start, shape)
    for name in ("output", "output_bias"):
        if name in layers:
            layers[name] = np.repeat(layers[name], shape.outputs // start.shape.outputs, axis=0)
    return _widened(layers, start.shape.hidden, shape, seed)


def _inputs_of(start: Network, shape: Shape) -> np.ndarray:
    """The rows of the start's neurons for the features of the shape, float64[features, neurons of the start]."""
    shared = _shared(shape.feature_set, start.shape.feature_set)
    assert shared is not None
    inputs = np.zeros((shape.feature_set.size, start.shape.hidden))
    for own, theirs in shared:
        inputs[own] = start.as_floats["inputs"][theirs]
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


def _shared(wanted: FeatureSet, known: FeatureSet) -> list[tuple[np.ndarray, np.ndarray]] | None:
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
            found.append(indices_by(term, base, mirrors))
    return None if bases else found


def _strides_in(base: Summand, term: Summand, mirrors: bool) -> list[int] | None:
    """What the index of a feature of `term` counts for in that of `base`, factor by factor; 0 where `base` lacks it.

    None if `base` lacks more than blocks of the own king, or has other ones. If `term` `mirrors`, `base` need not.
    """
    strides, left = [], list(base.factors)
    for block, _, is_mirrored in term.factors:
        seen = (False, True) if mirrors and is_mirrored else (is_mirrored,)
        same = next((each for each in left if each.block == block and each.is_mirrored in seen), None)
        if same is not None:
            left.remove(same)
        elif block in BLOCKS:
            return None
        strides.append(same.stride if same else 0)
    return None if left else strides


def indices_by(term: Summand, base: Summand, mirrors: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the features of a term, and of those of `base`, the same but for blocks of the own king."""
    strides = _strides_in(base, term, mirrors)
    assert strides is not None
    own, theirs = np.array(term.offset), np.array(base.offset)
    for factor, stride in zip(term.factors, strides, strict=True):
        numbers = np.arange(block_of(factor.block).size)
        own, theirs = np.add.outer(own, factor.stride * numbers), np.add.outer(theirs, stride * numbers)
    return own.ravel(), theirs.ravel()


# Factorised training: what is learned for each group of squares of the own king is also learned once for all of them.
# With `KING8*ALL` a position teaches the weights of one group of eight, and a rare group hardly learns. So while it is
# trained the net has the features `ALL` as well, which the field calls virtual. Their weights are added to those of
# each group in the end, and the net is one of `KING8*ALL` again, with the same scores.


def factorised(shape: Shape) -> Shape:
    """The shape that is trained for a net of this one: with the features without the own king in addition to its own.

    Raises TrainingError where no features are multiplied with the own king, or those without it are there already.
    """
    terms = shape.feature_set.terms
    known = {_without_king(term) for term in terms if not _is_by_king(term)}
    virtual = dict.fromkeys(_without_king(term) for term in terms if _is_by_king(term) and term.moving)
    added = [name for name in virtual if name not in known]
    if virtual and not added:
        raise TrainingError(f"{shape.features} learns {' and '.join(virtual)} for all squares of the own king already")
    if not added:
        raise TrainingError(f"{shape.features} has no features by the own king to learn for all its squares at once")
    return replace(shape, features="+".join([shape.features, *added]))


def extended(layers: Mapping[str, np.ndarray], trained: Shape) -> dict[str, np.ndarray]:
    """The weights of a net for the shape that is trained: those of the features that it adds are 0."""
    inputs = np.zeros((trained.feature_set.size, trained.hidden))
    inputs[: len(layers["inputs"])] = layers["inputs"]
    return {**layers, "inputs": inputs}


def folded(layers: Mapping[str, np.ndarray], shape: Shape) -> dict[str, np.ndarray]:
    """The weights of a net of this shape that scores like one of the shape `factorised`, which has these `layers`.

    Sums beyond what a weight may be are cut off.
    """
    size = shape.feature_set.size
    virtual = {_without_king(term): term for term in factorised(shape).feature_set.terms if term.offset >= size}
    inputs = np.array(layers["inputs"][:size])
    for term in shape.feature_set.terms:
        if _is_by_king(term) and (added := virtual.pop(_without_king(term), None)):
            own, theirs = indices_by(term, added)
            inputs[own] += layers["inputs"][theirs]
    return {**layers, "inputs": np.clip(inputs, -MAX_WEIGHT, MAX_WEIGHT)}


def _is_by_king(term: Summand) -> bool:
    return len(term.moving) < len(term.factors)


def _without_king(term: Summand) -> str:
    """The expression of the features of a term for any square of the own king."""
    return "*".join(f"{MIRRORED}({factor.block})" if factor.is_mirrored else factor.block for factor in term.moving)
