"""Slider attacks square by square, in numpy: what the magic tables are filled with and tested against."""

import numpy as np

ROOK_STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))
BISHOP_STEPS = ((1, 1), (1, -1), (-1, 1), (-1, -1))

Steps = tuple[tuple[int, int], ...]


def ray(square: int, step: tuple[int, int]) -> list[int]:
    """The squares from `square` (left out) to the edge, going `step` (files, ranks) at a time."""
    squares, file, rank = [], (square & 7) + step[0], (square >> 3) + step[1]
    while 0 <= file < 8 and 0 <= rank < 8:
        squares.append(rank * 8 + file)
        file, rank = file + step[0], rank + step[1]
    return squares


def relevant_squares(square: int, steps: Steps) -> int:
    """The squares whose occupation changes the attacks of a slider here: its rays without their last squares."""
    return sum(1 << target for step in steps for target in ray(square, step)[:-1])


def occupancies(mask: int) -> np.ndarray:
    """Every subset of `mask`, uint64[2 ** bits]."""
    subsets = np.zeros(1, dtype=np.uint64)
    for square in range(64):
        if mask >> square & 1:
            subsets = np.concatenate([subsets, subsets | np.uint64(1 << square)])
    return subsets


def ray_attacks(square: int, steps: Steps, occupied: np.ndarray) -> np.ndarray:
    """The attacks of a slider on `square` for each occupancy in `occupied`, uint64 of the same length."""
    attacks = np.zeros(len(occupied), dtype=np.uint64)
    for step in steps:
        is_open = np.ones(len(occupied), dtype=bool)
        for target in ray(square, step):
            square_bit = np.uint64(1 << target)
            attacks[is_open] |= square_bit
            is_open &= (occupied & square_bit) == 0
    return attacks
