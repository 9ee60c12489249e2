"""Adam: gradient descent with a learning rate for each weight, on all rows at once. D. Kingma and J. Ba, "Adam" (2015).

It needs some hundred passes where Gauss-Newton needs four, and checks that one by a different method. Weights move in
units of their size, 1 / K in units of its start. The learning rate falls to zero along a cosine.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from merino.inner.learn.fit import FitCallback, FitProblem, Step, sizes, strides
from merino.inner.learn.loss_and_gradient import Detail, Samples, gather
from merino.inner.learn.sample import FitParameters

RATE = 0.05
EPOCHS, EPOCHS_AFTER_APPROACH = 600, 150
FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-12


def adam(sample: Samples, start: FitParameters, problem: FitProblem, callback: FitCallback) -> FitParameters:
    """The point with the lowest objective that was found, within bounds."""
    parameters = start
    for number, stride in enumerate(strides(sample)):
        epochs = EPOCHS_AFTER_APPROACH if number else EPOCHS
        parameters = _descend(sample, parameters, problem, stride, epochs, callback)
    return parameters


def _descend(
    sample: Samples, parameters: FitParameters, problem: FitProblem, stride: int, epochs: int, callback: FitCallback
) -> FitParameters:
    units = np.append(sizes(problem.start)[problem.free], parameters.inverse_k)
    units[-1] *= problem.fit_k
    first, second = np.zeros(len(units)), np.zeros(len(units))
    best, best_point = np.inf, parameters
    for epoch in range(1, epochs + 1):
        callback.progressed("Adam", epoch / epochs)
        sums = gather(sample, parameters, problem.loss, Detail.GRADIENT, stride)
        value = problem.objective(sums, parameters, stride)
        if value < best:
            best, best_point = value, parameters
            if stride == 1:
                callback.stepped(Step(parameters, sums))
        gradient = problem.gradient(sums, parameters, stride) * units
        first = FIRST_DECAY * first + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * second + (1 - SECOND_DECAY) * gradient**2
        rate = RATE * (1 + np.cos(np.pi * epoch / epochs)) / 2
        mean, spread = first / (1 - FIRST_DECAY**epoch), np.sqrt(second / (1 - SECOND_DECAY**epoch))
        change = rate * units * mean / (spread + EPSILON)
        weights = parameters.weights.copy()
        weights[problem.free] = np.clip(weights[problem.free] - change[:-1], *problem.bounds[problem.free].T)
        inverse_k = max(parameters.inverse_k - change[-1], parameters.inverse_k / 3)
        parameters = replace(parameters, weights=weights, inverse_k=inverse_k)
    return best_point
