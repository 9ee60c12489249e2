"""Measuring on a machine that others use too: CPU time instead of the wall clock, and medians of rounds in turns."""

import time
from collections.abc import Callable, Sequence
from statistics import median

Measurement = Callable[[], float]


def cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU time this process spends on `work`."""
    start = time.process_time()
    work()
    return time.process_time() - start


def medians_in_turns(measurements: Sequence[Measurement], rounds: int) -> list[float]:
    """The median of each measurement when all are taken in turns, so that a busy minute hits them alike."""
    results = [[measure() for measure in measurements] for _ in range(rounds)]
    return [median(column) for column in zip(*results, strict=True)]
