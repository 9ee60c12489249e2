"""ADAPTIVE: perturbations that choose themselves, and curves of many forms, for each parameter its own."""

from __future__ import annotations

import math

import numpy as np

from merino.core.compiled.jit import entry, kernel
from merino.lab.tune.beliefs import (
    BELIEFS,
    BIAS_SPREAD,
    DOUBT,
    EXPECTED,
    FAR,
    FIRST_LEVEL,
    FORM,
    FORMS,
    GONE,
    KNOWN,
    LEVEL,
    LEVELS,
    MIN_ODDS,
    MULTIPLIER,
    ODDS,
    OPTIMUM,
    SCALE,
    SCALE_DEVIATION,
    VAR_B,
    VAR_O,
    VAR_S,
    VARIANCE,
    WIDTH,
    best_level,
    foresee,
    is_gone,
    lost_at,
    move,
    reach_at,
    share_of_reach,
    weigh_result,
    weights_of,
    worth,
)
from merino.lab.tune.rules import (
    BETA,
    FIRST_TAU2,
    FIRST_TAU2_PAIRS,
    MAX_PERTURBATION,
    OUTSIDE,
    EstimatorSettings,
    ExpectedGain,
    Method,
    State,
    state_of,
    write_mean,
)
from merino.match.games import next_index

MIN_ROOM = 1 / 16  # of the bounds: as wide perturbations are near a bound, too, about a middle that is moved inside
# How often a pair is two levels wider than the best, one wider, at the best, and one narrower. Without the wider ones,
# what is believed could choose perturbations that never refute it, and lopsidedness would remain unknown.
STEPS, STEP_SHARES = np.array([-2, -1, 0, 1]), np.array([0.3, 0.3, 0.3, 0.1])
# The plan is made anew each time the pairs have grown by this share, and a perturbation may widen by one level each
# time that they have grown by the other.
PLAN_EVERY, WIDEN_EVERY, FIRST_PAIRS = 0.02, 0.1, 8
MARGIN = 1.5  # of intervals over the deviations of a hypothesis, by simulation
FARTHER = 3.0  # times the told distance: the optima of which intervals are not surprised
# What a player of the widest pairs may be expected to lose by all parameters but one, in Elo. Players who are much
# worse than their middle do not tell the best value of that one: how a term serves those who misjudge all pieces.
MAX_HANDICAP = 150.0
STRONG_BIAS = 0.3  # above which a hypothesis has less odds for each parameter more, as all would have to be so lopsided
# Places of the schedule, float64[4]: when to plan, when to widen, and pairs and squares of surprises for the noise.
_PLAN_AT, _WIDEN_AT, _PAIRS, _SQUARES = range(4)


def _prepare(settings: EstimatorSettings, start: np.ndarray) -> State:
    size, forms = len(start), settings.bank
    beliefs, plan = np.zeros((BELIEFS, size, len(forms))), np.zeros((2, size))
    beliefs[VAR_O] = forms[:, FAR] ** 2
    beliefs[VAR_B] = np.outer(settings.c_end * MAX_PERTURBATION / settings.sigma_0, forms[:, BIAS_SPREAD]) ** 2
    beliefs[VAR_S] = SCALE_DEVIATION**2
    plan[LEVEL] = FIRST_LEVEL
    own = {"beliefs": beliefs, "plan": plan, "schedule": np.zeros(4), "start": np.array(start, dtype=np.float64)}
    strange = (size - 1) * (forms[:, BIAS_SPREAD] > STRONG_BIAS)
    return state_of(settings, start, evidence=forms[:, ODDS] - strange, **own)


def _weights(state: State, power: float = 1.0) -> np.ndarray:
    weights = np.exp(power * np.maximum(state.evidence - state.evidence.max(), -700.0))
    return np.where(state.evidence > GONE, weights, 0.0) / weights[state.evidence > GONE].sum()


def _deviations(settings: EstimatorSettings, state: State) -> np.ndarray:
    weights, optima = _weights(state), state.beliefs[OPTIMUM]
    mean = (weights * optima).sum(axis=1, keepdims=True)
    return np.sqrt((weights * (state.beliefs[VAR_O] + (optima - mean) ** 2)).sum(axis=1)) * settings.sigma_0


def _intervals(settings: EstimatorSettings, state: State) -> np.ndarray:
    """The quantiles that leave half of OUTSIDE on each side in the mixture of all hypotheses, float64[2, d].

    The likely ones are trusted less, and all get a margin, since a true curve is none of them: see docs/lab/tuning.md.
    They hold optima, too, that are farther than told: by what the pairs say alone, beside a wider guess.
    """
    weights, far, variances = _weights(state, DOUBT), settings.bank[:, FAR], state.beliefs[VAR_O]
    wider = 1 / (np.maximum(1 / variances - 1 / far**2, 0.0) + 1 / (FARTHER * far) ** 2)
    optima, deviations = state.beliefs[OPTIMUM] * wider / variances, MARGIN * np.sqrt(wider)
    found = np.empty((2, len(optima)))
    for side, share in enumerate((OUTSIDE / 2, 1 - OUTSIDE / 2)):
        low, high = (optima - 9 * deviations).min(axis=1), (optima + 9 * deviations).max(axis=1)
        for _ in range(60):
            middle = (low + high) / 2
            below = (weights * _normal_share((middle[:, None] - optima) / deviations)).sum(axis=1) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found[side] = state.start + settings.sigma_0 * low
    return found


def _normal_share(z: np.ndarray) -> np.ndarray:
    """The share of a normal distribution below each of `z` deviations."""
    return np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in z.ravel().tolist()]).reshape(z.shape)


