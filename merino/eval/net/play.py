"""The score of a net in a search: the first-layer sums of each ply (accumulators), updated from the moves made.

All loops run over blocks of 32 neurons, one value for the processor; layers are padded with zeros to a multiple of 32.
Rows of weights and sums are passed by address.
"""

from typing import Any, NamedTuple

import numpy as np

from merino.core.board import makemove
from merino.core.board.bitboard import KING, U64, WHITE, popcount
from merino.core.board.position import occupied_squares, side_to_move
from merino.core.compiled import lanes, memory
from merino.core.compiled.jit import kernel
from merino.eval.net import features, network
from merino.eval.net.view import VIEW_SIZE, look

# Accumulators: sums that an evaluation keeps by ply, and updates only when it is asked for a score. The search notes
# in its record the move made at each ply and the positions on both sides of it. So nothing is done when a move is
# made, and a family without sums pays nothing. With each sum a family stores the key of its position; a sum is valid
# while that is the key at its ply.


@kernel
def last_valid(s, keys, ply):
    """The last ply up to `ply` whose sum is valid, -1 if there is none; `keys`, uint64[plies], are those of the sums.

    From there on, each sum follows from the one before by `changes_of(s.positions[p], s.plies[p].move)`.
    """
    while ply >= 0 and keys[ply] != s.positions[ply].key:
        ply -= 1
    return ply


# The content of a record's `evaluation_data`: numbers and addresses, uint64.
(
    BLOCKS,  # of the first layer
    SECOND,  # neurons of the second layer, padded to a multiple of FOUR with such as count for nothing
    SQUARES,  # 1 for squared clipped ReLU
    PIECE_ROWS,  # int16[14 * 64, 2, 32 * blocks]: what a piece on a square adds to both sums, if features are pieces
    INPUTS,  # int16[features, 32 * blocks]
    INPUT_BIAS,
    MIDDLE,  # int16[second, 64 * blocks]
    MIDDLE_BIAS,
    OUTPUT,  # int16[outputs, 64 * blocks], or int16[outputs, second] behind a second layer
    OUTPUT_BIAS,  # int16[outputs]
    PROGRAM,  # of the feature set, int64[terms, PROGRAM_WIDTH]
    TERMS,
    MAX_ACTIVE,  # maximum number of features active at once
    PLIES,
    HIDDEN,  # neurons of the first layer, without padding
    MEN_SHIFT,  # selects the output by the number of men (`eval.net.network.output_for`)
    UNITS,  # float64[UNITS_SIZE], see below
    MOST,  # 1.0 in the sums of the first layer
    FACTOR,  # by which a neuron is multiplied before its square is cut to 16 bits; 0 where squares are exact
    OTHERS,  # where in `accumulators` what a way to update keeps in addition to sums and keys begins
    NUMBERS,
) = range(21)

# What 1 in the products of neurons and weights is in those of the biases, a bias in centipawns, 1.0 in the biases; what
# 1 in the biases is in the weights of the output, and such a weight in centipawns.
TO_BIAS, OF_BIAS, ONE, TO_OUTPUT, OF_OUTPUT, UNITS_SIZE = range(6)

# The content of `accumulators`: sums int16[plies, 2, 32 * blocks], keys uint64[plies], and from OTHERS on what updates
# keep in addition (`eval.net.updates`).

FOUR = 4  # neurons of the second layer that are computed at a time
output_by = kernel(network.output_for)


class Net(NamedTuple):
    """The numbers of a net in use, and the addresses of its arrays."""

    blocks: np.int64
    row: np.uint64  # bytes of a row of weights or sums
    second: np.int64
    squares: np.bool_
    most: np.int64  # 1.0 in the sums
    factor: np.int64
    numbers: Any  # uint64[NUMBERS]


@kernel(makes_arrays=True)
def net_at(address):
    """The `Net` at an address."""
    numbers = memory.array_at(address, np.uint64, NUMBERS)
    blocks = np.int64(numbers[BLOCKS])
    squares, most, factor = numbers[SQUARES] != 0, np.int64(numbers[MOST]), np.int64(numbers[FACTOR])
    return Net(blocks, U64(lanes.LANES_SIZE * blocks), np.int64(numbers[SECOND]), squares, most, factor, numbers)


@kernel
def change_one(new, old, added, removed, blocks):
    """New = old + one row of weights - another; arguments are addresses of rows."""
    for block in range(blocks):
        at = U64(lanes.LANES_SIZE * block)
        lanes.store_lanes(
            new + at, lanes.load_lanes(old + at) + lanes.load_lanes(added + at) - lanes.load_lanes(removed + at)
        )


