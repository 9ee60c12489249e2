"""The layers of a net, forward and backward, for one position; weights in the order of `Layout`.

Rows are float32, and as long as a multiple of FLOAT_LANES.

In the last layer of a piece-value net, `neurons` begins with those of the side to move. A piece of the other side swaps
the two halves, and its value is subtracted: so the sum of all values is one row of weights, combined for each position.
"""

import numpy as np

from merino.core.board.bitboard import U64
from merino.core.compiled.jit import kernel
from merino.core.compiled.lanes import (
    FLOAT_LANES,
    clipped_floats,
    floats_of,
    load_floats,
    store_floats,
    sum_of_floats,
    where_inside,
)
from merino.eval.net.features import NO_ROW, PIECE_ROWS, ROW_OF_FEATURE
from merino.eval.net.network import VALUE


@kernel
def _at(row, index):
    """The address of row[index]; `row` is float32[n]."""
    return U64(row.ctypes.data) + U64(4 * index)


@kernel
def add_inputs(weights, active, count, width, features, sums):
    """Fill `sums` with the bias plus the rows of active features; each block of neurons stays in registers."""
    size, fours = U64(4 * width), count & ~3
    for block in range(0, width, FLOAT_LANES):
        column = _at(weights, block)
        total = _block_of(column, features, size)
        for index in range(0, fours, 4):
            a, b = _block_of(column, active[index], size), _block_of(column, active[index + 1], size)
            c, d = _block_of(column, active[index + 2], size), _block_of(column, active[index + 3], size)
            total = total + ((a + b) + (c + d))
        for index in range(fours, count):
            total = total + _block_of(column, active[index], size)
        store_floats(_at(sums, block), total)


@kernel
def _block_of(column, row, size):
    """One block of a row of weights; `column` is its address in row 0, `size` the bytes of a row."""
    return load_floats(column + U64(row) * size)


@kernel
def add_to_inputs(gradient, active, count, width, features, slopes):
    """Add the gradient of one view's sums to the rows of its active features and to the bias."""
    size = U64(4 * width)
    for block in range(0, width, FLOAT_LANES):
        column, slope = _at(gradient, block), load_floats(_at(slopes, block))
        add_floats(column + U64(features) * size, slope)
        for index in range(count):
            add_floats(column + U64(active[index]) * size, slope)


@kernel
def add_floats(address, numbers):
    """Add float32[16] to those at an address."""
    store_floats(address, load_floats(address) + numbers)


@kernel
def add_row(target, row, factor):
    """Add `factor` times a row to `target`."""
    factors = floats_of(factor)
    for k in range(0, len(row), FLOAT_LANES):
        add_floats(_at(target, k), factors * load_floats(_at(row, k)))


@kernel
def set_row(target, row, factor):
    """Make `target` `factor` times a row."""
    factors = floats_of(factor)
    for k in range(0, len(row), FLOAT_LANES):
        store_floats(_at(target, k), factors * load_floats(_at(row, k)))


@kernel
def activate(sums, out, squares):
    """Clipped to 0..1, and squared for squared clipped ReLU."""
    for k in range(0, len(sums), FLOAT_LANES):
        clipped = clipped_floats(load_floats(_at(sums, k)))
        store_floats(_at(out, k), clipped * clipped if squares else clipped)


@kernel
def activate_back(sums, slopes, squares):
    """Turn `slopes` from those of the neurons' outputs into those of their sums."""
    for k in range(0, len(sums), FLOAT_LANES):
        total, slope = load_floats(_at(sums, k)), load_floats(_at(slopes, k))
        if squares:
            slope = slope * (total + total)
        store_floats(_at(slopes, k), where_inside(total, slope))


@kernel
def dot(a, b):
    """The dot product of two rows."""
    total = floats_of(np.float32(0))
    for k in range(0, len(a), FLOAT_LANES):
        total = total + load_floats(_at(a, k)) * load_floats(_at(b, k))
    return sum_of_floats(total)


@kernel
def _output_place(o, output):
    """Where in the vector the row of this output begins, and where its bias is."""
    first, rows = 2 * o.width, (o.features + 1) * o.width
    if o.second:
        rows += (first + 1) * o.second
    size = first if o.second == 0 else o.second
    return rows + output * size, rows + o.outputs * size + output


@kernel
def forward(weights, o, buffers, second, output, squares):
    """What this output of the net gives for the sums in buffers[0]; neurons give buffers[1] and second[1]."""
    first = 2 * o.width
    behind = (o.features + 1) * o.width
    last, last_bias = _output_place(o, output)
    activate(buffers[0, :first], buffers[1, :first], squares)
    if o.second == 0:
        return dot(buffers[1, :first], weights[last:]) + weights[last_bias]
    sums, bias = second[0], behind + first * o.second
    set_row(sums, weights[bias : bias + o.second], np.float32(1))
    for k in range(first):
        value = buffers[1, k]
        if value != np.float32(0):
            add_row(sums, weights[behind + k * o.second : behind + (k + 1) * o.second], value)
    activate(sums, second[1], squares)
    return dot(second[1], weights[last:]) + weights[last_bias]


@kernel
def backward(weights, gradient, o, buffers, second, output, squares, slope):
    """Add the gradient of all layers after the first; the slopes of its sums go to buffers[2]."""
    first = 2 * o.width
    behind = (o.features + 1) * o.width
    last, last_bias = _output_place(o, output)
    slopes = buffers[2]
    gradient[last_bias] += slope
    if o.second == 0:
        set_row(slopes, weights[last : last + first], slope)
        add_row(gradient[last:], buffers[1, :first], slope)
    else:
        bias = behind + first * o.second
        add_row(gradient[last:], second[1], slope)
        set_row(second[2], weights[last : last + o.second], slope)
        activate_back(second[0], second[2], squares)
        add_row(gradient[bias:], second[2], np.float32(1))
        for k in range(first):
            row = behind + k * o.second
            slopes[k] = dot(second[2], weights[row:])
            value = buffers[1, k]
            if value != np.float32(0):
                add_row(gradient[row:], second[2], value)
    activate_back(buffers[0, :first], slopes, squares)


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
