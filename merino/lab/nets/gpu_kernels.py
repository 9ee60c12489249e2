"""What a graphics card computes for training: the errors of a net over positions, their gradient, steps of Adam.

A block of threads takes one position after the other, and each thread has one neuron of both views. Errors and
gradients are added up as whole numbers, whose sum is the same in whatever order threads come to add: so a seed gives
the same net each time.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64

from merino.core.compiled.jit import in_python
from merino.eval.net.network import MAX_NEURONS, SCALE, output_for
from merino.lab.nets.gradient import draws_mirror

U64 = np.uint64
ERROR_UNIT, GRADIENT_UNIT = float(1 << 24), float(1 << 40)  # 1.0 in sums of errors and of gradients
MAX_ACTIVE = 128  # features of a view
WORDS = 4  # of a PACKED record: squares, two of pieces, and score, result and both kings' squares

cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a last batch may be small


def gpu_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, also that of a kernel of the processor, for callers on the card."""
    return cuda.jit(device=True)(in_python(function))


def gpu_entry(function: Callable[..., Any]) -> Any:
    """Compile `function` for Python to start on many threads of the card: entry[blocks, threads](...)."""
    return cuda.jit(function)


_draws_mirror = gpu_kernel(draws_mirror)
_output_for = gpu_kernel(output_for)


@gpu_entry
def learn_scores(weights, gradient, error, records, places, rows, options, half):
    """Add the error over records[places] to error[0], and its gradient to `gradient`, unless that is empty.

    `records` is uint64[n, WORDS]. `rows`, int32[64, 14, 64, terms], are the features of a piece on a square by the
    square of the friendly king; `options` is OPTIONS[1]; `half` the largest power of two below the number of neurons.
    """
    active = cuda.shared.array((2, MAX_ACTIVE), int32)
    products = cuda.shared.array(MAX_NEURONS, float32)
    shared_slope = cuda.shared.array(1, float32)
    o, neuron = options[0], cuda.threadIdx.x
    width, squares = o["width"], o["squares"] != 0
    for number in range(cuda.blockIdx.x, len(places), cuda.gridDim.x):
        place = places[number]
        turned = 7 if _draws_mirror(place, o["mirror"]) else 0
        men = cuda.popc(records[place, 0])
        output = _output_for(men, o["men_shift"])
        _find_features(records, place, turned, rows, active)
        cuda.syncthreads()
        behind = (o["features"] + 1) * width
        row, bias = behind + output * 2 * width, behind + o["outputs"] * 2 * width + output
        own, other, own_weight, other_weight = float32(0), float32(0), float32(0), float32(0)
        if neuron < width:
            count = men * rows.shape[3]
            own = _sum_of(weights, active, 0, count, o, neuron)
            other = _sum_of(weights, active, 1, count, o, neuron)
            own_weight, other_weight = weights[row + neuron], weights[row + width + neuron]
            products[neuron] = _active(own, squares) * own_weight + _active(other, squares) * other_weight
        _add_up(products, half, width)
        if neuron == 0:
            shared_slope[0] = _slope(products[0] + weights[bias], records[place, 3], o, error)
            if len(gradient):
                _add(gradient, bias, shared_slope[0])
        cuda.syncthreads()
        if len(gradient) and neuron < width:
            slope = shared_slope[0]
            _add(gradient, row + neuron, slope * _active(own, squares))
            _add(gradient, row + width + neuron, slope * _active(other, squares))
            _add_rows(gradient, active, 0, count, o, neuron, _back(own, slope * own_weight, squares))
            _add_rows(gradient, active, 1, count, o, neuron, _back(other, slope * other_weight, squares))
        cuda.syncthreads()  # before the next position takes the shared memory