@kernel
def _change_two(new, old, added, removed, taken, blocks):
    """New = old + one row of weights - two others: a capture."""
    for block in range(blocks):
        at = U64(lanes.LANES_SIZE * block)
        less = lanes.load_lanes(removed + at) + lanes.load_lanes(taken + at)
        lanes.store_lanes(new + at, lanes.load_lanes(old + at) + lanes.load_lanes(added + at) - less)


@kernel
def copy_row(new, old, blocks):
    """New = old; both are addresses of rows."""
    for block in range(blocks):
        at = U64(lanes.LANES_SIZE * block)
        lanes.store_lanes(new + at, lanes.load_lanes(old + at))


@kernel
def add_row(sums, row, blocks):
    """Add a row of the weights to the sums; both are addresses."""
    for block in range(blocks):
        at = U64(lanes.LANES_SIZE * block)
        lanes.store_lanes(sums + at, lanes.load_lanes(sums + at) + lanes.load_lanes(row + at))


@kernel
def subtract_row(sums, row, blocks):
    """Subtract a row of the weights from the sums; both are addresses."""
    for block in range(blocks):
        at = U64(lanes.LANES_SIZE * block)
        lanes.store_lanes(sums + at, lanes.load_lanes(sums + at) - lanes.load_lanes(row + at))


@kernel
def row_of(net, feature):
    """The address of a feature's weights."""
    return net.numbers[INPUTS] + U64(feature) * net.row


def piece_mover(row_at):
    """The kernel (net, side, place, changed, old, new, blocks): the sums `new` after a move, from `old`; by address.

    `row_at(net, side, place, piece_on_square)` is the kernel that says where the row is that a piece adds to these sums
    of a side with its king on this place.
    """

    @kernel
    def move_pieces(net, side, place, changed, old, new, blocks):
        if changed.removed == makemove.NOTHING:
            copy_row(new, old, blocks)
            return
        added, removed = row_at(net, side, place, changed.added), row_at(net, side, place, changed.removed)
        if changed.removed_too == makemove.NOTHING:
            change_one(new, old, added, removed, blocks)
            return
        _change_two(new, old, added, removed, row_at(net, side, place, changed.removed_too), blocks)
        if changed.added_too != makemove.NOTHING:
            add_row(new, row_at(net, side, place, changed.added_too), blocks)

    return move_pieces


@kernel
def _row_of_both(net, side, place, piece_on_square):
    """Where the row is that a piece adds to the sums of both sides, wherever the kings are."""
    return net.numbers[PIECE_ROWS] + U64(piece_on_square) * (U64(2) * net.row)


_move_in_both = piece_mover(_row_of_both)


@kernel
def fill_sums(net, position, sums, view, scratch, active):
    """The sums of a position from scratch, int16[2, width] at the address `sums`; `active` is int32[most], scratch."""
    program = memory.array_at(net.numbers[PROGRAM], np.int64, (np.int64(net.numbers[TERMS]), features.PROGRAM_WIDTH))
    for side in range(2):
        look(position, side, view)
        count = features.active_features(view, program, scratch, active)
        own = sums + U64(side) * net.row
        copy_row(own, net.numbers[INPUT_BIAS], net.blocks)
        for index in range(count):
            add_row(own, row_of(net, active[index]), net.blocks)


@kernel
def _squared_products(neurons, weights, _):
    """Clipped sums squared, by their weights."""
    return lanes.products_of_lanes(neurons * weights, neurons)


@kernel
def _fine_products(neurons, weights, factor):
    """Clipped sums squared and cut to 16 bits, by their weights."""
    return lanes.products_of_lanes(lanes.squared_lanes(neurons, factor), weights)


@kernel
def _clipped_products(neurons, weights, _):
    """Clipped sums by their weights."""
    return lanes.products_of_lanes(neurons, weights)


def _row_sum_of(products):
    """The kernel (own, other, weights, net): the sum over both views by a row of weights, int64; rows by address.

    Its unit is that of `Quanta`. A sum of 1,024 neurons fits 32 bits in each lane (`eval.net.network.largest_sum`).
    """

    @kernel
    def row_sum(own, other, weights, net):
        ours, theirs = lanes.no_sums(), lanes.no_sums()  # apart, as every addition waits for the one before it
        for block in range(net.blocks):
            at = U64(lanes.LANES_SIZE * block)
            row = weights + at
            neurons = lanes.clipped_lanes(lanes.load_lanes(own + at), 0, net.most)
            ours = ours + products(neurons, lanes.load_lanes(row), net.factor)
            neurons = lanes.clipped_lanes(lanes.load_lanes(other + at), 0, net.most)
            theirs = theirs + products(neurons, lanes.load_lanes(row + net.row), net.factor)
        return lanes.total_of(ours + theirs)

    return row_sum


