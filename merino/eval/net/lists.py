"""Sums updated by lists: the way for every feature set that cannot be updated piece by piece.

The active features of each ply are listed, and sums change by what differs from the list of the ply before. Behind the
keys are kept a view, scratch memory, the lists int32[plies, 2, 1 + most], each beginning with its length, and marks
int64[1 + features], which begin with a counter.
"""

import numpy as np

from merino.core.board.bitboard import U64
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import array_at, evaluation_address
from merino.eval.net.features import SCRATCH, FeatureSet, active_features
from merino.eval.net.play import (
    FEATURES,
    MAX_ACTIVE,
    PLIES,
    add_row,
    copy_row,
    fill_sums,
    net_at,
    others_at,
    program_of,
    row_of,
    score_at,
    subtract_row,
    sums_at,
    update_sums,
)
from merino.eval.net.view import VIEW_SIZE, look

_VIEW, _SCRATCH = U64(8 * VIEW_SIZE), U64(4 * SCRATCH)  # bytes


def list_bytes(wanted: FeatureSet, plies: int) -> int:
    """The memory kept behind the keys."""
    return int(_VIEW + _SCRATCH) + 8 * plies * (1 + wanted.most) + 8 * (1 + wanted.size)


@entry
def install_by_lists(records):
    """Let a search record evaluate by `white_score_by_lists`."""
    s = records[0]
    s.evaluation = evaluation_address(white_score_by_lists, s)


@kernel
def white_score_by_lists(s, ply):
    """White's score at `ply` of a search record before draw rules, float64."""
    net = net_at(s.evaluation_data)
    update_sums(s, net, ply, _next_by_lists, _fill_root)
    return score_at(s, net, ply)


@kernel(makes_arrays=True)
def _lists_of(s, net):
    """The active features by ply and side."""
    plies, most = np.int64(net.numbers[PLIES]), np.int64(net.numbers[MAX_ACTIVE])
    return array_at(others_at(s, net) + _VIEW + _SCRATCH, np.int32, (plies, 2, 1 + most))


@kernel(makes_arrays=True)
def _fill_root(s, net):
    """Make the sums and the lists of the root from scratch."""
    view = array_at(others_at(s, net), np.uint64, VIEW_SIZE)
    scratch = array_at(others_at(s, net) + _VIEW, np.int32, SCRATCH)
    fill_sums(net, s.positions[0], s.accumulators, view, scratch, _lists_of(s, net)[0])


@kernel(makes_arrays=True)
def _next_by_lists(s, net, ply):
    """Make the sums and the lists of the next ply from those of this one."""
    view = array_at(others_at(s, net), np.uint64, VIEW_SIZE)
    scratch = array_at(others_at(s, net) + _VIEW, np.int32, SCRATCH)
    lists, program = _lists_of(s, net), program_of(net)
    behind = np.uint64(lists.ctypes.data) + U64(4 * lists.size)
    marks = array_at(behind, np.int64, 1 + np.int64(net.numbers[FEATURES]))
    for side in range(2):
        old, new = sums_at(s, net, ply) + U64(side) * net.row, sums_at(s, net, ply + 1) + U64(side) * net.row
        copy_row(new, old, net.blocks)
        look(s.positions[ply + 1], side, view)
        active = lists[ply + 1, side]
        active[0] = active_features(view, program, scratch, active[1:])
        _change_by_lists(net, new, lists[ply, side], active, marks)


@kernel
def _change_by_lists(net, sums, old, new, marks):
    """Change the sums of a side by what differs between two lists of active features."""
    marks[0] += 2
    stamp = marks[0]
    for index in range(new[0]):
        marks[1 + new[1 + index]] = stamp
    for index in range(old[0]):
        feature = old[1 + index]
        if marks[1 + feature] == stamp:
            marks[1 + feature] = stamp + 1
        else:
            subtract_row(sums, row_of(net, feature), net.blocks)
    for index in range(new[0]):
        feature = new[1 + index]
        if marks[1 + feature] == stamp:
            add_row(sums, row_of(net, feature), net.blocks)
