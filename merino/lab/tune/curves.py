"""The strength curves of the simulator, whose optimum is known, and what the tuner is told of them.

Those of arXiv:2205.15602, section 3, and others that a tuner may meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from merino.core.compiled.jit import kernel

START, BOUND, TOTAL_ELO = 100.0, 1000.0, 2.0
DRAW_RATE = 0.82
QUADRATIC, TANH, CUBIC, TWO_OPTIMA, LOPSIDED_OPTIMA, KINKED, QUARTIC, SATURATED, UNEVEN_SIDES, RATIO = range(10)
SIDES = 4.0  # how many times steeper one side of UNEVEN_SIDES is than the other
# A multiplier of material at depth 3, as measured of Toga II: the Elo lost is RATIO_ELO times the square of the
# logarithm of value over optimum, above it at most MAX_RATIO_ELO; the optimum is RATIO_OPTIMUM told distances above 0.
RATIO_ELO, MAX_RATIO_ELO, RATIO_OPTIMUM = 300.0, 180.0, 1.75
# A curve with two optima, in units of START and in Elo: the steepness of both, the place of the worse one and the Elo
# lost there, and how many times steeper the lopsided curve is on the far side of the better one.
STEEPNESS, WORSE_AT, WORSE_ELO, BEYOND = 8.0, 1.4, 3.0, 3.0
ROTATION_SEED = 5


class Curve(NamedTuple):
    """A strength curve with its optimum at 0: the Elo lost at x.

    It is sum k_i x_i^2 times a factor that makes it lopsided by `shape`, or x^T H x if `matrix`, float64[d, d], is not
    empty. `steepness` is k, float64[d]. With TWO_OPTIMA the first parameter has a second, worse optimum, and with
    LOPSIDED_OPTIMA the better one is also steeper on its far side. `draws` is the share of drawn games between equals.
    """

    steepness: np.ndarray
    matrix: np.ndarray
    shape: int
    draws: float


@dataclass(frozen=True)
class Setting:
    """A stress test: the true curve, and the factor by which the tuner's idea of its Elo is wrong.

    `sight` is how far the tuner thinks the optimum to be, and `start` how far it is, in units of START, as are the
    `bounds`. With draws other than DRAW_RATE the tuner estimates the noise.
    """

    name: str
    sentence: str
    elo_factor: float = 1.0
    shape: int = QUADRATIC
    uneven: bool = False
    rotated: bool = False
    sight: float = 1.0
    start: float = 1.0
    bounds: tuple[float, float] = (-BOUND / START, BOUND / START)
    draws: float = DRAW_RATE

    @property
    def has_two_optima(self) -> bool:
        """Whether the first parameter has a worse optimum beside the better one, nearer the start."""
        return self.shape in (TWO_OPTIMA, LOPSIDED_OPTIMA)

    def curve(self, size: int) -> Curve:
        """The true curve for `size` parameters.

        TOTAL_ELO is lost at the start, on a lopsided one roughly, and more where there are two optima.
        """
        even = np.full(size, TOTAL_ELO / size / START**2)
        matrix = np.zeros((0, 0))
        if self.uneven:
            even *= _spread_evenly(4.0, size)
        if self.rotated:
            basis, _ = np.linalg.qr(np.random.default_rng(ROTATION_SEED).normal(size=(size, size)))
            matrix = basis @ np.diag(_spread_evenly(5.0, size)) @ basis.T
            matrix *= TOTAL_ELO / (START**2 * matrix.sum())
        return Curve(even, np.ascontiguousarray(matrix), self.shape, self.draws)


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("S0", "the paper's: quadratic, all parameters equal"),
        Setting("S1x4", "the tuner expects four times the true Elo", elo_factor=4.0),
        Setting("S1/4", "the tuner expects a quarter of the true Elo", elo_factor=0.25),
        Setting(
            "S1h", "parameters matter between 1/4 and 4 times the mean; the tuner takes them as equal", uneven=True
        ),
        Setting("S2", "lopsided: one side is up to three times as steep as the other", shape=TANH),
        Setting("S2c", "lopsided by a cubic term", shape=CUBIC),
        Setting("S3", "quadratic, with rotated axes", rotated=True),
        Setting("S4", "quadratic, and the start is the optimum", start=0.0),
        Setting("S5", "quadratic, with the optimum three times as far as told", sight=1 / 3),
        Setting("S6", "quadratic, with the optimum at a third of the told distance", sight=3.0),
        Setting("K1", "kinked: the Elo lost grows with the distance, not its square", shape=KINKED),
        Setting("K2", "flat-bottomed: the Elo lost grows with the fourth power of the distance", shape=QUARTIC),
        Setting("K3", "saturated: beyond twice the distance of the start hardly more is lost", shape=SATURATED),
        Setting("K4", "beyond the optimum four times as steep as before it", shape=UNEVEN_SIDES),
        Setting("K5", "beyond the optimum a quarter as steep as before it", shape=UNEVEN_SIDES, start=-1.0),
        Setting(
            "K6",
            "as a factor of material: bounded, from far below, with 20% draws and 40 Elo told",
            elo_factor=20.0,
            shape=RATIO,
            start=0.5 - RATIO_OPTIMUM,
            bounds=(-RATIO_OPTIMUM, 20 / 3 - RATIO_OPTIMUM),
            draws=0.2,
        ),
        Setting("L1", "the first parameter has a worse optimum, nearer the start than the better", shape=TWO_OPTIMA),
        Setting("L2", "as L1, with the better optimum three times as steep on its far side", shape=LOPSIDED_OPTIMA),
        Setting(
            "L3", "as L1, but the tuner expects the optimum ten times nearer than it is", shape=TWO_OPTIMA, sight=0.1
        ),
    )
}


def _spread_evenly(most: float, size: int) -> np.ndarray:
    """Factors from 1 / most to most in geometric steps, scaled to a mean of 1."""
    factors = np.geomspace(1 / most, most, size) if size > 1 else np.ones(1)
    return factors / factors.mean()


@kernel
def elo_lost(curve, x):
    """The Elo lost at `x`, float64[d]."""
    lost = 0.0
    if len(curve.matrix):
        for i in range(len(x)):
            for j in range(len(x)):
                lost += x[i] * curve.matrix[i, j] * x[j]
        return lost
    first = 0
    if curve.shape == TWO_OPTIMA or curve.shape == LOPSIDED_OPTIMA:
        lost, first = _two_optima(x[0] / START, curve.shape == LOPSIDED_OPTIMA), 1
    for i in range(first, len(x)):
        factor = 1.0
        if curve.shape == TANH:
            factor = 1.0 + 0.5 * np.tanh(x[i] / START)
        elif curve.shape == CUBIC:
            factor = max(0.2, 1.0 + 0.3 * x[i] / (4.0 * START))
        elif curve.shape == UNEVEN_SIDES and x[i] < 0.0:
            factor = SIDES
        if curve.shape < KINKED or curve.shape == UNEVEN_SIDES:
            lost += curve.steepness[i] * factor * x[i] * x[i]
        else:
            lost += curve.steepness[i] * START * START * _other_form(curve.shape, x[i] / START)
    return lost


@kernel
def _other_form(shape, x):
    """The Elo lost at `x` in units of START, over TOTAL_ELO, for one parameter."""
    if shape == KINKED:
        return abs(x)
    if shape == QUARTIC:
        return x * x * x * x
    if shape == SATURATED:
        return (1.0 - np.exp(-0.5 * x * x)) / (1.0 - np.exp(-0.5))
    ratio = np.log(max(x + RATIO_OPTIMUM, 0.02) / RATIO_OPTIMUM)
    lost = RATIO_ELO * ratio * ratio
    return (lost if ratio < 0.0 else MAX_RATIO_ELO * (1.0 - np.exp(-lost / MAX_RATIO_ELO))) / TOTAL_ELO


@kernel
def _two_optima(x, lopsided):
    """The Elo lost at `x` in units of START: the lower of two parabolas, one with its optimum at 0, the other worse."""
    better = STEEPNESS * x * x * (BEYOND if lopsided and x < 0.0 else 1.0)
    return min(better, WORSE_ELO + STEEPNESS * (x - WORSE_AT) ** 2)