def _four_sums_of(products):
    """The kernel that returns the sums by four rows of weights: the neurons of both views are loaded once for all."""

    @kernel
    def both(mine, theirs, row, net):
        ours = products(mine, lanes.load_lanes(row), net.factor)
        return ours + products(theirs, lanes.load_lanes(row + net.row), net.factor)

    @kernel
    def four_sums(own, other, weights, net):
        a, b, c, d = lanes.no_sums(), lanes.no_sums(), lanes.no_sums(), lanes.no_sums()
        size = U64(2) * net.row
        for block in range(net.blocks):
            at = U64(lanes.LANES_SIZE * block)
            mine = lanes.clipped_lanes(lanes.load_lanes(own + at), 0, net.most)
            theirs = lanes.clipped_lanes(lanes.load_lanes(other + at), 0, net.most)
            row = weights + at
            a, b = a + both(mine, theirs, row, net), b + both(mine, theirs, row + size, net)
            row += U64(2) * size
            c, d = c + both(mine, theirs, row, net), d + both(mine, theirs, row + size, net)
        return lanes.total_of(a), lanes.total_of(b), lanes.total_of(c), lanes.total_of(d)

    return four_sums


_squared_sum, _clipped_sum = _row_sum_of(_squared_products), _row_sum_of(_clipped_products)
_fine_sum = _row_sum_of(_fine_products)
_four_squared_sums, _four_clipped_sums = _four_sums_of(_squared_products), _four_sums_of(_clipped_products)
_four_fine_sums = _four_sums_of(_fine_products)


@kernel
def output_of(net, position, own, other):
    """The score of a position in centipawns for the side to move, float64.

    `own` and `other` are the addresses of the sums of both views, the side to move's first.
    """
    numbers = net.numbers
    place = output_by(popcount(occupied_squares(position)), np.int64(numbers[MEN_SHIFT]))
    bias = memory.array_at(numbers[OUTPUT_BIAS] + U64(2 * place), np.int16, 1)[0]
    units = memory.array_at(numbers[UNITS], np.float64, UNITS_SIZE)
    if net.second:
        return (bias * units[TO_OUTPUT] + _behind_second(net, place, own, other, units)) * units[OF_OUTPUT]
    weights = numbers[OUTPUT] + U64(2 * place) * net.row
    if not net.squares:
        total = _clipped_sum(own, other, weights, net)
    elif net.factor:
        total = _fine_sum(own, other, weights, net)
    else:
        total = _squared_sum(own, other, weights, net)
    return (total * units[TO_BIAS] + bias) * units[OF_BIAS]


@kernel
def _behind_second(net, place, own, other, units):
    """The sum of the second layer's neurons by the weights of the output `place`."""
    output = memory.array_at(net.numbers[OUTPUT] + U64(2 * place * net.second), np.int16, net.second)
    bias = memory.array_at(net.numbers[MIDDLE_BIAS], np.int16, net.second)
    value = 0.0
    for first in range(0, net.second, FOUR):
        weights = net.numbers[MIDDLE] + U64(2 * first) * net.row
        if not net.squares:
            sums = _four_clipped_sums(own, other, weights, net)
        elif net.factor:
            sums = _four_fine_sums(own, other, weights, net)
        else:
            sums = _four_squared_sums(own, other, weights, net)
        for index in range(FOUR):
            active = min(max((sums[index] * units[TO_BIAS] + bias[first + index]) / units[ONE], 0.0), 1.0)
            value += output[first + index] * (active * active if net.squares else active)
    return value


@kernel
def update_sums(s, net, ply, update, fill):
    """Make the sums of a ply valid: from the last valid ones, `update(s, net, p)` makes those of ply p + 1 from p.

    Where none are, `fill(s, net)` makes those of the root.
    """
    keys = keys_of(s, net)
    known = last_valid(s, keys, ply)
    if known < 0:
        fill(s, net)
        known, keys[0] = 0, s.positions[0].key
    for at in range(known, ply):
        update(s, net, at)
        keys[at + 1] = s.positions[at + 1].key


