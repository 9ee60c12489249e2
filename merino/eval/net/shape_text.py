"""The shape of a net as one expression: `ALL mirrored -> 512 -> 1 x 8`.

Features, the neurons of the first layer, those of a second one if there is one, and the outputs, with arrows between.
`mirrored` behind the features is MIRRORED(...) around them all. The last part is `1`, `1 x OUTPUTS`, or `values` in a
piece-value net. `, crelu` at the end names the activation where it is not squared clipped ReLU. `str` of a shape writes
what `parse_shape` reads.
"""

from __future__ import annotations

import re
from dataclasses import replace

from merino.core.common.errors import number_of
from merino.eval.evaluation import EvaluationError
from merino.eval.net.features import MIRRORED
from merino.eval.net.network import ACTIVATIONS, ARROW, MIRRORED_WORD, NetError, Shape

EXAMPLE = "ALL mirrored -> 512 -> 1 x 8"
_LAST = re.compile(r"(values)|1(?:\s*x\s*(\d+))?")


def parse_shape(text: str) -> Shape:
    """The shape of an expression; raises NetError, which says what is wrong and at which character."""
    body, comma, activation = text.partition(",")
    if comma and activation.strip() not in ACTIVATIONS:
        raise _error(text, len(body) + 1, activation, f"no activation: {' or '.join(ACTIVATIONS)}")
    parts, at = [], 0
    for part in body.split(ARROW):
        parts.append((at, part))
        at += len(part) + len(ARROW)
    if not 3 <= len(parts) <= 4:
        raise NetError(f"'{text[:60]}' is no shape of a net: it has {len(parts)} parts, and {EXAMPLE!r} has three")
    (_, features), *layers, (last_at, last) = parts
    found = _LAST.fullmatch(last.strip())
    if not found:
        raise _error(text, last_at, last, "no output: '1', '1 x 8' or 'values'")
    hidden, second = [_neurons(text, *layer) for layer in layers] + [0] * (2 - len(layers))
    try:
        shape = Shape(
            _features(features),
            hidden,
            second,
            activation.strip() or Shape.activation,
            bool(found[1]),
            number_of(found[2] or "1"),
        )
        return replace(shape, features=shape.feature_set.name)
    except EvaluationError as error:
        raise NetError(f"'{text[:60]}' is no shape of a net: {error}") from error


def _features(part: str) -> str:
    words = part.split()
    if words[1:] and words[-1].lower() == MIRRORED_WORD:
        return f"{MIRRORED}({' '.join(words[:-1])})"
    return part.strip()


def _neurons(text: str, at: int, part: str) -> int:
    if not part.strip().isdecimal():
        raise _error(text, at, part, "no number of neurons")
    return number_of(part.strip())


def _error(text: str, at: int, part: str, wanted: str) -> NetError:
    place = 1 + at + len(part) - len(part.lstrip())
    return NetError(
        f"'{text[:60]}' is no shape of a net: '{part.strip()[:20]}', from character {place} on, is {wanted}; "
        f"one is {EXAMPLE!r}"
    )
