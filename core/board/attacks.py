"""What each piece attacks: tables for the leapers, magic bitboards for the sliders.

The magic tables are filled with, and tested against, slider attacks found square by square along the rays.
The two tables together stay below the 10**6 bytes above which numba refuses to cache a function.
"""

import numpy as np

from merino.inner.core.board.bitboard import SQUARES, U64
from merino.inner.core.board.magics import BISHOP_MAGICS, ROOK_MAGICS
from merino.inner.core.compiled.jit import kernel

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


KNIGHT_STEPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))


def _leaper_table(steps: Steps) -> np.ndarray:
    return np.array([sum(1 << t for step in steps for t in ray(s, step)[:1]) for s in SQUARES], dtype=U64)


def _slider_table(magics: tuple[int, ...], steps: Steps) -> tuple[np.ndarray, np.ndarray]:
    """Per square (mask, multiplier, shift, first slot), uint64[64, 4], and the attacks behind the slots."""
    squares, blocks, offset = np.zeros((64, 4), dtype=U64), [], 0
    for square in SQUARES:
        mask = relevant_squares(square, steps)
        shift = 64 - mask.bit_count()
        squares[square] = (mask, magics[square], shift, offset)
        occupied = occupancies(mask)
        block = np.zeros(len(occupied), dtype=U64)
        block[(occupied * U64(magics[square])) >> U64(shift)] = ray_attacks(square, steps, occupied)
        blocks.append(block)
        offset += len(block)
    return squares, np.concatenate(blocks)


def _between_and_lines() -> tuple[np.ndarray, np.ndarray]:
    """The squares strictly between two on one line, and the whole line through both; 0 where there is none."""
    between, lines = np.zeros((64, 64), dtype=U64), np.zeros((64, 64), dtype=U64)
    for square in SQUARES:
        for files, ranks in ROOK_STEPS + BISHOP_STEPS:
            forward, backward = ray(square, (files, ranks)), ray(square, (-files, -ranks))
            line = sum(1 << target for target in [square, *forward, *backward])
            for index, target in enumerate(forward):
                between[square, target] = sum(1 << s for s in forward[:index])
                lines[square, target] = line
    return between, lines


KNIGHT_ATTACKS = _leaper_table(KNIGHT_STEPS)
KING_ATTACKS = _leaper_table(ROOK_STEPS + BISHOP_STEPS)
PAWN_ATTACKS = np.stack([_leaper_table(((-1, 1), (1, 1))), _leaper_table(((-1, -1), (1, -1)))])
ROOK_RAYS = np.array([sum(1 << t for step in ROOK_STEPS for t in ray(s, step)) for s in SQUARES], dtype=U64)
BISHOP_RAYS = np.array([sum(1 << t for step in BISHOP_STEPS for t in ray(s, step)) for s in SQUARES], dtype=U64)
BETWEEN, LINES = _between_and_lines()
_ROOK_SQUARES, _ROOK_TABLE = _slider_table(ROOK_MAGICS, ROOK_STEPS)
_BISHOP_SQUARES, _BISHOP_TABLE = _slider_table(BISHOP_MAGICS, BISHOP_STEPS)


@kernel
def rook_attacks(square, occupied):
    """The squares a rook on `square` attacks, the first blocker in each direction included."""
    hashed = ((occupied & _ROOK_SQUARES[square, 0]) * _ROOK_SQUARES[square, 1]) >> _ROOK_SQUARES[square, 2]
    return _ROOK_TABLE[_ROOK_SQUARES[square, 3] + hashed]


@kernel
def bishop_attacks(square, occupied):
    """The squares a bishop on `square` attacks, the first blocker in each direction included."""
    hashed = ((occupied & _BISHOP_SQUARES[square, 0]) * _BISHOP_SQUARES[square, 1]) >> _BISHOP_SQUARES[square, 2]
    return _BISHOP_TABLE[_BISHOP_SQUARES[square, 3] + hashed]


@kernel
def queen_attacks(square, occupied):
    """The squares a queen on `square` attacks."""
    return rook_attacks(square, occupied) | bishop_attacks(square, occupied)
