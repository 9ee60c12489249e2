"""Forms that a strength curve may have, and what a pair of players is expected to show under each.

A hypothesis is one row of FORMS: a form, its width in units of the told distance, by what the told Elo is multiplied,
the deviation of the bias as a share of the widest perturbation and the power of the perturbation that it grows with,
the deviation of the optimum from the start in told distances, and the log-odds before the first pair. Under each of
them the optimum, the bias and the logarithm of the multiplier of a parameter are normal: together they are a point of
three numbers with a covariance of six.
"""

from __future__ import annotations

import numpy as np

from merino.inner.core.compiled.jit import kernel

PARABOLA, KINK, QUARTIC, PLATEAU, FLAT = range(5)
FORM, WIDTH, MULTIPLIER, BIAS_SPREAD, POWER, FAR, ODDS = range(7)  # columns of FORMS
SCALE_DEVIATION = 0.3  # of the logarithm of the multiplier
# Log-odds against what most curves are not: lopsided, and of another form than the parabola. Lower ones would follow
# chance where all is even; higher ones would trust a parabola where wide perturbations show nothing at all.
_BIASED, _OTHER = -4.0, -4.0
_SCALES = (
    (0.1, -3.0),
    (0.3, -1.5),
    (1.0, 0.0),
    (3.0, -1.5),
    (10.0, -3.0),
    (30.0, -4.0),
    (100.0, -4.5),
)  # multipliers and their log-odds
_BIASES = (
    0.2,
    0.2,
    0.2,
    0.2,
    0.4,
    0.4,
    0.4,
)  # deviations of the bias: more where a curve turns out to be far steeper than told


def _rows() -> list[tuple[float, ...]]:
    rows: list[tuple[float, ...]] = []
    for (multiplier, odds), bias in zip(_SCALES, _BIASES, strict=True):
        rows.append((PARABOLA, 1, multiplier, 0, 1, 1, odds))
        rows += [(PARABOLA, 1, multiplier, bias, power, 1, odds + _BIASED) for power in (1, 2)]
        rows.append((PARABOLA, 1, multiplier, 0.4, 1, 1, odds + _BIASED - 2.5))
    for multiplier, odds in _SCALES[1:4]:
        rows.append((KINK, 1, multiplier, 0.2, 1, 1, odds + _OTHER))
        rows += [(form, 1, multiplier, 0.2, 1, 1, odds + _OTHER) for form in (QUARTIC,)]
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
    if form == FLAT:
        return 2.0 * u * u * u * u / (1.0 + u * u)
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
