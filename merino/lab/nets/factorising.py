"""Factorised training: what is learned for each group of squares of the own king is learned once for all of them too.

With `KING8*ALL` a position teaches the weights of one group of eight, and a rare group hardly learns. So while the net
is trained it has the features `ALL` beside them, whose weights every position teaches; they are added to those of each
group when it is done, and the net is one of `KING8*ALL` again, with the same scores. The field calls the features that
are added virtual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from merino.eval.net.features import MIRRORED, Summand
from merino.eval.net.network import MAX_WEIGHT, Shape
from merino.lab.nets.starting import indices_by
from merino.learn.errors import TrainingError


def factorised(shape: Shape) -> Shape:
    """The shape that is trained for a net of this one: with the features without the own king beside its own.

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
