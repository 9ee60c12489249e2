"""The score of a net in a search: sums of the first layer by ply, brought up to date from the moves that were made.

All loops run over blocks of 64 neurons, a number that the compiler knows, so that they become instructions on whole
registers; a layer is filled up with zeros to a multiple of it.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from engine.board.bitboard import WHITE
from engine.board.changes import NOTHING, changes_of
from engine.board.position import side_to_move
from engine.compiled.jit import kernel
from engine.compiled.memory import array_at
from eval.accumulators import last_valid
from eval.net.features import SCRATCH, active_features
from eval.net.network import QA, QB, SCALE
from eval.net.rows import PIECES
from eval.net.view import VIEW_SIZE, look

LANES = 64  # neurons of a block

# What a record's `evaluation_data` points to: numbers and addresses, uint64.
(
    BLOCKS,  # of the first layer
    SECOND,  # neurons of the second layer
    SQUARES,  # 1 for squared clipped ReLU
    FEATURES,
    BY_PIECE,  # 1 where each feature belongs to one piece, so that `ROWS` tells what a move changes
    ROWS,  # int32[2, 14, 64]: the feature of a piece on a square as each side sees it
    INPUTS,  # int16[features, 64 * blocks]
    INPUT_BIAS,
    MIDDLE,  # int16[second, 128 * blocks]
    MIDDLE_BIAS,
    OUTPUT,
    OUTPUT_BIAS,  # int16[1]
    PROGRAM,  # int64[terms, ...] of the feature set
    TERMS,
    MOST,  # features that can be active at once
    PLIES,
    NUMBERS,
) = range(17)

# What `accumulators` points to: keys uint64[plies], sums int16[plies, 2, 64 * blocks], and for features that belong to
# no one piece lists int32[plies, 2, 1 + most] (each begins with its length) and marks int64[1 + features].


class Net(NamedTuple):
    """The numbers of a net in use, and where its arrays are."""

    blocks: types.int64
    width: types.int64
    second: types.int64
    squares: types.boolean
    numbers: Any  # uint64[NUMBERS]


@kernel
def net_at(address):
    """The `Net` that lies at an address."""
    numbers = array_at(address, np.uint64, NUMBERS)
    blocks = np.int64(numbers[BLOCKS])
    return Net(blocks, LANES * blocks, np.int64(numbers[SECOND]), numbers[SQUARES] != 0, numbers)


@kernel
def _change_one(new, old, weights, added, removed, blocks):
    """New = old with one row of the weights more and one less; arguments are starts of rows."""
    for block in range(blocks):
        start = LANES * block
        d, o = new[start : start + LANES], old[start : start + LANES]
        a, r = weights[added + start : added + start + LANES], weights[removed + start : removed + start + LANES]
        for k in range(LANES):
            d[k] = o[k] + a[k] - r[k]


@kernel
def _change_two(new, old, weights, added, removed, taken, blocks):
    """The same with two rows less: a capture."""
    for block in range(blocks):
        start = LANES * block
        d, o = new[start : start + LANES], old[start : start + LANES]
        a, r = weights[added + start : added + start + LANES], weights[removed + start : removed + start + LANES]
        t = weights[taken + start : taken + start + LANES]
        for k in range(LANES):
            d[k] = o[k] + a[k] - r[k] - t[k]


@kernel
def add_row(sums, weights, start, sign, width):
    """Add a row of the weights to the sums, or take it off."""
    for k in range(width):
        sums[k] += sign * weights[start + k]


@kernel
def _update_by_piece(net, rows, weights, before, move, old, new):
    """The sums `new`, int16[2, width], after a move in the position `before`, from `old`, where features are pieces."""
    changed = changes_of(before, move)
    for side in range(2):
        if changed.removed == NOTHING:
            new[side, :] = old[side]
            continue
        added = rows[side, changed.added] * net.width
        removed = rows[side, changed.removed] * net.width
        if changed.removed_too == NOTHING:
            _change_one(new[side], old[side], weights, added, removed, net.blocks)
            continue
        taken = rows[side, changed.removed_too] * net.width
        _change_two(new[side], old[side], weights, added, removed, taken, net.blocks)
        if changed.added_too != NOTHING:
            add_row(new[side], weights, rows[side, changed.added_too] * net.width, 1, net.width)


@kernel
def fill_sums(net, position, sums, view, scratch, active):
    """The sums int16[2, width] of a position from scratch; the number of active features is left in `active`, by side.

    `active` is int32[2, 1 + most].
    """
    weights, bias, program, _ = arrays_of(net)
    for side in range(2):
        look(position, side, view)
        count = active_features(view, program, scratch, active[side, 1:])
        active[side, 0] = count
        sums[side, :] = bias
        for index in range(count):
            add_row(sums[side], weights, active[side, 1 + index] * net.width, 1, net.width)


@kernel
def arrays_of(net):
    """The weights of the first layer (flat), its bias, the program of the features, the rows of pieces."""
    numbers = net.numbers
    weights = array_at(numbers[INPUTS], np.int16, np.int64(numbers[FEATURES]) * net.width)
    bias = array_at(numbers[INPUT_BIAS], np.int16, net.width)
    program = array_at(numbers[PROGRAM], np.int64, (np.int64(numbers[TERMS]), 8))
    rows = array_at(numbers[ROWS], np.int32, (2, PIECES * 64))
    return weights, bias, program, rows


@kernel
def _update_by_lists(net, position, old_active, new_active, marks, old, new):
    """The sums after a move where features belong to no one piece: what is active now, less what was before.

    `marks`, int64[1 + features], begins with a counter.
    """
    weights, _, program, _ = arrays_of(net)
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(SCRATCH, dtype=np.int32)
    for side in range(2):
        look(position, side, view)
        count = active_features(view, program, scratch, new_active[side, 1:])
        new_active[side, 0] = count
        new[side, :] = old[side]
        marks[0] += 2
        stamp = marks[0]
        for index in range(count):
            marks[1 + new_active[side, 1 + index]] = stamp
        for index in range(old_active[side, 0]):
            feature = old_active[side, 1 + index]
            if marks[1 + feature] == stamp:
                marks[1 + feature] = stamp + 1
            else:
                add_row(new[side], weights, feature * net.width, -1, net.width)
        for index in range(count):
            feature = new_active[side, 1 + index]
            if marks[1 + feature] == stamp:
                add_row(new[side], weights, feature * net.width, 1, net.width)


@kernel
def _sum_squared(sums, weights, start, blocks):
    """The output's sum over one view, squared clipped ReLU, int64."""
    total = 0
    for block in range(blocks):
        first = LANES * block
        u, w = sums[first : first + LANES], weights[start + first : start + first + LANES]
        part = np.int32(0)
        for k in range(LANES):
            v = min(max(u[k], np.int16(0)), np.int16(QA))
            part = np.int32(part + np.int32(np.int16(v * w[k])) * np.int32(v))
        total += part
    return total