@kernel
def next_by_piece(s, net, ply):
    """Make the sums of the next ply from those of this one, if features are pieces."""
    changed = makemove.changes_of(s.positions[ply], s.plies[ply].move)
    _move_in_both(net, WHITE, 0, changed, sums_at(s, net, ply), sums_at(s, net, ply + 1), 2 * net.blocks)


@kernel
def next_from_scratch(s, net, ply):
    """The same whatever the features are."""
    fill_at(s, net, ply + 1)


@kernel
def fill_root(s, net):
    """Make the sums of the root."""
    fill_at(s, net, 0)


@kernel(makes_arrays=True)
def fill_at(s, net, ply):
    """Make the sums of a ply from scratch."""
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(features.SCRATCH, dtype=np.int32)
    active = np.zeros(np.int64(net.numbers[MAX_ACTIVE]), dtype=np.int32)
    fill_sums(net, s.positions[ply], sums_at(s, net, ply), view, scratch, active)


@kernel
def sums_at(s, net, ply):
    """The address of the sums of a ply, int16[2, 32 * blocks]."""
    return s.accumulators + U64(2 * ply) * net.row


@kernel(makes_arrays=True)
def keys_of(s, net):
    """The keys of the positions of the kept sums, by ply, uint64[plies]."""
    plies = np.int64(net.numbers[PLIES])
    return memory.array_at(sums_at(s, net, plies), np.uint64, plies)


@kernel
def others_at(s, net):
    """The address of what a way to update keeps in addition to sums and keys; a cache line begins there."""
    return s.accumulators + net.numbers[OTHERS]


@kernel
def score_at(s, net, ply):
    """White's score at a ply whose sums are up to date."""
    sums, side = sums_at(s, net, ply), side_to_move(s.positions[ply])
    own, other = sums + U64(side) * net.row, sums + U64(1 - side) * net.row
    score = output_of(net, s.positions[ply], own, other)  # a single call, so that it is inlined
    return score if side == WHITE else -score


# Piece-value nets: after its neurons, each side's sums hold the sum of its own pieces' output rows, and then the sum of
# their constants. So only longer rows have to be updated, and the sum of all values costs no more than a single value.
_NEURON_SIZE = U64(2)  # bytes


@kernel
def _value(net, own, other, row):
    """The value of a piece's row, or of a sum of rows, to its owner in centipawns; all three are addresses.

    `own` and `other` are the sums of its owner's view and of the other one.
    """
    hidden = np.int64(net.numbers[HIDDEN])
    mine, theirs = memory.array_at(own, np.int16, hidden), memory.array_at(other, np.int16, hidden)
    weights = memory.array_at(row, np.int16, 2 * hidden + 1)
    total = np.int64(0)
    for k in range(hidden):
        first, second = np.int64(min(max(mine[k], 0), network.QA)), np.int64(min(max(theirs[k], 0), network.QA))
        if net.squares:
            first, second = first * first, second * second
        total += first * np.int64(weights[k]) + second * np.int64(weights[hidden + k])
    scaled = total * (1 / network.QA) if net.squares else float(total)
    return (
        scaled * (1 / (network.QA * network.QR)) + weights[2 * hidden] * (network.VALUE / network.QV)
    ) * network.SCALE


@kernel
def sum_of_values(net, sums, side):
    """White's score from the address of both sides' sums; `side` is to move."""
    white, black = sums, sums + net.row
    behind = _NEURON_SIZE * net.numbers[HIDDEN]
    score = _value(net, white, black, white + behind) - _value(net, black, white, black + behind)
    to_move = memory.array_at(net.numbers[OUTPUT_BIAS], np.int16, 1)[0] * (network.SCALE / (network.QA * network.QB))
    return score + to_move if side == WHITE else score - to_move


@kernel
def score_by_values(s, net, ply):
    """The same as `score_at` for a piece-value net."""
    return sum_of_values(net, sums_at(s, net, ply), side_to_move(s.positions[ply]))


@kernel
def fill_values(net, position, sums, values):
    """Fill float64[64] with the value of each piece for its owner; 0 for kings and empty squares."""
    behind = _NEURON_SIZE * net.numbers[HIDDEN]
    for square in range(64):
        piece = np.int64(position.board[square])
        side, values[square] = piece >> 3, 0.0
        if piece & 7 < KING:
            own = sums + U64(side) * net.row
            other = sums + U64(1 - side) * net.row
            row = net.numbers[PIECE_ROWS] + U64(2 * (64 * piece + square) + side) * net.row
            values[square] = _value(net, own, other, row + behind)
