"""The score of a net in a search: the first-layer sums of each ply (accumulators), updated from the moves made.

All loops run over blocks of 32 neurons, one value for the processor; layers are padded with zeros to a multiple of 32.
Rows of weights and sums are passed by address.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from merino.inner.core.board.bitboard import U64, WHITE
from merino.inner.core.board.changes import NOTHING, changes_of
from merino.inner.core.board.position import side_to_move
from merino.inner.core.compiled.jit import kernel
from merino.inner.core.compiled.lanes import LANES_SIZE, clipped_lanes, dots_of_lanes, load_lanes, store_lanes
from merino.inner.core.compiled.memory import array_at
from merino.inner.eval.accumulators import last_valid
from merino.inner.eval.net.features import SCRATCH, active_features
from merino.inner.eval.net.network import QA
from merino.inner.eval.net.view import VIEW_SIZE, look

# The content of a record's `evaluation_data`: numbers and addresses, uint64.
(
    BLOCKS,  # of the first layer
    SECOND,  # neurons of the second layer
    SQUARES,  # 1 for squared clipped ReLU
    FEATURES,
    PIECE_ROWS,  # int16[14 * 64, 2, 32 * blocks]: what a piece on a square adds to both sums, if features are pieces
    INPUTS,  # int16[features, 32 * blocks]
    INPUT_BIAS,
    MIDDLE,  # int16[second, 64 * blocks]
    MIDDLE_BIAS,
    OUTPUT,
    OUTPUT_BIAS,  # int16[1]
    PROGRAM,  # int64[terms, ...] of the feature set
    TERMS,
    MOST,  # maximum number of features active at once
    PLIES,
    HIDDEN,  # neurons of the first layer, without padding
    UNITS,  # float64[3]: centipawns of 1 in a sum over both views; 1.0 there; centipawns of 1 behind a second layer
    NUMBERS,
) = range(18)

# The content of `accumulators`: sums int16[plies, 2, 32 * blocks], keys uint64[plies], and for features that are not
# single pieces lists int32[plies, 2, 1 + most] (each begins with its length) and marks int64[1 + features].


class Net(NamedTuple):
    """The numbers of a net in use, and the addresses of its arrays."""

    blocks: types.int64
    row: types.uint64  # bytes of a row of weights or sums
    second: types.int64
    squares: types.boolean
    numbers: Any  # uint64[NUMBERS]


@kernel(makes_arrays=True)
def net_at(address):
    """The `Net` at an address."""
    numbers = array_at(address, np.uint64, NUMBERS)
    blocks = np.int64(numbers[BLOCKS])
    return Net(blocks, U64(LANES_SIZE * blocks), np.int64(numbers[SECOND]), numbers[SQUARES] != 0, numbers)


@kernel
def _change_one(new, old, added, removed, blocks):
    """New = old + one row of weights - another; arguments are addresses of rows."""
    for block in range(blocks):
        at = U64(LANES_SIZE * block)
        store_lanes(new + at, load_lanes(old + at) + load_lanes(added + at) - load_lanes(removed + at))


@kernel
def _change_two(new, old, added, removed, taken, blocks):
    """New = old + one row of weights - two others: a capture."""
    for block in range(blocks):
        at = U64(LANES_SIZE * block)
        less = load_lanes(removed + at) + load_lanes(taken + at)
        store_lanes(new + at, load_lanes(old + at) + load_lanes(added + at) - less)


@kernel
def _copy_row(new, old, blocks):
    """New = old; both are addresses of rows."""
    for block in range(blocks):
        at = U64(LANES_SIZE * block)
        store_lanes(new + at, load_lanes(old + at))


@kernel
def _add_row(sums, row, blocks):
    """Add a row of the weights to the sums; both are addresses."""
    for block in range(blocks):
        at = U64(LANES_SIZE * block)
        store_lanes(sums + at, load_lanes(sums + at) + load_lanes(row + at))


@kernel
def _subtract_row(sums, row, blocks):
    """Subtract a row of the weights from the sums; both are addresses."""
    for block in range(blocks):
        at = U64(LANES_SIZE * block)
        store_lanes(sums + at, load_lanes(sums + at) - load_lanes(row + at))


@kernel
def _row(net, feature):
    """The address of a feature's weights."""
    return net.numbers[INPUTS] + U64(feature) * net.row


