"""The order in which training goes through positions, some of which are in memory at a time.

Positions stay together in blocks as they are in the files. Each epoch puts the blocks in an order by chance, reads so
many of them as make a portion, and shuffles the positions of that. So a batch has positions of hundreds of blocks from
anywhere in the files, and memory does not grow with the number of positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from merino.formats.packed import PACKED, PackedBlocks
from merino.formats.packed_files import is_held_out

BLOCK, PORTION = 4096, 256  # positions (or triples) of a block, and blocks of a portion
_BYTES = np.dtype(("V", PACKED.itemsize))  # a record as one thing, which numpy copies ten times as fast as its fields
MAX_VALIDATION = 1 << 20  # positions (or triples) that validate; of more, some are taken


@dataclass(frozen=True)
class Portion:
    """Positions to train on next, in memory.

    `order` says which comes when: of triples, the first record of each. `mirror` decides which are mirrored, if not 0.
    """

    records: np.ndarray  # PACKED[n]
    order: np.ndarray  # int64[n / together]
    mirror: int


class TrainingOrder:
    """What is learned from and what validates; and in which order, by a seed, whatever the number of threads."""

    def __init__(self, positions: PackedBlocks, share: float, together: int, seed: int, mirrors: bool) -> None:
        """A `share` of the games validates; `together` records are one thing to learn from."""
        self._positions, self._share, self._together = positions, share, together
        self._seed, self._mirrors, self._block = seed, mirrors, BLOCK * together
        held = sum(int(self._is_held_out(first, some).sum()) for first, some in self._blocks())
        self.validation = self._validation(held)
        self.count = len(positions) // together - held  # to learn from in an epoch

    def portions(self, epoch: int) -> Iterator[Portion]:
        """The portions of an epoch, from 0 on; each has something to learn from."""
        blocks = -(-len(self._positions) // self._block)
        order = np.random.default_rng((self._seed, epoch)).permutation(blocks)
        for number, first in enumerate(range(0, blocks, PORTION)):
            found = self._portion(order[first : first + PORTION], np.random.default_rng((self._seed, epoch, number)))
            if len(found.order):
                yield found

    def _portion(self, blocks: np.ndarray, draw: np.random.Generator) -> Portion:
        kept = []
        for first in (self._block * blocks).tolist():
            some = self._positions.read(first, min(first + self._block, len(self._positions)))
            wanted = np.repeat(~self._is_held_out(first, some), self._together)
            kept.append(some.view(_BYTES).take(np.flatnonzero(wanted)))
        records = np.concatenate(kept).view(PACKED)
        order = self._together * draw.permutation(len(records) // self._together)
        return Portion(records, order, int(draw.integers(1, 1 << 62)) if self._mirrors else 0)

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        size = PORTION * self._block
        yield from zip(range(0, len(self._positions), size), self._positions.blocks(size), strict=True)

    def _is_held_out(self, first: int, some: np.ndarray) -> np.ndarray:
        """Which of these validate, bool[n / together]; the first of them is at the place `first`."""
        return is_held_out(some["game"][:: self._together], self._share, first // self._together)

    def _validation(self, held: int) -> np.ndarray:
        """What validates, PACKED[n]: all of it, or evenly MAX_VALIDATION at most."""
        step, seen, kept = max(1, -(-held // MAX_VALIDATION)), 0, [np.zeros(0, dtype=PACKED)]
        for first, some in self._blocks():
            found = np.flatnonzero(self._is_held_out(first, some))
            chosen = found[-seen % step :: step]
            seen += len(found)
            kept.append(some.reshape(-1, self._together)[chosen].ravel())
        return np.concatenate(kept)
