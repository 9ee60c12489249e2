"""Search the multipliers of `core/board/magics.py`: `python tools/find_magics.py > core/board/magics.py`.

For each square and slider it draws sparse random numbers until one maps every occupancy of the relevant
squares to a slot of its own (or to a slot with the same attacks). Seeded: the file comes out the same each time.
"""

import random

import numpy as np

from merino.inner.core.board.attacks import BISHOP_STEPS, ROOK_STEPS, occupancies, ray_attacks, relevant_squares


def find_magic(square: int, steps: tuple[tuple[int, int], ...], draw: random.Random) -> int:
    """A multiplier without harmful collisions for this slider on this square."""
    mask = relevant_squares(square, steps)
    occupied = occupancies(mask)
    attacks = ray_attacks(square, steps, occupied)
    shift = np.uint64(64 - mask.bit_count())
    table = np.zeros(len(occupied), dtype=np.uint64)
    while True:
        magic = draw.getrandbits(64) & draw.getrandbits(64) & draw.getrandbits(64)
        slots = (occupied * np.uint64(magic)) >> shift
        table[slots] = attacks
        if np.array_equal(table[slots], attacks):
            return magic


def main() -> None:
    """Print the module."""
    draw = random.Random(2015)
    print('"""Multipliers of the magic bitboards, found by `tools/find_magics.py`. Square a1 first."""\n')
    for name, steps in (("ROOK_MAGICS", ROOK_STEPS), ("BISHOP_MAGICS", BISHOP_STEPS)):
        print(f"{name} = (")
        for square in range(64):
            print(f"    {find_magic(square, steps, draw):#018x},")
        print(")")


if __name__ == "__main__":
    main()
