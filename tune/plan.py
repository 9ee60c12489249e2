"""What can be known before a game is played: the width of a strength curve, SPSA's best step, the pairs needed.

beta = ln 10 / 400 turns a small Elo difference into the expected y of a pair: E[y] = beta * Elo.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from merino.inner.tune.methods import METHODS
from merino.inner.tune.rules import GAMMA, Method

BETA = math.log(10) / 400
# (19): the last perturbation over the distance of the optimum, as in the paper's settings.
REACH = 2.2
# If no step of SPSA gains anything by (18), it still makes small ones.
MIN_WORTH = 1.05
# The mean over a run of a_n / a_N, SPSA's step over its last, for the exponents of `tune.rules`.
MEAN_STEP = 1.70


# Where the simulations of docs/lab/tuning.md change their answer: between 16 and 64 parameters, and by the share of the
# Elo to gain that is left at the end by `loss_left`.
MANY = 32
HOPELESS, NOISY = 0.95, 0.5
WIDER = 1.94  # how much larger perturbations with the mean square of AUTO's are


@dataclass(frozen=True)
class MethodAdvice:
    """A method for a tune, the factor of the usual c_end (2.2 times the distance), and the reason."""

    method: Method
    wider: float
    reason: str


def elo_width(distance: np.ndarray, elo: np.ndarray) -> np.ndarray:
    """The width sigma of a strength curve that loses `elo` at `distance` from the optimum, by (19).

    The exact factor would be 9.32, from distance / sqrt(2 beta elo); the paper's 9.9 errs on the safe side.
    """
    return 7.0 * distance * np.sqrt(2.0 / elo)


def spsa_step(total_elo: float, size: int, pairs: int, elo_at_c: float, tau: float) -> float:
    """The step r_end that leaves SPSA the smallest loss, (18) derived anew in the diffusion approximation.

    `size` parameters have `total_elo` to gain; displacing one of them by c_end costs `elo_at_c`. The loss after a
    step r is total_elo * exp(-g r) + size * r * tau^2 / (8 beta), g being `decay`.
    """
    decay = 2 * 4 * MEAN_STEP * BETA * pairs * elo_at_c
    worth = 8 * BETA * decay * total_elo / (size * tau**2)
    return math.log(max(MIN_WORTH, worth)) / decay


def loss_left(
    pairs: float, start_losses: np.ndarray, losses_at_c: np.ndarray, tau: float, gamma: float = GAMMA
) -> float:
    """The Elo that BSPSA still loses after `pairs` pairs if the widths are right.

    The arguments are, for each parameter (float64[d]), the Elo lost at the start and by a player displaced by c_end. A
    parameter still loses 1 / (1 / start + information). The information on one of d parameters is as if the others
    were known, because signs are independent. For d equal parameters with sums L0 and E_c this is 1 / (1 / L0 + pairs
    E_c / (542 d^2 (tau / 0.6)^2)); 679 in place of 542 for constant perturbations, gamma = 0.
    """
    information = 16 * BETA**2 * pairs * losses_at_c / ((1 - 2 * gamma) * tau**2)
    return float((1 / (1 / start_losses + information)).sum())


def pairs_needed(
    target: float, start_losses: np.ndarray, losses_at_c: np.ndarray, tau: float, gamma: float = GAMMA
) -> int:
    """The fewest pairs after which `loss_left` is at most `target`, above 0."""
    if loss_left(0, start_losses, losses_at_c, tau, gamma) <= target:
        return 0
    most = 1
    while loss_left(most, start_losses, losses_at_c, tau, gamma) > target:
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        if loss_left(middle, start_losses, losses_at_c, tau, gamma) > target:
            least = middle
        else:
            most = middle
    return most


def advice(size: int, share_left: float) -> MethodAdvice:
    """The method for `size` parameters where `loss_left` is this share of the Elo to gain.

    The share stands for the length of a tune: it takes in how much there is to gain, the perturbations and the draws.
    """
    if share_left > HOPELESS:
        return MethodAdvice(
            METHODS["auto"], 1.0, "but so few pairs bring hardly any method a gain: play more, or tune fewer"
        )
    if size <= MANY:
        return MethodAdvice(
            METHODS["auto"],
            1.0,
            "the best in simulations up to 16 parameters, or close to it, and safe on lopsided curves",
        )
    if share_left > NOISY:
        return MethodAdvice(
            METHODS["bspsas"],
            WIDER,
            "with many parameters and few pairs, wide perturbations gain most and `auto` learns less",
        )
    return MethodAdvice(
        METHODS["auto"],
        1.0,
        "64 parameters: 0.3 Elo lost on an even curve, `bspsas` 0.7; but 1.1 on a cubic one, `bspsas` 0.5",
    )
