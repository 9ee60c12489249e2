"""What can be known before a game is played: the width of a strength curve, SPSA's best step, the pairs needed."""

from __future__ import annotations

import math

import numpy as np

from merino.lab.tune.methods import DEFAULT
from merino.lab.tune.rules import BETA, GAMMA

# (19): the last perturbation over the distance of the optimum, as in the paper's settings.
REACH = 2.2
# If no step of SPSA gains anything by (18), it still makes small ones.
MIN_WORTH = 1.05
# The mean over a run of a_n / a_N, SPSA's step over its last, for the exponents of `tune.rules`.
MEAN_STEP = 1.70


HOPELESS = 0.95  # the share of the Elo to gain that is left, by `loss_left`, where hardly any method gains


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
    """The fewest pairs after which `loss_left` is at most `target`, above 0.

    Raises OverflowError if no number is enough.
    """
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


def advice(share_left: float) -> str:
    """The method for any tune, and a warning where `loss_left` is nearly all of the Elo to gain, in a line."""
    if share_left > HOPELESS:
        return f"Method: {DEFAULT}, but so few pairs bring hardly any method a gain: play more, or tune fewer"
    return f"Method: {DEFAULT}, the default of 'merino spsa tune'"
