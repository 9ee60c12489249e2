"""Random shares for compiled code, from the generator of matches."""

import numpy as np

from merino.inner.core.compiled.jit import kernel
from merino.inner.match.rng import next_random


@kernel
def next_float(random):
    """A random float64 from 0 to 1, less than 1; `random`, uint64[1], moves on."""
    return np.float64(next_random(random) >> 10) * (1.0 / 9007199254740992.0)  # 2**53