@gpu_kernel
def _find_features(records, place, turned, rows, active):
    """Fill `active` with the features of both views, the side to move first; each thread looks at some squares."""
    occupied, last = records[place, 0], records[place, 3]
    kings = int64(last >> U64(24) & U64(63)) ^ turned, int64(last >> U64(32) & U64(63)) ^ turned
    terms = rows.shape[3]
    for square in range(cuda.threadIdx.x, 64, cuda.blockDim.x):
        if occupied >> U64(square) & U64(1):
            index = cuda.popc(occupied & ((U64(1) << U64(square)) - U64(1)))
            word = records[place, 1 + (index >> 4)]
            piece = int64(word >> U64(4 * (index & 15)) & U64(15))
            for term in range(terms):
                active[0, terms * index + term] = rows[kings[0], piece, square ^ turned, term]
                active[1, terms * index + term] = rows[kings[1], piece ^ 8, square ^ turned ^ 56, term]


@gpu_kernel
def _sum_of(weights, active, side, count, o, neuron):
    """The sum of a neuron in one view: its bias and its weights for the active features."""
    width = o["width"]
    total = weights[o["features"] * width + neuron]
    for index in range(count):
        total += weights[active[side, index] * width + neuron]
    return total


@gpu_kernel
def _active(total, squares):
    """What a neuron gives for its sum."""
    clipped = min(max(total, float32(0)), float32(1))
    return clipped * clipped if squares else clipped


@gpu_kernel
def _back(total, slope, squares):
    """The slope over a neuron's sum, from that over what it gives."""
    if not float32(0) < total < float32(1):
        return float32(0)
    return slope * float32(2) * total if squares else slope


@gpu_kernel
def _add_up(products, half, width):
    """The sum of products[:width] to products[0], in the same order each time."""
    cuda.syncthreads()
    neuron = cuda.threadIdx.x
    while half:
        if neuron < half and neuron + half < width:
            products[neuron] += products[neuron + half]
        cuda.syncthreads()
        half >>= 1


@gpu_kernel
def _slope(output, last, o, error):
    """The slope of the error at a position over the output of the net; the error is added up."""
    score, result = int64(last & U64(0xFFFF)), int64(last >> U64(16) & U64(255))
    score -= (score >> 15) << 16  # it is an int16
    predicted = 1.0 / (1.0 + math.exp(-output * SCALE / o["k"]))
    target = o["blend"] * result * 0.5 + (1.0 - o["blend"]) / (1.0 + math.exp(-score / o["score_k"]))
    off = predicted - target
    steepness = abs(off) ** (o["power"] - 1.0)
    cuda.atomic.add(error, 0, int64(steepness * abs(off) * ERROR_UNIT))
    return float32(math.copysign(o["power"] * steepness, off) * predicted * (1.0 - predicted) * SCALE / o["k"])


@gpu_kernel
def _add(gradient, place, slope):
    if slope != float32(0):
        cuda.atomic.add(gradient, place, int64(slope * GRADIENT_UNIT))


@gpu_kernel
def _add_rows(gradient, active, side, count, o, neuron, slope):
    """Add the slope of a neuron's sum in one view to the gradient of its bias and of its weights."""
    if slope == float32(0):
        return
    width, whole = o["width"], int64(slope * GRADIENT_UNIT)
    cuda.atomic.add(gradient, o["features"] * width + neuron, whole)
    for index in range(count):
        cuda.atomic.add(gradient, active[side, index] * width + neuron, whole)


@gpu_entry
def step(weights, moments, gradient, rates):
    """A step of Adam with the gradient, which is cleared; `rates` are those of `lab.nets.gradient`, float64[7]."""
    place = cuda.grid(1)
    if place < len(weights):
        rate, beta1, beta2 = float32(rates[0]), float32(rates[1]), float32(rates[2])
        slope, one = float32(gradient[place] * (rates[4] / GRADIENT_UNIT)), float32(1)
        gradient[place] = 0
        mean = beta1 * moments[0, place] + (one - beta1) * slope
        square = beta2 * moments[1, place] + (one - beta2) * slope * slope
        moments[0, place], moments[1, place] = mean, square
        change = rate * mean / (float32(math.sqrt(square)) + float32(rates[3])) + float32(rates[5]) * weights[place]
        weights[place] = min(max(weights[place] - change, -float32(rates[6])), float32(rates[6]))
