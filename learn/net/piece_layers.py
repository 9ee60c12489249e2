"""The last layer of a piece-value net, forward and backward, for one position; weights in the order of `Layout`.

`neurons` begins with those of the side to move. A piece of the other side swaps the two halves, and its value is
subtracted: so the sum of all values is one row of weights, combined for each position. All numbers are float32.
"""

import numpy as np

from merino.inner.core.compiled.jit import kernel
from merino.inner.eval.net.network import VALUE
from merino.inner.eval.net.rows import NO_ROW, PIECE_ROWS, ROW_OF_FEATURE
from merino.inner.learn.net.layers import activate, activate_back, add_row, dot, set_row


@kernel
def _first_value(o):
    """The index of the pieces' first row in the vector of the weights."""
    return (o.features + 1) * o.width


@kernel
def _first_constant(o):
    """The index of the pieces' first constant."""
    return _first_value(o) + PIECE_ROWS * 2 * o.width


@kernel
def gather_values(weights, o, active, counts, mixed):
    """Fill `mixed` with the sum of all pieces' rows, with signs and halves as above; the sum of the constants.

    `active`, int32[2, most], are the features of both views, the side to move first.
    """
    width, first, constants = o.width, _first_value(o), _first_constant(o)
    mixed[: 2 * width] = np.float32(0)
    total = np.float32(0)
    for side in range(2):
        sign = np.float32(-1) if side else np.float32(1)
        own, other = mixed[side * width : (side + 1) * width], mixed[(1 - side) * width : (2 - side) * width]
        for index in range(counts[side]):
            row = ROW_OF_FEATURE[active[side, index]]
            if row == NO_ROW:
                continue
            start = first + 2 * width * row
            add_row(own, weights[start : start + width], sign)
            add_row(other, weights[start + width : start + 2 * width], sign)
            total += sign * weights[constants + row]
    return total


@kernel
def forward_values(weights, o, buffers, constant, squares):
    """The output of the net from the sums in buffers[0] and the row in buffers[3]; outputs of neurons go to [1]."""
    both = 2 * o.width
    activate(buffers[0, :both], buffers[1, :both], squares)
    last = weights[_first_constant(o) + PIECE_ROWS]
    return dot(buffers[1, :both], buffers[3, :both]) + np.float32(VALUE) * constant + last


@kernel
def add_to_values(gradient, o, active, counts, neurons, slope):
    """Add to the gradient of the rows and constants of the pieces on the board."""
    width, first, constants = o.width, _first_value(o), _first_constant(o)
    for side in range(2):
        signed = -slope if side else slope
        own, other = neurons[side * width : (side + 1) * width], neurons[(1 - side) * width : (2 - side) * width]
        for index in range(counts[side]):
            row = ROW_OF_FEATURE[active[side, index]]
            if row == NO_ROW:
                continue
            start = first + 2 * width * row
            add_row(gradient[start:], own, signed)
            add_row(gradient[start + width :], other, signed)
            gradient[constants + row] += np.float32(VALUE) * signed


@kernel
def backward_values(gradient, o, buffers, squares, slope):
    """Add the gradient of the constant of the side to move; the slopes of the first layer's sums go to buffers[2]."""
    both = 2 * o.width
    gradient[_first_constant(o) + PIECE_ROWS] += slope
    set_row(buffers[2], buffers[3, :both], slope)
    activate_back(buffers[0, :both], buffers[2], squares)
