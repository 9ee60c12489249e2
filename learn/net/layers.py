"""The layers of a net, forward and backward, for one position, float32; weights in the order of `Layout`."""

import numpy as np

from engine.compiled.jit import kernel


@kernel
def add_inputs(weights, active, count, width, features, sums):
    """Fill `sums` with the bias plus the rows of active features: four rows at a time, which saves loads and stores."""
    bias = weights[features * width : (features + 1) * width]
    for k in range(width):
        sums[k] = bias[k]
    index = 0
    while index + 4 <= count:
        first, second = np.int64(active[index]) * width, np.int64(active[index + 1]) * width
        third, fourth = np.int64(active[index + 2]) * width, np.int64(active[index + 3]) * width
        a, b = weights[first : first + width], weights[second : second + width]
        c, d = weights[third : third + width], weights[fourth : fourth + width]
        for k in range(width):
            sums[k] += (a[k] + b[k]) + (c[k] + d[k])
        index += 4
    while index < count:
        start = np.int64(active[index]) * width
        row = weights[start : start + width]
        for k in range(width):
            sums[k] += row[k]
        index += 1


@kernel
def add_to_inputs(gradient, active, count, width, features, slopes):
    """Add the gradient of one view's sums to the rows of its active features and to the bias."""
    bias = gradient[features * width : (features + 1) * width]
    for k in range(width):
        bias[k] += slopes[k]
    for index in range(count):
        row = gradient[active[index] * width : (active[index] + 1) * width]
        for k in range(width):
            row[k] += slopes[k]


@kernel
def activate(sums, out, squares):
    """Clipped to 0..1, and squared for squared clipped ReLU."""
    for k in range(len(sums)):
        clipped = min(max(sums[k], np.float32(0)), np.float32(1))
        out[k] = clipped * clipped if squares else clipped


@kernel
def activate_back(sums, out, slopes, squares):
    """Turn `slopes` from those of the neurons' outputs into those of their sums."""
    for k in range(len(sums)):
        inside = np.float32(1) if np.float32(0) < sums[k] < np.float32(1) else np.float32(0)
        factor = inside * (np.float32(2) * sums[k] if squares else np.float32(1))
        slopes[k] = slopes[k] * factor


@kernel
def dot(a, b, scratch):
    """The dot product of two rows, summed by halves, which the compiler can vectorise."""
    left = len(a)
    for k in range(left):
        scratch[k] = a[k] * b[k]
    while left > 1:
        half = (left + 1) >> 1
        upper = scratch[half:left]
        for k in range(left - half):
            scratch[k] += upper[k]
        left = half
    return scratch[0]


@kernel
def forward(weights, o, buffers, second, squares):
    """The output of the net from the sums in buffers[0]; outputs of neurons go to buffers[1] and second[1]."""
    first = 2 * o.width
    behind = (o.features + 1) * o.width
    activate(buffers[0, :first], buffers[1, :first], squares)
    if o.second == 0:
        output = weights[behind : behind + first]
        return dot(buffers[1, :first], output, buffers[3]) + weights[behind + first]
    sums = second[0]
    bias = behind + first * o.second
    for j in range(o.second):
        sums[j] = weights[bias + j]
    for k in range(first):
        value = buffers[1, k]
        if value != np.float32(0):
            row = weights[behind + k * o.second : behind + (k + 1) * o.second]
            for j in range(o.second):
                sums[j] += value * row[j]
    activate(sums, second[1], squares)
    last = bias + o.second
    return dot(second[1], weights[last : last + o.second], buffers[3]) + weights[last + o.second]


@kernel
def backward(weights, gradient, o, buffers, second, squares, slope):
    """Add the gradient of all layers after the first; the slopes of its sums go to buffers[2]."""
    first = 2 * o.width
    behind = (o.features + 1) * o.width
    slopes = buffers[2]
    if o.second == 0:
        for k in range(first):
            slopes[k] = slope * weights[behind + k]
            gradient[behind + k] += slope * buffers[1, k]
        gradient[behind + first] += slope
    else:
        bias = behind + first * o.second
        last = bias + o.second
        for j in range(o.second):
            gradient[last + j] += slope * second[1, j]
            second[2, j] = slope * weights[last + j]
        gradient[last + o.second] += slope
        activate_back(second[0], second[1], second[2], squares)
        for j in range(o.second):
            gradient[bias + j] += second[2, j]
        for k in range(first):
            row = weights[behind + k * o.second : behind + (k + 1) * o.second]
            slopes[k] = dot(second[2], row, buffers[3])
            value = buffers[1, k]
            if value != np.float32(0):
                target = gradient[behind + k * o.second : behind + (k + 1) * o.second]
                for j in range(o.second):
                    target[j] += value * second[2, j]
    activate_back(buffers[0, :first], buffers[1, :first], slopes, squares)
