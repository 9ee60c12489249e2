"""ADAPTIVE: perturbations that choose themselves, and strength curves of many forms, for each parameter its own.

A hypothesis is one row of FORMS: a form, its width in units of the stated distance, a factor of the stated Elo, the
deviation of the bias as a share of the widest perturbation and the power of the perturbation that it grows with, the
deviation of the optimum from the start in stated distances, and the log-odds before the first pair. Under it all
parameters have curves of one form, but each its own optimum, bias and scale. These two and the logarithm of the factor
are normal: together they are a point of three numbers with a covariance of six.

Results count as a binomial of the pair's score with as many trials as give its variance, so that a result near 0% or
100%, which carries little information, moves little. The sum over parameters is taken as normal.
"""

import math

import numpy as np

from merino.core.compiled.jit import entry, kernel
from merino.lab.tune import rules
from merino.match.games import next_index

PARABOLA, KINK, QUARTIC, PLATEAU = range(4)
FORM, WIDTH, MULTIPLIER, BIAS_SPREAD, POWER, FAR, ODDS = range(7)  # columns of FORMS
SCALE_DEVIATION = 0.3  # of the logarithm of the multiplier
# Log-odds against what most curves are not: lopsided, and of another form than the parabola. Lower ones would follow
# chance where all is even; higher ones would trust a parabola where wide perturbations show nothing at all.
_BIASED, _OTHER = -4.0, -4.0
# Multipliers, their log-odds, and deviations of the bias: more where a curve turns out to be far steeper than stated.
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
# Rows of the beliefs, float64[BELIEFS, d, hypotheses]: optimum and bias in stated distances from the start, the
# logarithm of the multiplier, and their covariances.
OPTIMUM, BIAS, SCALE, VAR_O, COV_OB, VAR_B, COV_OS, COV_BS, VAR_S = range(9)
BELIEFS = 9
# Rows of what a pair shows under a hypothesis, float64[3, d, hypotheses]: the mean and variance of the log-odds that
# the parameter adds, and how they grow with the optimum.
EXPECTED, VARIANCE, SLOPE = range(3)
# The ladder of perturbations: each is half of the one before, the widest is that of `lab.tune.rules`.
LEVELS, FIRST_LEVEL = 7, 3
DOUBT = 0.5  # the power of the weights when perturbations are chosen: below 1, what is unlikely still counts
LEVEL, KNOWN = range(2)  # rows of the plan, float64[2, d]: level, and the variance of the log-odds there
MIN_ROOM = 1 / 16  # of the bounds: as wide perturbations are near a bound, too, about a middle that is moved inside
# How often a pair is two levels wider than the best, one wider, at the best, and one narrower. Without the wider ones,
# beliefs could choose perturbations that never refute them, and lopsidedness would remain unknown.
STEPS, STEP_SHARES = np.array([-2, -1, 0, 1]), np.array([0.3, 0.3, 0.3, 0.1])
# The plan is made again each time the pairs have grown by the first share; a perturbation may widen by one level each
# time that they have grown by the second.
PLAN_EVERY, WIDEN_EVERY, FIRST_PAIRS = 0.02, 0.1, 8
MARGIN = 1.5  # of intervals over the deviations of a hypothesis, by simulation
FARTHER = 3.0  # intervals allow for optima up to so many times the stated distance
# What a player of the widest pairs may be expected to lose by all parameters but one, in Elo. Players who are much
# worse than their middle show how a term serves those who misjudge all pieces, not its best value.
MAX_HANDICAP = 150.0
STRONG_BIAS = 0.3  # above which a hypothesis has less odds for each parameter more, as all would have to be so lopsided
# The schedule, float64[4]: when to plan, when to widen, and pairs and squares of surprises for the noise.
_PLAN_AT, _WIDEN_AT, _PAIRS, _SQUARES = range(4)


_BELOW = np.frompyfunc(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)), 1, 1)  # the share of a normal distribution below z


