"""What a feature set costs in play: the time of an update and an output along a line of moves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

import numpy as np

from merino.inner.core.board.game import Position
from merino.inner.core.common.timing import cpu_seconds, medians_in_turns
from merino.inner.core.compiled.jit import entry
from merino.inner.core.compiled.recursion import call_evaluation
from merino.inner.engine.search.state import new_search_record
from merino.inner.eval.net.family import NetEvaluation
from merino.inner.eval.net.network import Network, Shape
from merino.inner.eval.net.play import keys_of, net_at
from merino.inner.eval.net.quantisation import quantised

BASE = "ALL"  # what others are compared with
PLIES, REPEATS, ROUNDS = 60, 1000, 9


def update_costs(shapes: Sequence[Shape]) -> list[float]:
    """Nanoseconds of CPU time for an update and an output of each shape, measured in turns.

    The nets are random; each score along a line of random moves follows from the sums of the ply before.
    """
    records, installed = [], []  # the second is what must be kept alive
    for shape in shapes:
        records.append(_line())
        installed.append(NetEvaluation(_random_net(shape)).install(records[-1]))
        _replay(records[-1], PLIES, 1)
    works = [partial(_replay, record, PLIES, REPEATS) for record in records]
    medians = medians_in_turns([partial(cpu_seconds, work) for work in works], ROUNDS)
    return [seconds / REPEATS / PLIES * 1e9 for seconds in medians]


def _random_net(shape: Shape) -> Network:
    draw = np.random.default_rng(1)
    return quantised(shape, {name: draw.normal(0, 0.2, size) for name, size in shape.layers().items()}, 200.0, {})


def _line() -> np.ndarray:
    """A search record that holds a line of random moves."""
    record, position, draw = new_search_record(), Position(), random.Random(1)
    record[0]["positions"][0] = position.record[0]
    for ply in range(PLIES):
        move = draw.choice(position.legal_moves)
        position.push(move)
        record[0]["plies"][ply]["move"], record[0]["positions"][ply + 1] = move, position.record[0]
    return record


@entry
def _replay(records, plies, repeats):
    """The sum of the scores along the line, each from the sums of the ply before."""
    s, total = records[0], 0.0
    keys = keys_of(s, net_at(s.evaluation_data))
    call_evaluation(s.evaluation, s, 0)
    for _ in range(repeats):
        for ply in range(1, plies + 1):
            keys[ply] = 0
            total += call_evaluation(s.evaluation, s, ply)
    return total
