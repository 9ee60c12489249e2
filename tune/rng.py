"""Random draws for compiled code, from the generator of matches."""

import numpy as np

from merino.inner.core.compiled.jit import kernel
from merino.inner.match.rng import next_random


@kernel
def next_float(random):
    """A random float64 from 0 to 1, less than 1; `random`, uint64[1], moves on."""
    return np.float64(next_random(random) >> 10) * (1.0 / 9007199254740992.0)  # 2**53


@kernel
def next_index(random, shares):
    """A random index of `shares`, float64[n] with sum 1, each as often as its share says; `random` moves on."""
    share, index = next_float(random), 0
    while index < len(shares) - 1 and share >= shares[index]:
        share -= shares[index]
        index += 1
    return index
