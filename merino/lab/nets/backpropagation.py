"""The error of a net over positions and its gradient, by backpropagation: compiled code for one thread.

One entry learns from scores and results, the other from moves (PQR); `learn.net.gradient` says what their errors are.
"""

import numpy as np

from merino.core.board.bitboard import U64, lsb, popcount
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import array_at, prefetch
from merino.eval.net.features import SCRATCH, active_features
from merino.eval.net.network import SCALE
from merino.eval.net.play import output_by
from merino.eval.net.view import VIEW_SIZE, look_back, mirror_view
from merino.formats.packed import read_view
from merino.lab.nets.layers import (
    add_inputs,
    add_to_inputs,
    add_to_values,
    backward,
    backward_values,
    forward,
    forward_values,
    gather_values,
)

AHEAD = 12  # positions prefetched
OUTPUT = 2  # where in a slot's numbers that of the output is, behind those of the active features of both views
TRIPLE = 3  # records for PQR
_FINDER = 2 * VIEW_SIZE + SCRATCH // 2  # words of memory to find features with


@kernel
def draws_mirror(place, mirror):
    """Whether the position at this place is mirrored this time; about half of them are."""
    mixed = (U64(place) ^ mirror) * U64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> U64(32)
    return mirror != U64(0) and (mixed * U64(0xD6E8FEB86659FD93)) >> U64(63) != U64(0)


@kernel
def _features_of_views(record, is_mirrored, program, views, scratch, active, counts):
    """Fill `active` and `counts` with the features of both views of a position, the side to move first."""
    read_view(record, views[0])
    if is_mirrored:
        mirror_view(views[0])
    look_back(views[0], views[1])
    for side in range(2):
        counts[side] = active_features(views[side], program, scratch, active[side])


@kernel
def _features_of_pieces(record, is_mirrored, rows, active):
    """The same if each feature is one piece; their number for each side."""
    left, count = U64(record.occupied), 0
    turned = 7 if is_mirrored else 0
    while left:
        piece = np.int64(record.pieces[count >> 1]) >> 4 * (count & 1) & 15
        square = lsb(left) ^ turned
        active[0, count] = rows[0, piece, square]
        active[1, count] = rows[1, piece, square]
        count += 1
        left &= left - U64(1)
    return count


@kernel
def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@entry
def learn_scores(weights, records, places, options, program, rows, most, gradient):
    """The sum of the errors over records[places]; its gradient is added to `gradient`, unless that is empty.

    `rows`, int32[2, 14, 64], are the features of pieces if each feature is one piece, else int32[0, 14, 64].
    """
    memory = np.zeros(_FINDER + _slot_size(options[0], most), dtype=np.uint64)  # not freed before the call returns
    return _pass_over_scores(weights, records, places, options[0], program, rows, most, gradient, memory)


@kernel
def _pass_over_scores(weights, records, places, o, program, rows, most, gradient, memory):
    finder, slot = _finder(memory), _slot(0, o, most, memory)
    total = 0.0
    for number in range(len(places)):
        _prefetch(records, places, number)
        place = places[number]
        is_mirrored = draws_mirror(place, o.mirror)
        total += _learn_score(weights, gradient, o, records[place], is_mirrored, program, rows, finder, slot)
    return total


@entry
def learn_moves(weights, records, places, options, program, rows, most, gradient):
    """The same for the PQR objective: records at a place and at the two that follow."""
    memory = np.zeros(_FINDER + TRIPLE * _slot_size(options[0], most), dtype=np.uint64)
    return _pass_over_moves(weights, records, places, options[0], program, rows, most, gradient, memory)


@kernel
def _pass_over_moves(weights, records, places, o, program, rows, most, gradient, memory):
    finder = _finder(memory)
    slots = _slot(0, o, most, memory), _slot(1, o, most, memory), _slot(2, o, most, memory)
    total = 0.0
    for number in range(len(places)):
        _prefetch(records, places, number)
        total += _learn_move(weights, gradient, o, records, places[number], program, rows, finder, slots)
    return total


@kernel
def _prefetch(records, places, number):
    ahead = places[min(number + AHEAD, len(places) - 1)]
    prefetch(U64(records.ctypes.data) + U64(32 * ahead))


@kernel(makes_arrays=True)
def _finder(memory):
    """Both views and scratch memory."""
    address = U64(memory.ctypes.data)
    scratch = array_at(address + U64(8 * 2 * VIEW_SIZE), np.int32, SCRATCH)
    return array_at(address, np.uint64, (2, VIEW_SIZE)), scratch


