"""Nets: the cost of a score in a search, updated from the move before, and how fast a net is trained."""

import random
import time
from functools import partial

import numpy as np

from benchmarks.clock import cpu_seconds, line, medians_in_turns
from benchmarks.evaluation import random_positions
from merino.inner.core.board.game import Position
from merino.inner.core.compiled.jit import entry
from merino.inner.core.compiled.recursion import call_evaluation
from merino.inner.engine.search.transposition import TranspositionTable
from merino.inner.engine.search.tree import make_move
from merino.inner.engine.search.worker import Worker
from merino.inner.eval.net.family import NetEvaluation
from merino.inner.eval.net.network import Network, Shape, quantised
from merino.inner.eval.net.play import keys_of, net_at
from merino.inner.formats.packed import pack
from merino.inner.learn.net.training import Trainer, TrainingSettings

PLIES, REPEATS, ROUNDS = 60, 2000, 9
POSITIONS, EPOCHS = 262144, 4  # so many that starting and ending count little


def report() -> None:
    """Print nanoseconds a score by neurons, and positions a second of the trainer."""
    print(f"nets: update and output along {PLIES} moves; CPU time, medians of {ROUNDS} rounds in turns")
    widths = (64, 128, 256)
    records = [_line_of(NetEvaluation(_random_net(Shape("ALL", width)))) for width in widths]
    for worker in records:
        _replay(worker.record, PLIES, 1)
    seconds = medians_in_turns(
        [partial(_seconds, worker) for worker in records],
        ROUNDS,
    )
    for width, total in zip(widths, seconds, strict=True):
        line(f"{width} neurons", total / REPEATS / PLIES * 1e9, "ns")
    positions = np.resize(random_positions(4096), POSITIONS)
    draw = np.random.default_rng(1)
    sample = pack(positions, draw.integers(-500, 500, POSITIONS), draw.integers(0, 3, POSITIONS), np.arange(POSITIONS))
    Trainer(sample[:4096], TrainingSettings(epochs=1)).run()
    began, trainer = time.perf_counter(), Trainer(sample, TrainingSettings(epochs=EPOCHS))
    cpu = cpu_seconds(lambda: trainer.run())
    line("training, 64 neurons", EPOCHS * POSITIONS / (time.perf_counter() - began) / 1e6, "M/s", "wall clock")
    line("the same by CPU time of one core", EPOCHS * POSITIONS / cpu / 1e6, "M/s")


def _seconds(worker: Worker) -> float:
    return cpu_seconds(lambda: _replay(worker.record, PLIES, REPEATS))


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
