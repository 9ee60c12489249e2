"""Blocks of the own king: where it stands, by square or by groups of squares (king buckets).

One of their features is active at a time. They are factors for other blocks, as in `KING8*ALL`: a net then has weights
of its own for each group. A map such as `KING[.../...]` names the group of each square by a letter or a digit, rank by
rank as a board is drawn: the eighth rank of the own side first, as in a FEN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from merino.core.board.bitboard import SQUARE_NAMES, SQUARES

KING8_MAP = "77777777/77777777/77777777/77777777/66666666/66666666/44555544/01233210"
FEW = 4  # squares that are named one by one
_MAP = re.compile(r"[0-9A-Za-z]{8}(?:/[0-9A-Za-z]{8}){7}")


@dataclass(frozen=True)
class KingBlock:
    """A block with one feature for each group of squares; `places` is the group of each square, from 0."""

    name: str
    places: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of groups."""
        return max(self.places) + 1

    @property
    def most(self) -> int:
        """The maximum number of features active at once."""
        return 1

    def words(self, index: int) -> str:
        """The feature of this index in words, such as "own king on e1"."""
        squares = [SQUARE_NAMES[square] for square in SQUARES if self.places[square] == index]
        if len(squares) <= FEW:
            return f"own king on {' or '.join(squares)}"
        return f"own king in group {index}, between {squares[0]} and {squares[-1]}"


@cache
def king_block(name: str) -> KingBlock | None:
    """The block of the own king with this name, which may be a map; None if there is none."""
    drawn = name[len("KING[") : -1]
    if name == f"KING[{drawn}]" and _MAP.fullmatch(drawn):
        return KingBlock(name, _places(drawn))
    return KINGS.get(name)


def _places(drawn: str) -> tuple[int, ...]:
    """The group of each square, by a map."""
    groups = "".join(reversed(drawn.split("/")))
    numbers = {group: number for number, group in enumerate(sorted(set(groups)))}
    return tuple(numbers[group] for group in groups)


KINGS = {"KING": KingBlock("KING", tuple(SQUARES)), "KING8": KingBlock("KING8", _places(KING8_MAP))}