@kernel
def _slot_size(o, most):
    """The words of memory that one position needs on its way through the net and back."""
    return 3 + most + (8 * o.width + 3 * o.second) // 2


@kernel(makes_arrays=True)
def _slot(number, o, most, memory):
    """Where a position is worked on: active features of both views, their numbers and OUTPUT, and two blocks of rows.

    The first block: sums, outputs of neurons, slopes, sums of values. The second: those of the second layer.
    """
    start = U64(memory.ctypes.data) + U64(8 * (_FINDER + number * _slot_size(o, most)))
    buffers = array_at(start, np.float32, (4, 2 * o.width))
    start += U64(4 * 8 * o.width)
    second = array_at(start, np.float32, (3, o.second))
    start += U64(4 * 3 * o.second)
    return array_at(start + U64(24), np.int32, (2, most)), array_at(start, np.int64, 3), buffers, second


@kernel
def _learn_score(weights, gradient, o, record, is_mirrored, program, rows, finder, slot):
    """The error at a position with a score and a result; its gradient is added, unless `gradient` is empty."""
    output = _forward(weights, o, record, is_mirrored, program, rows, finder, slot)
    predicted = _sigmoid(output * SCALE / o.k)
    target = o.blend * (record.result * 0.5) + (1.0 - o.blend) * _sigmoid(record.score / o.score_k)
    off = predicted - target
    if len(gradient) == 0:
        return abs(off) ** o.power
    steepness = abs(off) ** (o.power - 1.0)
    slope = o.power * (steepness if off > 0 else -steepness) * predicted * (1.0 - predicted) * SCALE / o.k
    _backward(weights, gradient, o, np.float32(slope), slot)
    return steepness * abs(off)


@kernel
def _learn_move(weights, gradient, o, records, place, program, rows, finder, slots):
    """The same for PQR: the position before a move, after it, and after another one."""
    before, after, other = slots
    is_mirrored = draws_mirror(place, o.mirror)
    p = _expected(_forward(weights, o, records[place], is_mirrored, program, rows, finder, before), o)
    q = _expected(_forward(weights, o, records[place + 1], is_mirrored, program, rows, finder, after), o)
    r = _expected(_forward(weights, o, records[place + 2], is_mirrored, program, rows, finder, other), o)
    better, more = _sigmoid(r - q), _sigmoid(p + q)
    if len(gradient):
        scale = 0.5 * SCALE / o.k
        slope_p, slope_r = 2.0 * more - 1.0, better - 1.0
        slope_q = slope_p - slope_r
        _backward(weights, gradient, o, np.float32(slope_p * (1.0 - p * p) * scale), before)
        _backward(weights, gradient, o, np.float32(slope_q * (1.0 - q * q) * scale), after)
        _backward(weights, gradient, o, np.float32(slope_r * (1.0 - r * r) * scale), other)
    return -np.log(better) - np.log(more) - np.log(1.0 - more)


@kernel
def _expected(output, o):
    """The points that the side to move can expect, from -1 to 1."""
    return 2.0 * _sigmoid(output * SCALE / o.k) - 1.0


@kernel
def _forward(weights, o, record, is_mirrored, program, rows, finder, slot):
    """The output of the net; what `_backward` needs of this position stays in the slot."""
    views, scratch = finder
    active, counts, buffers, second = slot
    if len(rows):
        counts[:OUTPUT] = _features_of_pieces(record, is_mirrored, rows, active)
    else:
        _features_of_views(record, is_mirrored, program, views, scratch, active, counts)
    for side in range(2):
        add_inputs(weights, active[side], counts[side], o.width, o.features, buffers[0, side * o.width :])
    if o.values:
        constant = gather_values(weights, o, active, counts, buffers[3])
        return forward_values(weights, o, buffers, constant, o.squares != 0)
    counts[OUTPUT] = output_by(popcount(U64(record.occupied)), o.men_shift)
    return forward(weights, o, buffers, second, counts[OUTPUT], o.squares != 0)


@kernel
def _backward(weights, gradient, o, slope, slot):
    """Add the gradient of a position, given the slope of the error over the net's output."""
    active, counts, buffers, second = slot
    squares = o.squares != 0
    if o.values:
        add_to_values(gradient, o, active, counts, buffers[1], slope)
        backward_values(gradient, o, buffers, squares, slope)
    else:
        backward(weights, gradient, o, buffers, second, counts[OUTPUT], squares, slope)
    for side in range(2):
        add_to_inputs(gradient, active[side], counts[side], o.width, o.features, buffers[2, side * o.width :])