@kernel
def lost_at(form, width, u):
    """The loss at `u` stated distances from the optimum, in units of the stated Elo."""
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
        shown[EXPECTED, i, h], shown[VARIANCE, i, h] = slope * offset, slope * slope * variance
        shown[SLOPE, i, h] = slope
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
def predict(forms, beliefs, strength, widest, i, h, middle, reach, shown):
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
def weigh_result(mean, variance, score, trials):
    """How far a result moves log-odds of this mean and variance, in units of both, and what it takes of the variance.

    Third, the log-likelihood of the result, by Laplace's approximation.
    """
    best = likely_odds(mean, variance, score, trials)
    step, share = (best - mean) / variance, 1.0 / (1.0 + np.exp(-best))
    curvature = trials * share * (1.0 - share)
    likelihood = -trials * (score * np.log1p(np.exp(-best)) + (1.0 - score) * np.log1p(np.exp(best)))
    likelihood -= 0.5 * (step * step * variance + np.log1p(curvature * variance))
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
    weights = np.exp(power * np.maximum(evidence - rules.greatest(evidence), -40.0 / power))
    for h in range(len(weights)):
        if evidence[h] <= GONE:
            weights[h] = 0.0
    return weights / weights.sum()


@kernel
def best_level(gains, knowns, i, others, noise):
    """The level with the most expected information: an outcome that is known beforehand has none."""
    best, most = 0, -1.0
    for level in range(gains.shape[1]):
        variance = max(others + knowns[i, level], 0.0)
        gain = gains[i, level] / (variance + noise * np.sqrt(1.0 + math.pi * variance / 8.0))
        if gain > most:
            best, most = level, gain
    return best


def _prepare(settings: rules.EstimatorSettings, start: np.ndarray) -> rules.State:
    size, forms = len(start), settings.bank
    beliefs, plan = np.zeros((BELIEFS, size, len(forms))), np.zeros((2, size))
    beliefs[VAR_O] = forms[:, FAR] ** 2
    beliefs[VAR_B] = np.outer(settings.c_end * rules.MAX_PERTURBATION / settings.sigma_0, forms[:, BIAS_SPREAD]) ** 2
    beliefs[VAR_S] = SCALE_DEVIATION**2
    plan[LEVEL] = FIRST_LEVEL
    own = {"beliefs": beliefs, "plan": plan, "schedule": np.zeros(4), "start": np.array(start, dtype=np.float64)}
    strange = (size - 1) * (forms[:, BIAS_SPREAD] > STRONG_BIAS)
    return rules.state_of(settings, start, evidence=forms[:, ODDS] - strange, **own)


def _weights(state: rules.State, power: float = 1.0) -> np.ndarray:
    weights = np.exp(power * np.maximum(state.evidence - state.evidence.max(), -700.0))
    return np.where(state.evidence > GONE, weights, 0.0) / weights[state.evidence > GONE].sum()


def _deviations(settings: rules.EstimatorSettings, state: rules.State) -> np.ndarray:
    weights, optima = _weights(state), state.beliefs[OPTIMUM]
    mean = (weights * optima).sum(axis=1, keepdims=True)
    return np.sqrt((weights * (state.beliefs[VAR_O] + (optima - mean) ** 2)).sum(axis=1)) * settings.sigma_0


def _intervals(settings: rules.EstimatorSettings, state: rules.State) -> np.ndarray:
    """The quantiles that leave half of OUTSIDE on each side in the mixture of all hypotheses, float64[2, d].

    The likely ones are trusted less, and all get a margin, since a true curve is none of them (docs/lab/tuning.md).
    They also allow for optima that are farther than stated: by the evidence of the pairs and a wider prior.
    """
    weights, far, variances = _weights(state, DOUBT), settings.bank[:, FAR], state.beliefs[VAR_O]
    wider = 1 / (np.maximum(1 / variances - 1 / far**2, 0.0) + 1 / (FARTHER * far) ** 2)
    optima, deviations = state.beliefs[OPTIMUM] * wider / variances, MARGIN * np.sqrt(wider)
    found = np.empty((2, len(optima)))
    for side, share in enumerate((rules.OUTSIDE / 2, 1 - rules.OUTSIDE / 2)):
        low, high = (optima - 9 * deviations).min(axis=1), (optima + 9 * deviations).max(axis=1)
        for _ in range(60):
            middle = (low + high) / 2
            below = (weights * _BELOW((middle[:, None] - optima) / deviations).astype(np.float64)).sum(axis=1) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found[side] = state.start + settings.sigma_0 * low
    return found


