"""What a feature set costs in play: how many features are active and how many a move changes, and the time of that."""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

from merino.core.board.game import Position
from merino.core.board.makemove import make
from merino.core.board.position import POSITION
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.engine.search.state import new_search_record
from merino.eval.net import family, network, play
from merino.eval.net.features import SCRATCH, FeatureSet, active_features, features
from merino.eval.net.view import VIEW_SIZE, look
from merino.formats.pgn_games import NO_FAULT, Games

BASE = "ALL"  # what others are compared with
PLIES, REPEATS, ROUNDS = 60, 1000, 9


class FeatureChange(NamedTuple):
    """Means over moves and both sides' views: active before a move, added and removed by it."""

    name: str
    active: float
    added: float
    removed: float


def measure_changes(wanted: FeatureSet, games: Iterable[Games]) -> tuple[int, list[FeatureChange]]:
    """The number of moves, and for each part of a feature set the active features, and those that a move changes."""
    parts = [features(part.name) for part in wanted.parts]
    sums, moves = np.zeros((len(parts), 3), dtype=np.int64), 0
    for some in games:
        for row, part in zip(sums, parts, strict=True):
            active, marks = np.zeros((2, part.most), dtype=np.int32), np.zeros(part.size, dtype=np.int64)
            _count_changes(some.table, some.moves, some.starts, part.program, active, marks, row)
        moves += int(some.table["plies"][some.table["fault"] == NO_FAULT].sum())
    means = sums / max(1, 2 * moves)
    return moves, [FeatureChange(part.name, *map(float, row)) for part, row in zip(parts, means, strict=True)]


@entry
def _count_changes(games, moves, starts, program, active, marks, sums):
    """Add the active, added and removed features of both views over all moves of the games to `sums`, int64[3]."""
    stack = np.zeros(2, dtype=POSITION)
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(SCRATCH, dtype=np.int32)
    stamp = 0
    for number in range(len(games)):
        game = games[number]
        if game.fault != NO_FAULT:
            continue
        memory.copy_record(stack[0], starts[game.position])
        for ply in range(game.plies):
            make(stack[1], stack[0], np.int64(moves[game.first + ply]))
            for side in range(2):
                stamp += 1
                _add_change(stack, side, program, active, marks, stamp, sums, view, scratch)
            memory.copy_record(stack[0], stack[1])


@kernel
def _add_change(stack, side, program, active, marks, stamp, sums, view, scratch):
    """Add the changes of one move from the view of `side`; `stamp` marks the features active before."""
    look(stack[0], side, view)
    before = active_features(view, program, scratch, active[0])
    look(stack[1], side, view)
    after = active_features(view, program, scratch, active[1])
    for index in range(before):
        marks[active[0, index]] = stamp
    kept = 0
    for index in range(after):
        kept += marks[active[1, index]] == stamp
    sums[0] += before
    sums[1] += after - kept
    sums[2] += before - kept


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
    return network.quantised(
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
