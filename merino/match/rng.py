"""Random numbers for compiled code, the same on every machine."""

import numpy as np

from merino.core.compiled.jit import kernel


@kernel
def next_random(state):
    """Advance `state`, uint64[1], by a step of SplitMix64 (Steele, Lea, Flood 2014); returns 63 random bits, int64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((word ^ (word >> np.uint64(31))) >> np.uint64(1))


def seed_state(*numbers: int) -> np.ndarray:
    """A state, uint64[1], that depends on these numbers; none may be negative."""
    return np.random.SeedSequence(numbers).generate_state(1, np.uint64)


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