def _gain(settings: rules.EstimatorSettings, state: rules.State) -> rules.ExpectedGain:
    shown = np.zeros((3, *state.beliefs.shape[1:]))
    _predict_gain(settings, state, shown)
    weights, means = _weights(state), shown[EXPECTED].sum(axis=0)
    mean = float((weights * means).sum())
    deviation = math.sqrt((weights * (shown[VARIANCE].sum(axis=0) + (means - mean) ** 2)).sum())
    return rules.ExpectedGain(mean / rules.BETA, deviation / rules.BETA)


@entry
def _predict_gain(settings, state, shown):
    """Fill `shown` for the estimate against the start."""
    estimate = np.empty(len(state.start))
    rules.write_mean(settings, state, estimate)
    for i in range(len(estimate)):
        unit = settings.sigma_0[i]
        half, widest = 0.5 * (estimate[i] - state.start[i]) / unit, rules.MAX_PERTURBATION * settings.c_end[i] / unit
        _predict_all(settings, state, i, half, half, widest, shown)


@kernel
def _predict_all(settings, state, i, middle, reach, widest, shown):
    """Fill `shown` for parameter `i` under all hypotheses."""
    strength = _strength(settings, i)
    for h in range(len(settings.bank)):
        if state.evidence[h] > GONE:
            predict(settings.bank, state.beliefs, strength, widest, i, h, middle, reach, shown)


@kernel
def _strength(settings, i):
    """The log-odds that the stated distance of a parameter costs."""
    return 0.5 * (settings.sigma_0[i] / settings.sigma[i]) ** 2


@kernel
def _place(settings, state, number, random, middle, reach):
    """The level of each parameter, all moved by one random step, about the estimate or where the bounds have room."""
    step = STEPS[next_index(random, STEP_SHARES)]
    for i in range(len(middle)):
        level = min(max(int(state.plan[LEVEL, i]) + step, 0), LEVELS - 1)
        middle[i], reach[i] = _pair_within(settings, i, level, middle[i])


@kernel
def _pair_within(settings, i, level, middle):
    """The middle and the reach of a pair at a level about `middle`, narrowed and moved inside where bounds are near.

    Integers differ by 1 at least: their bounds have room for that about a middle that is moved inside.
    """
    low, high = settings.low[i], settings.high[i]
    room = max(min(middle - low, high - middle), MIN_ROOM * (high - low))
    reach = min(rules.MAX_PERTURBATION * settings.c_end[i] * 0.5**level, room)
    if settings.whole[i]:
        reach = max(reach, 0.5)
    return min(max(middle, low + reach), high - reach), reach


@kernel(makes_arrays=True)
def _update(settings, state, number, plus, minus, y, tau2):
    """Update each hypothesis by how well it predicted the result, and now and then the plan."""
    shown, weights = np.empty((3, *state.beliefs.shape[1:])), weights_of(state.evidence, 1.0)
    noise = rules.noise(settings.tau, state.schedule[_PAIRS], state.schedule[_SQUARES])
    for i in range(len(plus)):
        unit = settings.sigma_0[i]
        middle, reach = (0.5 * (plus[i] + minus[i]) - state.start[i]) / unit, 0.5 * (plus[i] - minus[i]) / unit
        _predict_all(settings, state, i, middle, reach, rules.MAX_PERTURBATION * settings.c_end[i] / unit, shown)
    expected = 0.0
    for h in range(len(weights)):
        if state.evidence[h] > GONE:
            expected += weights[h] * _absorb(settings, state, h, plus, minus, (2.0 + y) / 4.0, 4.0 / noise, shown)
    best = rules.greatest(state.evidence)
    for h in range(len(weights)):  # those that are far less likely are given up
        state.evidence[h] = state.evidence[h] - best if state.evidence[h] > best + MIN_ODDS else 2.0 * GONE
    state.schedule[_PAIRS] += 1.0
    surprise = (y + 2.0 - 4.0 * expected) ** 2 / max(4.0 * expected * (1.0 - expected), 0.05)
    state.schedule[_SQUARES] += surprise  # in units of that between equal players
    if state.schedule[_PAIRS] >= state.schedule[_PLAN_AT]:
        _plan(settings, state, noise, shown)


