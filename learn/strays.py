"""Strays: positions that games do not reach but searches do, after a random legal move in a position of a game.

Players leave no piece to be taken, so their games hardly show what that costs; a search meets it at every second node.
The result of the game says nothing of a stray: only a teacher's score can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from merino.inner.core.board.bitboard import FULL, ZERO
from merino.inner.core.board.makemove import make
from merino.inner.core.board.movegen import ALL, MAX_MOVES, generate
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.jit import entry
from merino.inner.core.compiled.memory import copy_record
from merino.inner.formats.pgn_scores import NO_SCORE
from merino.inner.learn.positions import ODD, PositionBlock


def with_strays(block: PositionBlock) -> PositionBlock:
    """The block with a stray after each position, without a score; none that is in check. The same each time."""
    order = np.repeat(np.arange(len(block)), 2)
    positions, scores = block.positions[order], block.scores[order]
    kept = np.ones(len(order), dtype=np.bool_)
    scores[1::2] = NO_SCORE
    _stray(positions[1::2], kept[1::2])
    doubled = replace(block, positions=positions, game=block.game[order], to_end=block.to_end[order], scores=scores)
    return doubled.chosen(kept)


@entry
def _stray(positions, kept):
    """Play a legal move in each position, drawn by its key; `kept` tells where that can be used."""
    moves, after = np.empty(MAX_MOVES, dtype=np.int32), np.zeros(1, dtype=POSITION)
    for index in range(len(positions)):
        position = positions[index]
        count = generate(position, moves, ALL, FULL)
        kept[index] = count > 0
        if count:
            move = moves[np.int64((position.key * ODD >> np.uint64(32)) % np.uint64(count))]
            make(after[0], position, np.int64(move))
            kept[index] = after[0].checkers == ZERO
            copy_record(position, after[0])
