"""Quantisation: the real weights of a trained net rounded to the whole numbers that play computes with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from merino.inner.eval.net.network import MAX_FACTOR, MAX_QB, QA, QB, NetError, Network, Shape, quantum


def finest(shape: Shape, weights: Mapping[str, np.ndarray]) -> int:
    """The finest quantum behind the first layer at which no weight overflows, QB to MAX_QB; QB for piece values."""
    if shape.piece_values:
        return QB
    most = np.iinfo(np.int16).max
    bounds = {"middle" if shape.second else "output": MAX_FACTOR, "middle_bias": most / QA, "output_bias": most / QA}
    bounds.setdefault("output", most)
    largest = {name: max(float(np.abs(weights[name]).max()), 1e-9) for name in bounds if name in weights}
    limit = min(bounds[name] / weight for name, weight in largest.items())
    return max(QB, int(limit)) if limit < MAX_QB else MAX_QB


def quantised(shape: Shape, weights: Mapping[str, np.ndarray], k: float, about: Mapping[str, Any]) -> Network:
    """The quantised net of real weights, as finely as they allow; raises NetError if one is too large."""
    whole, qb = {}, finest(shape, weights)
    for name, size in shape.layers().items():
        scaled = np.rint(np.asarray(weights[name], dtype=np.float64).reshape(size) * quantum(name, qb))
        if not np.isfinite(scaled).all() or np.abs(scaled).max(initial=0) > np.iinfo(np.int16).max:
            raise NetError(f"a weight of '{name}' is too large for 16 bits")
        whole[name] = scaled.astype(np.int16)
    return Network(shape, whole, k, about, qb=qb)