@kernel
def _update_by_piece(net, before, move, old, new):
    """The sums `new` after a move in the position `before`, from `old`, if features are pieces.

    Both are addresses of the sums of two views; a row of `PIECE_ROWS` changes both.
    """
    changed, both, rows = changes_of(before, move), 2 * net.blocks, net.numbers[PIECE_ROWS]
    size = U64(2) * net.row
    if changed.removed == NOTHING:
        _copy_row(new, old, both)
        return
    added, removed = rows + U64(changed.added) * size, rows + U64(changed.removed) * size
    if changed.removed_too == NOTHING:
        _change_one(new, old, added, removed, both)
        return
    _change_two(new, old, added, removed, rows + U64(changed.removed_too) * size, both)
    if changed.added_too != NOTHING:
        _add_row(new, rows + U64(changed.added_too) * size, both)


@kernel
def fill_sums(net, position, sums, view, scratch, active):
    """The sums of a position from scratch, int16[2, width] at the address `sums`.

    The active features are written to `active`, int32[2, 1 + most]: for each side their number, then the features.
    """
    program = _program_of(net)
    for side in range(2):
        look(position, side, view)
        count = active_features(view, program, scratch, active[side, 1:])
        active[side, 0] = count
        own = sums + U64(side) * net.row
        _copy_row(own, net.numbers[INPUT_BIAS], net.blocks)
        for index in range(count):
            _add_row(own, _row(net, active[side, 1 + index]), net.blocks)


@kernel(makes_arrays=True)
def _program_of(net):
    """The program of the net's feature set, int64[terms, 8]."""
    return array_at(net.numbers[PROGRAM], np.int64, (np.int64(net.numbers[TERMS]), 8))


@kernel(makes_arrays=True)
def _update_by_lists(net, position, old_active, new_active, marks, old, new):
    """The sums after a move if features are not single pieces, from the difference of the active features.

    `old` and `new` are addresses of the sums of two views; `marks`, int64[1 + features], begins with a counter.
    """
    program = _program_of(net)
    view, scratch = np.empty(VIEW_SIZE, dtype=np.uint64), np.empty(SCRATCH, dtype=np.int32)
    for side in range(2):
        look(position, side, view)
        count = active_features(view, program, scratch, new_active[side, 1:])
        new_active[side, 0] = count
        sums = new + U64(side) * net.row
        _copy_row(sums, old + U64(side) * net.row, net.blocks)
        marks[0] += 2
        stamp = marks[0]
        for index in range(count):
            marks[1 + new_active[side, 1 + index]] = stamp
        for index in range(old_active[side, 0]):
            feature = old_active[side, 1 + index]
            if marks[1 + feature] == stamp:
                marks[1 + feature] = stamp + 1
            else:
                _subtract_row(sums, _row(net, feature), net.blocks)
        for index in range(count):
            feature = new_active[side, 1 + index]
            if marks[1 + feature] == stamp:
                _add_row(sums, _row(net, feature), net.blocks)


@kernel
def _squared_sum(own, other, weights, net):
    """The sum over both views under squared clipped ReLU, in units of 1 / (QA * QA * QB), int64; rows by address."""
    total = np.int64(0)
    for block in range(net.blocks):
        at = U64(LANES_SIZE * block)
        mine, theirs = clipped_lanes(load_lanes(own + at), 0, QA), clipped_lanes(load_lanes(other + at), 0, QA)
        first, second = load_lanes(weights + at), load_lanes(weights + net.row + at)
        total += dots_of_lanes(mine * first, mine, theirs * second, theirs)
    return total


@kernel
def _clipped_sum(own, other, weights, net):
    """The same under clipped ReLU, in units of 1 / (QA * QB)."""
    total = np.int64(0)
    for block in range(net.blocks):
        at = U64(LANES_SIZE * block)
        mine, theirs = clipped_lanes(load_lanes(own + at), 0, QA), clipped_lanes(load_lanes(other + at), 0, QA)
        total += dots_of_lanes(mine, load_lanes(weights + at), theirs, load_lanes(weights + net.row + at))
    return total


@kernel
def _layer_sum(net, own, other, weights):
    """The weighted sum of both views, the mover's first, in units of 1 / (QA * QB), float64; rows by address."""
    if net.squares:
        return _squared_sum(own, other, weights, net) * (1 / QA)
    return float(_clipped_sum(own, other, weights, net))


