"""Weights that come with Merino, for tests."""

from __future__ import annotations

import numpy as np

from merino.inner.eval.linear.weights import SHIPPED, load

ONE_PHASE = SHIPPED / "tuned.txt"  # one value a term, where the default weights have two


def one_phase() -> np.ndarray:
    """Plausible weights of one phase, float64 (27,)."""
    return load(ONE_PHASE)
