"""A random generator that compiled code and a saved state can share: one 64-bit word, by the rule of splitmix64.

Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""

import numpy as np

from engine.jit import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


def random_state(seed: int, *stream: int) -> np.ndarray:
    """The generator for this seed and these numbers of a stream: uint64[1], to be handed on and saved."""
    return np.random.SeedSequence([seed, *stream]).generate_state(1, np.uint64)


@kernel
def next_word(random):
    """Sixty-four random bits; `random`, uint64[1], moves on."""
    random[0] += _STEP
    word = random[0]
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@kernel
def next_share(random):
    """A random float64 from 0 to 1, less than 1."""
    return np.float64(next_word(random) >> _11) * (1.0 / 9007199254740992.0)  # 2**53