@kernel
def _absorb(settings, state, h, plus, minus, score, trials, shown):
    """Change hypothesis `h` by a pair's score; the score that it had expected."""
    mean, variance = 0.0, 1e-12
    for i in range(len(plus)):
        mean += shown[EXPECTED, i, h]
        variance += shown[VARIANCE, i, h]
    step, less, likelihood = weigh_result(mean, variance, score, trials)
    state.evidence[h] += likelihood
    for i in range(len(plus)):
        reach, widest = 0.5 * abs(plus[i] - minus[i]), rules.MAX_PERTURBATION * settings.c_end[i]
        if reach > 0.0:
            move(state.beliefs, i, h, shown, share_of_reach(settings.bank[h], reach, widest), step, less)
            state.mean[h, i] = state.start[i] + settings.sigma_0[i] * state.beliefs[OPTIMUM, i, h]
    return 1.0 / (1.0 + np.exp(-mean))


@kernel(makes_arrays=True)
def _plan(settings, state, noise, shown):
    """Choose the level of each parameter at which the next pairs are expected to show most about its optimum."""
    size, plan, schedule = len(state.start), state.plan, state.schedule
    gains, knowns, weights = np.empty((size, LEVELS)), np.empty((size, LEVELS)), weights_of(state.evidence, DOUBT)
    estimate = np.empty(size)
    rules.write_mean(settings, state, estimate)
    for i in range(size):
        unit, at, widest = settings.sigma_0[i], estimate[i], rules.MAX_PERTURBATION * settings.c_end[i]
        for level in range(LEVELS):
            middle, reach = _pair_within(settings, i, level, at)
            middle, reach = (middle - state.start[i]) / unit, reach / unit
            _predict_all(settings, state, i, middle, reach, widest / unit, shown)
            found = worth(state.beliefs, weights, i, shown, settings.bank, reach, widest / unit)
            gains[i, level], knowns[i, level] = found
            if level < LEVELS - 1 and _is_too_wide(settings, state, weights, i, level, at):
                gains[i, level] = 0.0
    may_widen, widened = schedule[_PAIRS] >= schedule[_WIDEN_AT], False
    total = plan[KNOWN].sum()
    for i in range(size):
        level = best_level(gains, knowns, i, total - plan[KNOWN, i], noise)
        if level < plan[LEVEL, i]:
            level = int(plan[LEVEL, i]) - (1 if may_widen else 0)
            widened = widened or may_widen
        total += knowns[i, level] - plan[KNOWN, i]
        plan[LEVEL, i], plan[KNOWN, i] = level, knowns[i, level]
    if widened:
        schedule[_WIDEN_AT] = schedule[_PAIRS] + max(FIRST_PAIRS, WIDEN_EVERY * schedule[_PAIRS])
    schedule[_PLAN_AT] = schedule[_PAIRS] * (1.0 + PLAN_EVERY) + 0.5


@kernel
def _is_too_wide(settings, state, weights, i, level, middle):
    """Whether the widest pairs of a plan with this level cost a player more than parameter `i` may among others.

    That is by the geometric mean of the hypotheses, since those of very steep curves would decide the usual one.
    """
    _, reach = _pair_within(settings, i, max(level + STEPS[0], 0), middle)
    unit, lost = reach / settings.sigma_0[i], np.log(_strength(settings, i))
    for h in range(len(weights)):
        if weights[h] > 0.0:
            form = settings.bank[h]
            scale = np.log(form[MULTIPLIER]) + state.beliefs[SCALE, i, h]
            lost += weights[h] * (scale + np.log(lost_at(form[FORM], form[WIDTH], unit)))
    others = len(state.start) - 1
    return others > 0 and lost > np.log(rules.BETA * MAX_HANDICAP / others)


METHOD = rules.Method(
    "adaptive",
    f"{len(FORMS)} forms of each parameter's curve at once, lopsided, kinked and flat ones too; the next perturbations "
    "are those from which most can be learned",
    _update,
    prepare=_prepare,
    deviations=_deviations,
    place=_place,
    bank=FORMS,
    intervals=_intervals,
    gain=_gain,
    version=3,  # 1 played wider pairs, 2 many of equal players where integers have few values
)