@kernel
def _sum_clipped(sums, weights, start, blocks):
    """The same with clipped ReLU."""
    total = 0
    for block in range(blocks):
        first = LANES * block
        u, w = sums[first : first + LANES], weights[start + first : start + first + LANES]
        part = np.int32(0)
        for k in range(LANES):
            v = min(max(u[k], np.int16(0)), np.int16(QA))
            part = np.int32(part + np.int32(v) * np.int32(w[k]))
        total += part
    return total


@kernel
def _layer_sum(net, own, other, weights, start):
    """The weighted sum of both views, the mover's first, in units of 1 / (QA * QB), float64."""
    if net.squares:
        total = _sum_squared(own, weights, start, net.blocks)
        total += _sum_squared(other, weights, start + net.width, net.blocks)
        return total / QA
    total = _sum_clipped(own, weights, start, net.blocks)
    total += _sum_clipped(other, weights, start + net.width, net.blocks)
    return float(total)


@kernel
def output_of(net, own, other):
    """The score in centipawns for the side to move, float64, from the sums of both views."""
    numbers = net.numbers
    bias = float(array_at(numbers[OUTPUT_BIAS], np.int16, 1)[0])
    if net.second == 0:
        output = array_at(numbers[OUTPUT], np.int16, 2 * net.width)
        return (_layer_sum(net, own, other, output, 0) + bias) * (SCALE / (QA * QB))
    output = array_at(numbers[OUTPUT], np.int16, net.second)
    middle = array_at(numbers[MIDDLE], np.int16, net.second * 2 * net.width)
    middle_bias = array_at(numbers[MIDDLE_BIAS], np.int16, net.second)
    value = bias / QA
    for neuron in range(net.second):
        total = _layer_sum(net, own, other, middle, neuron * 2 * net.width) + middle_bias[neuron]
        active = min(max(total / (QA * QB), 0.0), 1.0)
        value += output[neuron] * (active * active if net.squares else active)
    return value * (SCALE / QB)


@kernel
def white_score(s, ply):
    """White's score at `ply` of a search record before draw rules, float64."""
    net = net_at(s.evaluation_data)
    plies = np.int64(net.numbers[PLIES])
    keys = array_at(s.accumulators, np.uint64, plies)
    sums = array_at(s.accumulators + np.uint64(8 * plies), np.int16, (plies, 2, net.width))
    known = last_valid(s, keys, ply)
    if known < ply:
        _catch_up(s, net, keys, sums, known, ply)
    side = side_to_move(s.positions[ply])
    score = output_of(net, sums[ply, side], sums[ply, 1 - side])
    return score if side == WHITE else -score


@kernel
def _catch_up(s, net, keys, sums, known, ply):
    """Bring the sums up to date from ply `known` on, or from the root where nothing is known, to `ply`."""
    weights, _, _, rows = arrays_of(net)
    by_piece = net.numbers[BY_PIECE] != 0
    plies, most = np.int64(net.numbers[PLIES]), np.int64(net.numbers[MOST])
    behind = s.accumulators + np.uint64(8 * plies + 4 * plies * net.width)
    lists = array_at(behind, np.int32, (plies, 2, 1 + most))
    if known < 0:
        known = 0
        view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(SCRATCH, dtype=np.int32)
        fill_sums(net, s.positions[0], sums[0], view, scratch, lists[0])
        keys[0] = s.positions[0].key
    for at in range(known, ply):
        if by_piece:
            _update_by_piece(net, rows, weights, s.positions[at], s.plies[at].move, sums[at], sums[at + 1])
        else:
            marks = array_at(behind + np.uint64(8 * plies * (1 + most)), np.int64, 1 + np.int64(net.numbers[FEATURES]))
            _update_by_lists(net, s.positions[at + 1], lists[at], lists[at + 1], marks, sums[at], sums[at + 1])
        keys[at + 1] = s.positions[at + 1].key
