"""What is believed of strength curves by the results of pairs: an update, and the perturbations of the next pairs.

Under a hypothesis of `tune.forms` all parameters have curves of one form, but each its own optimum, bias and scale.
Results count as a binomial of the pair's score with as many trials as give its variance, so that a result near 0% or
100%, which tells little, moves little. The sum over parameters is taken as normal.
"""

import math

import numpy as np

from merino.inner.core.compiled.jit import kernel
from merino.inner.tune.forms import (
    BIAS,
    COV_BS,
    COV_OB,
    COV_OS,
    EXPECTED,
    OPTIMUM,
    SCALE,
    SLOPE,
    VAR_B,
    VAR_O,
    VAR_S,
    VARIANCE,
    share_of_reach,
)

GONE = -1e200  # the evidence of a hypothesis that is given up
MIN_ODDS = -30.0  # against the best one, below which it is
MAX_STEP, MAX_ODDS, MAX_SCALE_STEP = 4.0, 20.0, 0.7  # of Newton's method, of the log-odds, and of one result


@kernel
def likely_odds(mean, variance, score, trials):
    """The most likely log-odds after a `score`, 0 to 1, in so many trials, by Newton's method."""
    odds = min(max(mean, -MAX_ODDS), MAX_ODDS)
    for _ in range(30):
        expected = 1.0 / (1.0 + np.exp(-odds))
        slope = trials * (score - expected) - (odds - mean) / variance
        step = slope / (trials * expected * (1.0 - expected) + 1.0 / variance)
        step = min(max(step, -MAX_STEP), MAX_STEP)
        odds = min(max(odds + step, -MAX_ODDS), MAX_ODDS)
        if abs(step) < 1e-6:
            break
    return odds


@kernel
def log_likelihood(odds, score):
    """The logarithm of the likelihood of one trial with this score."""
    return -score * np.log1p(np.exp(-odds)) - (1.0 - score) * np.log1p(np.exp(odds))


@kernel
def weigh_result(mean, variance, score, trials):
    """How far a result moves log-odds of this mean and variance, in units of both, and what it takes of the variance.

    Third, the log-likelihood of the result, by Laplace's approximation.
    """
    best = likely_odds(mean, variance, score, trials)
    step, share = (best - mean) / variance, 1.0 / (1.0 + np.exp(-best))
    curvature = trials * share * (1.0 - share)
    likelihood = trials * log_likelihood(best, score) - 0.5 * (step * step * variance + np.log1p(curvature * variance))
    return step, curvature / (1.0 + curvature * variance), likelihood


@kernel
def move(beliefs, i, h, shown, share, step, less):
    """Move one hypothesis by a `step`, and lessen its covariance by `less`, both in units of its log-odds."""
    slope, expected = shown[SLOPE, i, h], shown[EXPECTED, i, h]
    with_bias, with_scale = beliefs[COV_OB, i, h], beliefs[COV_OS, i, h]
    optimum = slope * (beliefs[VAR_O, i, h] + share * with_bias) + expected * with_scale
    bias = slope * (with_bias + share * beliefs[VAR_B, i, h]) + expected * beliefs[COV_BS, i, h]
    scale = slope * (with_scale + share * beliefs[COV_BS, i, h]) + expected * beliefs[VAR_S, i, h]
    beliefs[OPTIMUM, i, h] += optimum * step
    beliefs[BIAS, i, h] += bias * step
    beliefs[SCALE, i, h] += min(max(scale * step, -MAX_SCALE_STEP), MAX_SCALE_STEP)
    beliefs[VAR_O, i, h] = max(beliefs[VAR_O, i, h] - optimum * optimum * less, 1e-14)
    beliefs[COV_OB, i, h] -= optimum * bias * less
    beliefs[VAR_B, i, h] = max(beliefs[VAR_B, i, h] - bias * bias * less, 0.0)
    beliefs[COV_OS, i, h] -= optimum * scale * less
    beliefs[COV_BS, i, h] -= bias * scale * less
    beliefs[VAR_S, i, h] = max(beliefs[VAR_S, i, h] - scale * scale * less, 1e-6)


# The ladder of perturbations: each is half of the one before, the widest is that of `tune.rules`.
LEVELS, FIRST_LEVEL = 7, 3
DOUBT = 0.5  # the power of the weights when perturbations are chosen: below 1, what is unlikely still counts
LEVEL, KNOWN = range(2)  # rows of the plan, float64[2, d]: level, and the variance of the log-odds there


@kernel
def worth(beliefs, weights, i, shown, forms, reach, widest):
    """The square of the covariance of optimum and log-odds of parameter `i`, and the variance of the log-odds."""
    optimum, expected, square, together = 0.0, 0.0, 0.0, 0.0
    for h in range(len(forms)):
        if weights[h] > 0.0:
            optimum += weights[h] * beliefs[OPTIMUM, i, h]
            expected += weights[h] * shown[EXPECTED, i, h]
    for h in range(len(forms)):
        if weights[h] > 0.0:
            share = share_of_reach(forms[h], reach, widest)
            mean = shown[EXPECTED, i, h]
            inside = shown[SLOPE, i, h] * (beliefs[VAR_O, i, h] + share * beliefs[COV_OB, i, h])
            inside += mean * beliefs[COV_OS, i, h]
            together += weights[h] * ((beliefs[OPTIMUM, i, h] - optimum) * (mean - expected) + inside)
            square += weights[h] * (shown[VARIANCE, i, h] + (mean - expected) ** 2)
    return together * together, square


@kernel(makes_arrays=True)
def weights_of(evidence, power):
    """The weights of hypotheses by their evidence to a `power`: below 1, the likely ones are trusted less."""
    weights = np.exp(power * np.maximum(evidence - evidence.max(), -40.0 / power))
    for h in range(len(weights)):
        if is_gone(evidence, h):
            weights[h] = 0.0
    return weights / weights.sum()


@kernel
def is_gone(evidence, h):
    """Whether a hypothesis has been given up."""
    return evidence[h] <= GONE


@kernel
def best_level(gains, knowns, i, others, noise):
    """The level at which a pair is expected to tell most: an outcome that is known beforehand tells nothing."""
    best, most = 0, -1.0
    for level in range(gains.shape[1]):
        variance = max(others + knowns[i, level], 0.0)
        gain = gains[i, level] / (variance + noise * np.sqrt(1.0 + math.pi * variance / 8.0))
        if gain > most:
            best, most = level, gain
    return best


@kernel
def reach_at(level, widest, room, whole):
    """Half the difference of the players at a level of the ladder, narrowed to the room between the bounds."""
    reach = min(widest * 0.5**level, room)
    return max(reach, min(0.5, room)) if whole else reach
