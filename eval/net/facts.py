"""Facts of a view: words that follow from its pieces, for the blocks that read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from merino.inner.eval.net.mobility import fill_moves, renew_moves
from merino.inner.eval.net.neighbours import (
    fill_board,
    fill_file_pairs,
    fill_rank_pairs,
    renew_board,
    renew_file_pairs,
    renew_rank_pairs,
)
from merino.inner.eval.net.view import BOARD, FILE_PAIRS, RANK_PAIRS, VIEW_SIZE


@dataclass(frozen=True)
class Fact:
    """How to fill in some words of a view, the last of them before `stop`.

    `fill` is a kernel (view) for a view of any position, `renew` one (before, after, difference): it fills in the view
    `after` from the words of `before`, another one of the same side, and from their `ViewDifference`.
    """

    stop: int
    fill: Callable[..., Any]
    renew: Callable[..., Any]


MOVES = Fact(BOARD, fill_moves, renew_moves)
KINDS = Fact(RANK_PAIRS, fill_board, renew_board)
NEXT_ON_RANKS = Fact(FILE_PAIRS, fill_rank_pairs, renew_rank_pairs)
NEXT_ON_FILES = Fact(VIEW_SIZE, fill_file_pairs, renew_file_pairs)
FACTS = (MOVES, KINDS, NEXT_ON_RANKS, NEXT_ON_FILES)  # each follows from those before it
