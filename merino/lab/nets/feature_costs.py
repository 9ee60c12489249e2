"""What a feature set costs in play: the time of an update and an output."""

import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import numpy as np

from merino.core.board.game import Position
from merino.core.compiled import memory
from merino.core.compiled.jit import entry
from merino.engine.search.state import new_search_record
from merino.eval.net import family, network, play
from merino.lab.nets import quantising

BASE = "ALL"  # what others are compared with
PLIES, REPEATS, ROUNDS = 60, 1000, 9


def update_costs(shapes: Sequence[network.Shape]) -> list[float]:
    """Nanoseconds of CPU time for an update and an output of each shape, measured in turns.

    The nets are random; each score along a line of random moves follows from the sums of the ply before.
    """
    records, installed = [], []  # the second is what must be kept alive
    for shape in shapes:
        records.append(_line())
        installed.append(family.NetEvaluation(_random_net(shape)).install(records[-1]))
        _replay(records[-1], PLIES, 1)
    works = [partial(_replay, record, PLIES, REPEATS) for record in records]
    medians = medians_in_turns([partial(cpu_seconds, work) for work in works], ROUNDS)
    return [seconds / REPEATS / PLIES * 1e9 for seconds in medians]


def _random_net(shape: network.Shape) -> network.Network:
    draw = np.random.default_rng(1)
    return quantising.quantised(
        shape, {name: draw.normal(0, 0.2, size) for name, size in shape.layers().items()}, 200.0, {}
    )


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
    keys = play.keys_of(s, play.net_at(s.evaluation_data))
    memory.call_evaluation(s.evaluation, s, 0)
    for _ in range(repeats):
        for ply in range(1, plies + 1):
            keys[ply] = 0
            total += memory.call_evaluation(s.evaluation, s, ply)
    return total


# Measuring on a machine that others use too: CPU time instead of the wall clock, and medians of rounds in turns.


def cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU time this process spends on `work`."""
    start = time.process_time()
    work()
    return time.process_time() - start


def medians_in_turns(measurements: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The median of each measurement when all are taken in turns, so that a busy minute affects them alike."""
    results = [[measure() for measure in measurements] for _ in range(rounds)]
    return [median(column) for column in zip(*results, strict=True)]
