"""What each piece attacks: tables for the leapers, kindergarten bitboards for the sliders.

How far a slider sees along a line depends on the six inner squares of the line, as it sees the edge in any case. One
multiplication gathers these squares in the top six bits, and a table has the attacks. The tables take 9 KiB, so that
they stay in the first cache. Those of magic bitboards, with one multiplication for two lines, take 840 KiB.
The tables are filled with, and tested against, slider attacks found square by square along the rays.
"""

import numpy as np

from merino.core.board.bitboard import SQUARES, U64
from merino.core.compiled.jit import kernel

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


def _line_table(step: tuple[int, int]) -> np.ndarray:
    """The attacks along the first rank or file from each of its squares, by its inner squares: uint64[8, 64]."""
    line = [0, *ray(0, step)]
    inner, occupied = np.arange(64, dtype=U64), np.zeros(64, dtype=U64)
    for bit, square in enumerate(line[1:-1]):
        occupied |= (inner >> U64(bit) & U64(1)) << U64(square)
    return np.array([ray_attacks(square, (step, (-step[0], -step[1])), occupied) for square in line])


def _rays(steps: Steps) -> np.ndarray:
    """The squares in these directions from each square, uint64[64]."""
    return np.array([sum(1 << target for step in steps for target in ray(s, step)) for s in SQUARES], dtype=U64)


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
ROOK_RAYS, BISHOP_RAYS = _rays(ROOK_STEPS), _rays(BISHOP_STEPS)
BETWEEN, LINES = _between_and_lines()
_DIAGONALS = np.stack([_rays(((1, 1), (-1, -1))), _rays(((1, -1), (-1, 1)))], axis=1)  # rising and falling
_FIRST_FILE = _line_table((0, 1))
_EVERY_RANK = _line_table((1, 0)) * U64(0x0101010101010101)
_FIRST_RANK = _EVERY_RANK.astype(np.uint8)
_TO_TOP_RANK = U64(0x0202020202020202)  # adds up all ranks in the highest one, a file farther, its inner six highest
_INNER_A_FILE = U64(0x0001010101010100)
_FILE_TO_TOP = U64(0x0004081020408000)  # a2 to a7 become the highest six bits


@kernel
def rook_attacks(square, occupied):
    """The squares a rook on `square` attacks, the first blocker in each direction included."""
    file, rank = square & 7, square >> 3
    on_rank = occupied >> U64(8 * rank + 1) & U64(63)
    on_file = ((occupied >> U64(file) & _INNER_A_FILE) * _FILE_TO_TOP) >> U64(58)
    return U64(_FIRST_RANK[file, on_rank]) << U64(8 * rank) | _FIRST_FILE[rank, on_file] << U64(file)


@kernel
def bishop_attacks(square, occupied):
    """The squares a bishop on `square` attacks, the first blocker in each direction included."""
    rising, falling = _DIAGONALS[square, 0], _DIAGONALS[square, 1]
    return _on_diagonal(square, rising, occupied) | _on_diagonal(square, falling, occupied)


@kernel
def _on_diagonal(square, diagonal, occupied):
    """The squares of a diagonal that a bishop on `square` attacks."""
    inner = ((occupied & diagonal) * _TO_TOP_RANK) >> U64(58)
    return _EVERY_RANK[square & 7, inner] & diagonal


@kernel
def queen_attacks(square, occupied):
    """The squares a queen on `square` attacks."""
    return rook_attacks(square, occupied) | bishop_attacks(square, occupied)
