"""Nets: the cost of a score in a search, updated from the move before, and how fast a net is trained."""

import time

import numpy as np

from benchmarks.clock import line
from benchmarks.evaluation import random_positions
from merino.core.common.timing import cpu_seconds
from merino.eval.net.network import Shape
from merino.formats.packed import pack
from merino.lab.nets.feature_costs import BASE, PLIES, ROUNDS, update_costs
from merino.lab.nets.training import Trainer, TrainingSettings
from tools.feature_sets import SETS

SHAPES = (
    *(Shape(BASE, width) for width in (64, 128, 256, 512)),
    Shape(BASE, 256, outputs=8),
    *(Shape(BASE, 256, second) for second in (16, 32)),
)
HIDDEN = 64
POSITIONS, EPOCHS = 262144, 4  # so many that starting and ending count little


def report() -> None:
    """Print nanoseconds a score by layers and by feature set, and positions a second of the trainer."""
    print(f"nets: update and output along {PLIES} moves; CPU time, medians of {ROUNDS} rounds in turns")
    for shape, cost in zip(SHAPES, update_costs(SHAPES), strict=True):
        line(str(shape), cost, "ns")
    names = [BASE, *(name for name in SETS if name != BASE), "KING*ALL"]
    costs = update_costs([Shape(name, HIDDEN) for name in names])
    for name, cost in zip(names, costs, strict=True):
        line(f"{name}, {HIDDEN} neurons", cost, "ns", f"{cost / costs[0]:.2f} times {BASE}")
    positions = np.resize(random_positions(4096), POSITIONS)
    draw = np.random.default_rng(1)
    sample = pack(positions, draw.integers(-500, 500, POSITIONS), draw.integers(0, 3, POSITIONS), np.arange(POSITIONS))
    Trainer(sample[:4096], TrainingSettings(epochs=1)).run()
    began, trainer = time.perf_counter(), Trainer(sample, TrainingSettings(epochs=EPOCHS))
    cpu = cpu_seconds(lambda: trainer.run())
    line("training, 64 neurons", EPOCHS * POSITIONS / (time.perf_counter() - began) / 1e6, "M/s", "wall clock")
    line("the same by CPU time of one core", EPOCHS * POSITIONS / cpu / 1e6, "M/s")
