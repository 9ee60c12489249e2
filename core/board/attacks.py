"""What each piece attacks: tables for the leapers, magic bitboards for the sliders.

The two slider tables together stay below the 10**6 bytes above which numba refuses to cache a function.
"""

import numpy as np

from merino.inner.core.board.bitboard import SQUARES, U64
from merino.inner.core.board.magics import BISHOP_MAGICS, ROOK_MAGICS
from merino.inner.core.board.rays import (
    BISHOP_STEPS,
    ROOK_STEPS,
    Steps,
    occupancies,
    ray,
    ray_attacks,
    relevant_squares,
)
from merino.inner.core.compiled.jit import kernel

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