def _gain(settings: EstimatorSettings, state: State) -> ExpectedGain:
    shown = np.zeros((3, *state.beliefs.shape[1:]))
    _foresee_gain(settings, state, shown)
    weights, means = _weights(state), shown[EXPECTED].sum(axis=0)
    mean = float((weights * means).sum())
    deviation = math.sqrt((weights * (shown[VARIANCE].sum(axis=0) + (means - mean) ** 2)).sum())
    return ExpectedGain(mean / BETA, deviation / BETA)


@entry
def _foresee_gain(settings, state, shown):
    """Fill `shown` for the estimate against the start."""
    estimate = np.empty(len(state.start))
    write_mean(settings, state, estimate)
    for i in range(len(estimate)):
        unit = settings.sigma_0[i]
        half, widest = 0.5 * (estimate[i] - state.start[i]) / unit, MAX_PERTURBATION * settings.c_end[i] / unit
        _foresee_all(settings, state, i, half, half, widest, shown)


@kernel
def _foresee_all(settings, state, i, middle, reach, widest, shown):
    """Fill `shown` for parameter `i` under all hypotheses."""
    strength = _strength(settings, i)
    for h in range(len(settings.bank)):
        if not is_gone(state.evidence, h):
            foresee(settings.bank, state.beliefs, strength, widest, i, h, middle, reach, shown)


@kernel
def _strength(settings, i):
    """The log-odds that the told distance of a parameter costs."""
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
    """The middle and the reach of a pair at a level about `middle`, narrowed and moved inside where bounds are near."""
    low, high = settings.low[i], settings.high[i]
    room = max(min(middle - low, high - middle), MIN_ROOM * (high - low))
    reach = reach_at(level, MAX_PERTURBATION * settings.c_end[i], room, settings.whole[i])
    return min(max(middle, low + reach), high - reach), reach


@kernel(makes_arrays=True)
def _update(settings, state, number, plus, minus, y, tau2):
    """Change each hypothesis by how well it foresaw the result, and now and then the plan."""
    shown, weights = np.empty((3, *state.beliefs.shape[1:])), weights_of(state.evidence, 1.0)
    noise = tau2 if settings.tau > 0.0 else _noise(state.schedule)
    for i in range(len(plus)):
        unit = settings.sigma_0[i]
        middle, reach = (0.5 * (plus[i] + minus[i]) - state.start[i]) / unit, 0.5 * (plus[i] - minus[i]) / unit
        _foresee_all(settings, state, i, middle, reach, MAX_PERTURBATION * settings.c_end[i] / unit, shown)
    expected = 0.0
    for h in range(len(weights)):
        if not is_gone(state.evidence, h):
            expected += weights[h] * _absorb(settings, state, h, plus, minus, (2.0 + y) / 4.0, 4.0 / noise, shown)
    _give_up(state.evidence)
    _note_surprise(state.schedule, y, expected)
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
        reach, widest = 0.5 * abs(plus[i] - minus[i]), MAX_PERTURBATION * settings.c_end[i]
        if reach > 0.0:
            move(state.beliefs, i, h, shown, share_of_reach(settings.bank[h], reach, widest), step, less)
            state.mean[h, i] = state.start[i] + settings.sigma_0[i] * state.beliefs[OPTIMUM, i, h]
    return 1.0 / (1.0 + np.exp(-mean))


@kernel
def _give_up(evidence):
    """Give up hypotheses that are far less likely than the best."""
    best = evidence.max()
    for h in range(len(evidence)):
        evidence[h] = evidence[h] - best if evidence[h] > best + MIN_ODDS else 2.0 * GONE


@kernel
def _note_surprise(schedule, y, expected):
    """Count the pair, and its surprise in units of that between equal players."""
    schedule[_PAIRS] += 1.0
    schedule[_SQUARES] += (y + 2.0 - 4.0 * expected) ** 2 / max(4.0 * expected * (1.0 - expected), 0.05)


@kernel
def _noise(schedule):
    """The variance of y between equal players, by the surprises so far."""
    return (FIRST_TAU2 * FIRST_TAU2_PAIRS + schedule[_SQUARES]) / (FIRST_TAU2_PAIRS + schedule[_PAIRS])


@kernel(makes_arrays=True)
def _plan(settings, state, noise, shown):
    """Choose the level of each parameter at which the next pairs are expected to tell most of its optimum."""
    size, plan, schedule = len(state.start), state.plan, state.schedule
    gains, knowns, weights = np.empty((size, LEVELS)), np.empty((size, LEVELS)), weights_of(state.evidence, DOUBT)
    estimate = np.empty(size)
    write_mean(settings, state, estimate)
    for i in range(size):
        unit, at, widest = settings.sigma_0[i], estimate[i], MAX_PERTURBATION * settings.c_end[i]
        for level in range(LEVELS):
            middle, reach = _pair_within(settings, i, level, at)
            middle, reach = (middle - state.start[i]) / unit, reach / unit
            _foresee_all(settings, state, i, middle, reach, widest / unit, shown)
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
    """Whether the widest pairs of a plan with this level cost a player more than parameter `i` may beside others.

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
    return others > 0 and lost > np.log(BETA * MAX_HANDICAP / others)


SENTENCE = (
    f"{len(FORMS)} ideas of each parameter's curve at once, lopsided, kinked and flat ones too; the next perturbations "
    "are those from which most can be learned"
)
METHOD = Method(  # version 1 played wider pairs, 2 many of equal players where integers have few values
    "adaptive",
    SENTENCE,
    _update,
    _prepare,
    _deviations,
    _place,
    FORMS,
    intervals=_intervals,
    gain=_gain,
    version=3,
    always_differ=True,
)
