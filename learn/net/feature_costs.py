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
from merino.inner.engine.search.transposition import TranspositionTable
from merino.inner.engine.search.tree import make_move
from merino.inner.engine.search.worker import Worker
from merino.inner.eval.net.family import NetEvaluation
from merino.inner.eval.net.network import Network, Shape, quantised
from merino.inner.eval.net.play import keys_of, net_at

BASE = "ALL"  # what others are compared with
PLIES, REPEATS, ROUNDS = 60, 1000, 9


def update_costs(shapes: Sequence[Shape]) -> list[float]:
    """Nanoseconds of CPU time for an update and an output of each shape, measured in turns.

    The nets are random; each score along a line of random moves follows from the sums of the ply before.
    """
    workers = [_line_of(NetEvaluation(_random_net(shape))) for shape in shapes]
    for worker in workers:
        _replay(worker.record, PLIES, 1)
    works = [partial(_replay, worker.record, PLIES, REPEATS) for worker in workers]
    medians = medians_in_turns([partial(cpu_seconds, work) for work in works], ROUNDS)
    return [seconds / REPEATS / PLIES * 1e9 for seconds in medians]


def _random_net(shape: Shape) -> Network:
    draw = np.random.default_rng(1)
    return quantised(shape, {name: draw.normal(0, 0.2, size) for name, size in shape.layers().items()}, 200.0, {})


def _line_of(evaluation: NetEvaluation) -> Worker:
    """A worker whose record holds a line of moves."""
    worker = Worker(TranspositionTable(1), np.zeros(1, dtype=np.uint64), evaluation)
    position, draw = Position(), random.Random(1)
    worker.set_root(position, full_width=False)
    for ply in range(PLIES):
        move = draw.choice(position.legal_moves)
        _make(worker.record, ply, move)
        position.push(move)
    return worker


@entry
def _make(records, ply, move):
    make_move(records[0], ply, move)


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
