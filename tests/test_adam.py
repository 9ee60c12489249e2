"""Adam for the terms: its step is that of the paper, and it returns the best point that it has seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from merino.learn import minimisers
from merino.learn.minimisers import FitCallback
from merino.learn.sample import FitParameters

START = np.array([40.0, -10.0, 5.0])


@dataclass
class Problem:
    """A sum of squares around `goal` in the first two weights; the third one is fixed, and so is K."""

    goal: np.ndarray
    start: np.ndarray = field(default_factory=START.copy)
    free: np.ndarray = field(default_factory=lambda: np.array([0, 1]))
    fit_k: bool = False
    loss: object = None
    bounds: np.ndarray = field(default_factory=lambda: np.tile([-200.0, 41.0], (3, 1)))
    value: Callable[[np.ndarray], float] | None = None

    def objective(self, _: object, parameters: FitParameters, stride: int) -> float:
        off = parameters.weights[self.free] - self.goal
        return self.value(parameters.weights) if self.value else float(off @ off)

    def gradient(self, _: object, parameters: FitParameters, stride: int) -> np.ndarray:
        return np.append(2 * (parameters.weights[self.free] - self.goal), 0.0)


@pytest.fixture(autouse=True)
def _no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimisers, "gather", lambda *_: None)


def descend(problem: Any, epochs: int) -> FitParameters:
    return minimisers._descend(None, FitParameters(START.copy(), 1 / 200), problem, 2, epochs, FitCallback())  # type: ignore[arg-type]


def test_the_first_step_goes_against_the_slope_in_units_of_each_weight() -> None:
    found = descend(Problem(np.array([0.0, 30.0])), epochs=2)
    rate = minimisers.ADAM_RATE / 2  # half-way down the cosine; the second step has none
    assert found.weights == pytest.approx([40.0 - rate * 40.0, -10.0 + rate * 10.0, 5.0])
    assert found.inverse_k == 1 / 200


def test_weights_stop_at_their_bounds() -> None:
    assert descend(Problem(np.array([500.0, -10.0])), epochs=200).weights[0] == 41.0


def test_the_best_point_is_returned_and_not_the_last() -> None:
    seen: list[float] = []

    def worse_each_time(weights: np.ndarray) -> float:
        seen.append(weights[0])
        return float(len(seen))

    found = descend(Problem(np.array([0.0, 0.0]), value=worse_each_time), epochs=5)
    assert len(set(seen)) > 2
    assert found.weights == pytest.approx(START)
