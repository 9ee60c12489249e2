"""From the real weights of a training to the whole numbers of a net, and the plain score that both are compared by."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from merino.eval.net import features as feature_sets
from merino.eval.net import network
from merino.eval.net.network import MAX_INT16, QA, QB, NetError, Network, Quanta, Shape


def plain_scores(net: Network, positions: np.ndarray) -> np.ndarray:
    """White's scores of POSITION[n] as play has them, by `exact_scores`."""
    return exact_scores(net.shape, net.as_floats, positions, net.quanta.of_neurons(net.shape.activation))


def exact_scores(
    shape: Shape, weights: Mapping[str, np.ndarray], positions: np.ndarray, unit: float | None = None
) -> np.ndarray:
    """White's scores of POSITION[n] in centipawns under real weights, float64[n]: slow and plain, for comparison.

    With `unit` outputs of the first layer's neurons are rounded down to whole numbers, 1.0 being that.
    """
    found = []
    squares = shape.activation == "screlu"
    for record, (white, black) in zip(positions, shape.feature_set.active(positions), strict=True):
        sums = [weights["inputs"][active].sum(axis=0) + weights["input_bias"] for active in (white, black)]
        if shape.piece_values:
            found.append(_sum_of_values(weights, [_clipped(each, squares) for each in sums], (white, black), record))
            continue
        if record["side"]:
            sums.reverse()
        layer = _clipped(np.concatenate(sums), squares)
        if unit is not None:
            layer = np.floor(layer * unit + 1e-6) / unit
        if shape.second:
            layer = _clipped(layer @ weights["middle"] + weights["middle_bias"], squares)
        output = network.output_for(int(record["colours"].sum()).bit_count(), shape.men_shift)
        value = float(layer @ weights["output"][output] + weights["output_bias"][output]) * network.SCALE
        found.append(-value if record["side"] else value)
    return np.array(found)


def _sum_of_values(
    weights: Mapping[str, np.ndarray], neurons: list[np.ndarray], active: tuple[np.ndarray, ...], record: np.void
) -> float:
    """White's score by a piece-value net."""
    score = float(weights["output_bias"][0]) * (-1 if record["side"] else 1)
    for side, sign in enumerate((1, -1)):
        rows = feature_sets.ROW_OF_FEATURE[active[side]]
        rows = rows[rows != feature_sets.NO_ROW]
        both = np.concatenate([neurons[side], neurons[1 - side]])
        score += sign * float((weights["values"][rows] @ both + network.VALUE * weights["value_constants"][rows]).sum())
    return score * network.SCALE


def _clipped(values: np.ndarray, squares: bool) -> np.ndarray:
    clipped = np.clip(values, 0, 1)
    return clipped**2 if squares else clipped


def finest(shape: Shape, weights: Mapping[str, np.ndarray]) -> Quanta:
    """The finest quanta at which nothing overflows in play, whatever the position; piece-value nets have one kind."""
    if shape.piece_values:
        return network.COARSE
    bound = network.largest_sum(shape, weights)
    for qa in network.FINE_QA:
        qb = _finest_behind(shape, weights, qa)
        if qb and bound * qa + (shape.feature_set.most + 1) / 2 <= MAX_INT16:  # with what rounding adds
            return Quanta(qa, qb)
    bounds = {"middle" if shape.second else "output": network.MAX_FACTOR, "middle_bias": MAX_INT16 / QA}
    limit = _limit(weights, {"output": MAX_INT16, "output_bias": MAX_INT16 / QA} | bounds)
    return Quanta(QA, max(QB, int(min(limit, network.MAX_QB))))


def _finest_behind(shape: Shape, weights: Mapping[str, np.ndarray], qa: int) -> int:
    """The finest quantum behind a first layer of `qa`, 0 for none."""
    if _limit(weights, {"middle_bias": MAX_INT16, "output_bias": MAX_INT16}) < network.FINE_QC:
        return 0
    limit = _limit(weights, {"output": MAX_INT16} | {"middle" if shape.second else "output": Quanta(qa).largest_factor})
    return int(min(limit, network.MAX_FINE_QB)) if limit >= QB else 0


def _limit(weights: Mapping[str, np.ndarray], bounds: Mapping[str, float]) -> float:
    """The largest number by which the weights of these layers can be multiplied within their bounds."""
    largest = {name: max(float(np.abs(weights[name]).max()), 1e-9) for name in bounds if name in weights}
    return min((bounds[name] / weight for name, weight in largest.items()), default=np.inf)


def quantised(shape: Shape, weights: Mapping[str, np.ndarray], k: float, about: Mapping[str, Any]) -> Network:
    """The quantised net of real weights, as finely as they allow; raises NetError if play would overflow with one."""
    plain = {name: np.asarray(weights[name], dtype=np.float64).reshape(size) for name, size in shape.layers().items()}
    for name, array in plain.items():
        if not np.isfinite(array).all():
            raise NetError(f"a weight of '{name}' is no number")
    whole, quanta = {}, finest(shape, plain)
    for name, array in plain.items():
        scaled = np.rint(array * quanta.of_layer(name))
        if np.abs(scaled).max(initial=0) > MAX_INT16:
            raise NetError(f"a weight of '{name}' is too large for 16 bits")
        whole[name] = scaled.astype(np.int16)
    network.check_play(shape, whole, quanta)
    return Network(shape, whole, k, about, quanta=quanta)
