"""The numbers of active features on a board and of features that a move adds and removes: the cost of a net in play."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from merino.inner.core.board.makemove import make
from merino.inner.core.board.position import POSITION
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.core.compiled.memory import copy_record
from merino.inner.eval.net.features import SCRATCH, FeatureSet, active_features, features
from merino.inner.eval.net.view import VIEW_SIZE, look
from merino.inner.formats.pgn_games import NO_FAULT, Games

# Added and removed by a move in the table of the thesis. It counted what is active from White's view and what changes
# from the mover's, so that part of the removals was lost: a move takes at least one piece off its square.
THESIS_SLIP = {"ALL": (0.98, 0.60)}


@dataclass(frozen=True)
class FeatureChange:
    """Means over moves and both sides' views: active before a move, added and removed by it."""

    name: str
    active: float
    added: float
    removed: float


@dataclass(frozen=True)
class FeatureChanges:
    """The features that the moves of some games change, by block."""

    moves: int
    blocks: tuple[FeatureChange, ...]
    often: tuple[np.ndarray, ...]  # how often each feature of a block is active after a move, int64[size], both views


def measure_changes(wanted: FeatureSet, games: Iterable[Games]) -> FeatureChanges:
    """The active features of each part of a feature set, and those that a move changes."""
    parts = [features(part.name) for part in wanted.parts]
    sums = np.zeros((len(parts), 3), dtype=np.int64)
    often = tuple(np.zeros(part.size, dtype=np.int64) for part in parts)
    moves = 0
    for some in games:
        for row, part, counts in zip(sums, parts, often, strict=True):
            active, marks = np.zeros((2, part.most), dtype=np.int32), np.zeros(part.size, dtype=np.int64)
            _count_changes(some.table, some.moves, some.starts, part.program, active, marks, counts, row)
        moves += int(some.table["plies"][some.table["fault"] == NO_FAULT].sum())
    means = sums / max(1, 2 * moves)
    blocks = tuple(FeatureChange(part.name, *map(float, row)) for part, row in zip(parts, means, strict=True))
    return FeatureChanges(moves, blocks, often)


@entry
def _count_changes(games, moves, starts, program, active, marks, often, sums):
    """Add the active, added and removed features of both views over all moves of the games to `sums`, int64[3].

    `often`, int64[features], counts what is active after each move.
    """
    stack = np.zeros(2, dtype=POSITION)
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(SCRATCH, dtype=np.int32)
    stamp = 0
    for number in range(len(games)):
        game = games[number]
        if game.fault != NO_FAULT:
            continue
        copy_record(stack[0], starts[game.position])
        for ply in range(game.plies):
            make(stack[1], stack[0], np.int64(moves[game.first + ply]))
            for side in range(2):
                stamp += 1
                _add_change(stack, side, program, active, marks, stamp, often, sums, view, scratch)
            copy_record(stack[0], stack[1])


@kernel
def _add_change(stack, side, program, active, marks, stamp, often, sums, view, scratch):
    """Add the changes of one move from the view of `side`; `stamp` marks the features active before."""
    look(stack[0], side, view)
    before = active_features(view, program, scratch, active[0])
    look(stack[1], side, view)
    after = active_features(view, program, scratch, active[1])
    for index in range(before):
        marks[active[0, index]] = stamp
    kept = 0
    for index in range(after):
        kept += marks[active[1, index]] == stamp
        often[active[1, index]] += 1
    sums[0] += before
    sums[1] += after - kept
    sums[2] += before - kept