@kernel
def output_of(net, own, other):
    """The score in centipawns for the side to move, float64; `own` and `other` are addresses of both views' sums."""
    numbers = net.numbers
    bias, units = array_at(numbers[OUTPUT_BIAS], np.int16, 1)[0], array_at(numbers[UNITS], np.float64, 3)
    if net.second == 0:
        total = _layer_sum(net, own, other, numbers[OUTPUT])
        return (total + bias) * units[0]
    output = array_at(numbers[OUTPUT], np.int16, net.second)
    middle_bias = array_at(numbers[MIDDLE_BIAS], np.int16, net.second)
    value = bias / QA
    for neuron in range(net.second):
        weights = numbers[MIDDLE] + U64(2 * neuron) * net.row
        total = _layer_sum(net, own, other, weights) + middle_bias[neuron]
        active = min(max(total / units[1], 0.0), 1.0)
        value += output[neuron] * (active * active if net.squares else active)
    return value * units[2]


@kernel
def white_score(s, ply):
    """White's score at `ply` of a search record before draw rules, float64, if features are pieces."""
    net = net_at(s.evaluation_data)
    update_sums(s, net, ply, next_by_piece)
    return _score_at(s, net, ply)


@kernel
def white_score_by_lists(s, ply):
    """The same if features are not single pieces."""
    net = net_at(s.evaluation_data)
    update_sums(s, net, ply, _next_by_lists)
    return _score_at(s, net, ply)


@kernel
def update_sums(s, net, ply, update):
    """Make the sums of a ply valid: from the last valid ones, `update(s, net, p)` makes those of ply p + 1 from p."""
    keys = keys_of(s, net)
    known = last_valid(s, keys, ply)
    if known < 0:
        known = fill_root(s, net, keys)
    for at in range(known, ply):
        update(s, net, at)
        keys[at + 1] = s.positions[at + 1].key


@kernel
def next_by_piece(s, net, ply):
    """Make the sums of the next ply from those of this one, if features are pieces."""
    old = sums_at(s, net, ply)
    _update_by_piece(net, s.positions[ply], s.plies[ply].move, old, old + U64(2) * net.row)


@kernel(makes_arrays=True)
def _next_by_lists(s, net, ply):
    """The same if features are not single pieces."""
    lists, old = _lists_of(s, net), sums_at(s, net, ply)
    behind = np.uint64(lists.ctypes.data) + U64(4 * lists.size)
    marks = array_at(behind, np.int64, 1 + np.int64(net.numbers[FEATURES]))
    _update_by_lists(net, s.positions[ply + 1], lists[ply], lists[ply + 1], marks, old, old + U64(2) * net.row)


@kernel
def sums_at(s, net, ply):
    """The address of the sums of a ply, int16[2, 32 * blocks]."""
    return s.accumulators + U64(2 * ply) * net.row


@kernel(makes_arrays=True)
def keys_of(s, net):
    """The keys of the positions of the kept sums, by ply, uint64[plies]."""
    plies = np.int64(net.numbers[PLIES])
    return array_at(sums_at(s, net, plies), np.uint64, plies)


@kernel(makes_arrays=True)
def _lists_of(s, net):
    """The active features by ply and side, int32[plies, 2, 1 + most]."""
    plies, most = np.int64(net.numbers[PLIES]), np.int64(net.numbers[MOST])
    return array_at(sums_at(s, net, plies) + U64(8 * plies), np.int32, (plies, 2, 1 + most))


@kernel(makes_arrays=True)
def fill_root(s, net, keys):
    """Compute the sums of the root from scratch; returns its ply, 0."""
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(SCRATCH, dtype=np.int32)
    fill_sums(net, s.positions[0], s.accumulators, view, scratch, _lists_of(s, net)[0])
    keys[0] = s.positions[0].key
    return 0


@kernel
def _score_at(s, net, ply):
    """White's score at a ply whose sums are up to date."""
    sums, side = sums_at(s, net, ply), side_to_move(s.positions[ply])
    own, other = sums + U64(side) * net.row, sums + U64(1 - side) * net.row
    score = output_of(net, own, other)  # a single call, so that it is inlined
    return score if side == WHITE else -score
