"""Adam: gradient descent with a rate for each weight, after D. Kingma and J. Ba, "Adam" (2015), on all rows at once.

It needs some hundred passes where Gauss-Newton needs four; it is here to check that with a method of another kind.
Weights are moved in units of their size, the steepness in units of its start; the rate falls to nothing in the end.
"""

from __future__ import annotations

import numpy as np

from learn.fit import Step, Task, Watcher, sizes, strides
from learn.passes import gather
from learn.sample import Point, Sample

RATE = 0.05
EPOCHS, EPOCHS_AFTER_APPROACH = 400, 150
FIRST_DECAY, SECOND_DECAY, LEAST = 0.9, 0.999, 1e-12


def adam(sample: Sample, start: Point, task: Task, watcher: Watcher) -> Point:
    """The point with the least objective that was met, within bounds."""
    point = start
    for number, stride in enumerate(strides(sample)):
        epochs = EPOCHS_AFTER_APPROACH if number else EPOCHS
        point = _descend(sample, point, task, stride, epochs, watcher)
    return point


def _descend(sample: Sample, point: Point, task: Task, stride: int, epochs: int, watcher: Watcher) -> Point:
    units = np.append(sizes(task.start)[task.free], point.steepness)
    units[-1] *= task.fit_k
    first, second = np.zeros(len(units)), np.zeros(len(units))
    best, best_point = np.inf, point
    for epoch in range(1, epochs + 1):
        watcher.progressed("Adam", epoch / epochs)
        sums = gather(sample, point, task.loss, stride=stride)
        value = task.objective(sums, point, stride)
        if value < best:
            best, best_point = value, point
            if stride == 1:
                watcher.stepped(Step(point, sums))
        gradient = task.system(sums, point, stride)[0] * units
        first = FIRST_DECAY * first + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * second + (1 - SECOND_DECAY) * gradient**2
        rate = RATE * (1 + np.cos(np.pi * epoch / epochs)) / 2
        mean, spread = first / (1 - FIRST_DECAY**epoch), np.sqrt(second / (1 - SECOND_DECAY**epoch))
        change = rate * units * mean / (spread + LEAST)
        weights = point.weights.copy()
        weights[task.free] = np.clip(weights[task.free] - change[:-1], *task.bounds[task.free].T)
        point = Point(weights, max(point.steepness - change[-1], point.steepness / 3))
    return best_point
