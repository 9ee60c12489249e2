"""The reports of a tune: a line and a table while it runs, the result, and the match that would confirm it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from merino.inner.tune.estimators import deviations, estimate, gain_over, intervals, noise_now
from merino.inner.tune.formats import fishtest_lines, openbench_lines
from merino.inner.tune.parameters import TunedParameter, best_step
from merino.inner.tune.rules import BETA, EstimatorSettings, ExpectedGain, Method, State
from merino.inner.tune.tuning import Tune


def value_table(parameters: Sequence[TunedParameter], settings: EstimatorSettings, state: State) -> list[str]:
    """A row for each parameter: start, estimate, its 95% interval, and the change in units of c_end."""
    values, ends = estimate(settings, state), intervals(settings, state)
    width = max(len("parameter"), *(len(row.name) for row in parameters))
    lines = [f"{'parameter':<{width}} {'start':>9} {'now':>10} {'95% of it':>19} {'moved/c':>8}"]
    for index, row in enumerate(parameters):
        low, high = ends[:, index]
        between = "-" if np.isnan(low) else f"{low:.4g} to {high:.4g}"
        moved = (values[index] - row.start) / row.c_end
        lines.append(f"{row.name:<{width}} {row.start:>9g} {values[index]:>10.2f} {between:>19} {moved:>+8.2f}")
    return lines


def gain_line(gain: ExpectedGain) -> str:
    """What a result is worth, and whether that is more than chance."""
    text = f"Expected against the start: {gain.mean:+.1f} Elo, 95% from {gain.low:+.1f} to {gain.high:+.1f}"
    return text if gain.low > 0 else f"{text}: no gain is proved, keep the start unless a match proves one"


def remaining_loss(settings: EstimatorSettings, state: State) -> float:
    """The Elo expected to be still lost, from the posterior variances; NaN for a method without any."""
    return float((deviations(settings, state) ** 2 / (2 * BETA * settings.sigma**2)).sum())


class TuneProgress:
    """Shows the progress of a tune: a line every few seconds, the table every few lines."""

    def __init__(self, tell: Callable[[str], object], every: float = 10.0, lines_per_table: int = 6) -> None:
        """`every` is in seconds."""
        self._tell, self._every, self._lines_per_table = tell, every, lines_per_table
        self._began = self._last = time.monotonic()
        self._first = 0  # pairs done when the clock started
        self._lines = 0

    def __call__(self, tune: Tune) -> None:
        """Show the progress if it is time to."""
        now = time.monotonic()
        if not self._first:  # the first pair may have had to wait for the compiler
            self._began = self._last = now
            self._first = len(tune.done)
        if now - self._last < self._every and not tune.is_over:
            return
        self._last = now
        self._lines += 1
        self._tell(self._line(tune, (len(tune.done) - self._first) / max(1e-9, now - self._began)))
        if self._lines % self._lines_per_table == 0 and not tune.is_over:
            for line in value_table(tune.configuration.parameters, tune.settings, tune.state):
                self._tell(line)

    def _line(self, tune: Tune, speed: float) -> str:
        left = (tune.configuration.pairs - len(tune.done)) / max(1e-9, speed)
        loss = remaining_loss(tune.settings, tune.state)
        expected = "" if np.isnan(loss) else f"  {loss:.2f} Elo left"
        lost = f"  {tune.lost} lost" if tune.lost else ""
        tau = float(np.sqrt(noise_now(tune.settings, tune.state)))
        return (
            f"{len(tune.done)}/{tune.configuration.pairs} pairs{lost}  tau {tau:.2f}{expected}  "
            f"{speed:.2f} pairs/s  {clock(left)} to go"
        )


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def result_lines(tune: Tune, method: Method, settings: EstimatorSettings, state: State) -> list[str]:
    """The result of a method: values, intervals, the Elo left and gained, and the lines of both formats."""
    parameters = tune.configuration.parameters
    played = len(tune.done) - tune.lost
    lines = [f"{method.name} after {played} pairs:", *value_table(parameters, settings, state)]
    loss = remaining_loss(settings, state)
    if not np.isnan(loss):
        before = sum(row.elo for row in parameters)
        lines.append(f"Expected to be left: {loss:.2f} Elo of the {before:.2f} expected at the start")
        lines.append(gain_line(gain_over(settings, state, np.array([row.start for row in parameters]))))
    steps = [row.r_end or best_step(row, parameters, tune.configuration.pairs) for row in parameters]
    values = estimate(settings, state)
    lines += ["# fishtest", *fishtest_lines(parameters, np.round(values, 4), steps)]
    lines += ["# OpenBench", *openbench_lines(parameters, np.round(values, 4), steps)]
    return lines
