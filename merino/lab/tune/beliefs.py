"""What is believed of strength curves by the results of pairs: their forms, an update, and the next perturbations.

A hypothesis is one row of FORMS: a form, its width in units of the told distance, by what the told Elo is multiplied,
the deviation of the bias as a share of the widest perturbation and the power of the perturbation that it grows with,
the deviation of the optimum from the start in told distances, and the log-odds before the first pair. Under it all
parameters have curves of one form, but each its own optimum, bias and scale. These two and the logarithm of the
multiplier are normal: together they are a point of three numbers with a covariance of six.

Results count as a binomial of the pair's score with as many trials as give its variance, so that a result near 0% or
100%, which tells little, moves little. The sum over parameters is taken as normal.
"""

import math

import numpy as np

from merino.core.compiled.jit import kernel

PARABOLA, KINK, QUARTIC, PLATEAU = range(4)
FORM, WIDTH, MULTIPLIER, BIAS_SPREAD, POWER, FAR, ODDS = range(7)  # columns of FORMS
SCALE_DEVIATION = 0.3  # of the logarithm of the multiplier
# Log-odds against what most curves are not: lopsided, and of another form than the parabola. Lower ones would follow
# chance where all is even; higher ones would trust a parabola where wide perturbations show nothing at all.
_BIASED, _OTHER = -4.0, -4.0
# Multipliers, their log-odds, and deviations of the bias: more where a curve turns out to be far steeper than told.
_SCALES = (
    (0.1, -3.0, 0.2),
    (0.3, -1.5, 0.2),
    (1.0, 0.0, 0.2),
    (3.0, -1.5, 0.2),
    (10.0, -3.0, 0.4),
    (30.0, -4.0, 0.4),
    (100.0, -4.5, 0.4),
)
GONE = -1e200  # the evidence of a hypothesis that is given up
MIN_ODDS = -30.0  # against the best one, below which it is
MAX_STEP, MAX_ODDS, MAX_SCALE_STEP = 4.0, 20.0, 0.7  # of Newton's method, of the log-odds, and of one result


def _rows() -> list[tuple[float, ...]]:
    rows: list[tuple[float, ...]] = []
    for multiplier, odds, bias in _SCALES:
        rows.append((PARABOLA, 1, multiplier, 0, 1, 1, odds))
        rows += [(PARABOLA, 1, multiplier, bias, power, 1, odds + _BIASED) for power in (1, 2)]
        rows.append((PARABOLA, 1, multiplier, 0.4, 1, 1, odds + _BIASED - 2.5))
    for multiplier, odds, _ in _SCALES[1:4]:
        rows.append((KINK, 1, multiplier, 0.2, 1, 1, odds + _OTHER))
        rows.append((QUARTIC, 1, multiplier, 0.2, 1, 1, odds + _OTHER))
        rows += [(PLATEAU, width, multiplier, 0.2, 1, 1, odds + _OTHER) for width in (1, 3)]
    return rows


FORMS = np.array(_rows(), dtype=np.float64)
# Rows of what is believed, float64[BELIEFS, d, hypotheses]: optimum and bias in told distances from the start, the
# logarithm of the multiplier, and their covariances.
OPTIMUM, BIAS, SCALE, VAR_O, COV_OB, VAR_B, COV_OS, COV_BS, VAR_S = range(9)
BELIEFS = 9
# Rows of what a pair shows under a hypothesis, float64[3, d, hypotheses]: the mean and variance of the log-odds that
# the parameter adds, and how they grow with the optimum.
EXPECTED, VARIANCE, SLOPE = range(3)


@kernel
def lost_at(form, width, u):
    """What is lost at `u` told distances from the optimum, in units of the told Elo."""
    if form == KINK:
        return abs(u)
    if form == QUARTIC:
        return u * u * u * u
    if form == PLATEAU:
        return 2.0 * width * width * (1.0 - np.exp(-u * u / (2.0 * width * width)))
    return u * u


@kernel
def odds_at(row, offset, reach):
    """The log-odds of the player at +reach against the one at -reach, if the optimum is `offset` from their middle."""
    form, width = row[FORM], row[WIDTH]
    return lost_at(form, width, -offset - reach) - lost_at(form, width, reach - offset)


@kernel
def respond(row, strength, offset, variance, reach, shown, i, h):
    """Fill `shown` for a normal offset: exactly for a parabola, by three points of the offset for other forms."""
    if row[FORM] == PARABOLA:
        slope = 4.0 * reach * strength
        shown[EXPECTED, i, h], shown[VARIANCE, i, h], shown[SLOPE, i, h] = (
            slope * offset,
            slope * slope * variance,
            slope,
        )
        return
    aside = np.sqrt(3.0 * variance) + 1e-9
    middle = strength * odds_at(row, offset, reach)
    above, below = strength * odds_at(row, offset + aside, reach), strength * odds_at(row, offset - aside, reach)
    mean = (4.0 * middle + above + below) / 6.0
    shown[EXPECTED, i, h] = mean
    shown[VARIANCE, i, h] = (4.0 * (middle - mean) ** 2 + (above - mean) ** 2 + (below - mean) ** 2) / 6.0
    shown[SLOPE, i, h] = (above - below) / (2.0 * aside)


@kernel
def share_of_reach(row, reach, widest):
    """What part of the bias counts at this reach."""
    share = abs(reach) / widest
    return share if row[POWER] == 1.0 else share * share


@kernel
def foresee(forms, beliefs, strength, widest, i, h, middle, reach, shown):
    """Fill `shown` for parameter `i` of players at `middle` +- `reach` under hypothesis `h`."""
    share = share_of_reach(forms[h], reach, widest)
    offset = beliefs[OPTIMUM, i, h] + share * beliefs[BIAS, i, h] - middle
    spread = beliefs[VAR_O, i, h] + share * (2.0 * beliefs[COV_OB, i, h] + share * beliefs[VAR_B, i, h])
    scaled = strength * forms[h, MULTIPLIER] * np.exp(beliefs[SCALE, i, h])
    respond(forms[h], scaled, offset, max(spread, 0.0), reach, shown, i, h)
    mean = shown[EXPECTED, i, h]
    with_scale = beliefs[COV_OS, i, h] + share * beliefs[COV_BS, i, h]
    more = 2.0 * shown[SLOPE, i, h] * mean * with_scale + mean * mean * beliefs[VAR_S, i, h]
    shown[VARIANCE, i, h] = max(shown[VARIANCE, i, h] + more, 0.0)


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
    """Half the difference of the players at a level of the ladder, narrowed to the room between the bounds.

    Integers differ by 1 at least: their bounds have room for that about a middle that is moved inside.
    """
    reach = min(widest * 0.5**level, room)
    return max(reach, 0.5) if whole else reach
