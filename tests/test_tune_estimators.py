"""The update rules: the worked examples, and what must hold whatever was played."""

import numpy as np
import pytest

from merino.core.compiled.jit import in_python
from merino.lab.tune.methods import METHODS, after, deviations, estimate, gain_over, initial_state, next_pair
from merino.lab.tune.methods.adaptive import LEVELS, MAX_HANDICAP, PARABOLA, STEP_SHARES, STEPS, VAR_S, best_level
from merino.lab.tune.parameters import TunedParameter, settings_for
from merino.lab.tune.rules import BETA, MAX_PERTURBATION, EstimatorSettings, Method, PairResult, State
from merino.match.games import seed_state
from merino.match.statistics import score_of

PLAYED = (((220, 80), (1, -1), 2), ((210, 75), (-1, -1), -1), ((200, 70), (1, 1), 0), ((195, 68), (1, -1), 1))
EXAMPLE = {
    METHODS["bspsa"]: ((57.7682911, -28.6428916), (80.6502551, -17.5015982), (101.1167195, -27.2599795)),
    METHODS["bspsas"]: ((58.7937356, -29.1610738), (81.6259003, -18.0453884), (102.1176596, -27.8170945)),
}
EXAMPLE_DEVIATIONS = {METHODS["bspsa"]: (96.2735479, 48.2490333), METHODS["bspsas"]: (96.2734666, 48.2489925)}


def make_settings(method: Method, sigma: list[float], sigma_0: list[float], tau: float = 0.6) -> EstimatorSettings:
    """Settings without bounds that matter, for real numbers."""
    rows = [TunedParameter("a", 0, -1e6, 1e6, 10, 0.002, whole=False)] * len(sigma)
    return settings_for(method, rows, 1000)._replace(tau=tau, sigma=np.array(sigma), sigma_0=np.array(sigma_0))


def tune_of(method: str, start: float, low: float, high: float, c_end: float, pairs: int, r_end=None, whole=False):
    """The settings and the state of a tune of one parameter, and its random numbers."""
    settings = settings_for(METHODS[method], [TunedParameter("a", start, low, high, c_end, r_end, whole=whole)], pairs)
    return settings, initial_state(settings, np.array([float(start)])), seed_state(10)


def random_results(count: int, size: int, seed: int) -> list[PairResult]:
    """Pairs of vectors around 0 that have nothing to do with an estimate, and any results."""
    chance = np.random.default_rng(seed)
    return [
        PairResult(
            number, chance.normal(0, 300, size), chance.normal(0, 300, size), float(chance.choice([-2, -1, 0, 1, 2]))
        )
        for number in range(1, count + 1)
    ]


def state_after(settings: EstimatorSettings, start: np.ndarray, results: list[PairResult]) -> State:
    state = initial_state(settings, start)
    for result in results:
        state = after(settings, state, result)
    return state


@pytest.mark.parametrize("method", [METHODS["bspsa"], METHODS["bspsas"]])
def test_four_pairs_move_the_estimate_as_worked_out_by_hand(method):
    settings = make_settings(method, [700.0, 300.0], [100.0, 50.0])
    state = initial_state(settings, np.array([10.0, -5.0]))
    found = []
    for number, (c, signs, y) in enumerate(PLAYED, start=1):
        theta, reach = estimate(settings, state), np.array(c, dtype=float) * signs
        state = after(settings, state, PairResult(number, theta + reach, theta - reach, float(y)))
        found.append(estimate(settings, state))
    first, second, last = EXAMPLE[method]
    assert np.abs(np.array(found) - [first, second, second, last]).max() < 1e-6
    assert np.abs(deviations(settings, state) - EXAMPLE_DEVIATIONS[method]).max() < 1e-6
    if method is METHODS["bspsa"]:
        assert state.covariance[0, 1] == state.covariance[1, 0] == pytest.approx(6.0343754, abs=1e-6)


@pytest.mark.parametrize(
    ("number", "c", "step"), [(1, 20.0909281, 0.08382565), (500, 10.7251662, 0.05371893), (1000, 10, 0.04)]
)
def test_spsa_steps_as_worked_out_by_hand(number, c, step):
    settings = make_settings(METHODS["spsa"], [700.0], [100.0])
    state = initial_state(settings, np.zeros(1))
    plus, minus = next_pair(settings, state, number, seed_state(1))
    assert abs(plus[0]) == pytest.approx(c, abs=1e-6)
    assert minus[0] == -plus[0]
    moved = estimate(settings, after(settings, state, PairResult(number, plus, minus, 2.0)))
    assert moved[0] * np.sign(plus[0]) == pytest.approx(step, abs=1e-6)


def test_bspsa_is_the_solution_of_its_linear_equations():
    settings = make_settings(METHODS["bspsa"], [300.0, 400.0, 500.0, 600.0, 700.0, 900.0], [100.0] * 6)
    results = random_results(200, 6, seed=3)
    state = state_after(settings, np.zeros(6), results)
    precision, right = np.diag(1 / settings.sigma_0**2), np.zeros(6)
    for _, plus, minus, y in results:
        slope = (plus - minus) / settings.sigma**2
        precision += np.outer(slope, slope) / settings.tau**2
        right += slope * (y + slope @ (plus + minus) / 2) / settings.tau**2
    assert np.abs(estimate(settings, state) - np.linalg.solve(precision, right)).max() < 1e-8
    assert np.abs(state.covariance - np.linalg.inv(precision)).max() < 1e-8


@pytest.mark.parametrize("method", [METHODS["bspsas"], METHODS["bspsa"], METHODS["adaptive"]])
def test_it_does_not_matter_where_zero_is(method):
    settings = make_settings(method, [700.0, 300.0], [100.0, 50.0])
    results = random_results(40, 2, seed=6)
    shift = np.array([1000.0, -3000.0])
    moved = [PairResult(r.number, r.plus + shift, r.minus + shift, r.y) for r in results]
    here = estimate(settings, state_after(settings, np.zeros(2), results))
    there = estimate(settings, state_after(settings, shift, moved))
    assert np.abs(here).max() > 1
    assert np.abs(there - shift - here).max() < 1e-8


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_parameter_that_both_sides_play_alike_stays_as_it_is(method):
    settings = make_settings(method, [700.0, 300.0], [100.0, 50.0])
    start = np.array([3.0, 7.0])
    state = after(
        settings, initial_state(settings, start), PairResult(1, np.array([50.0, 8.0]), np.array([-50.0, 8.0]), 2.0)
    )
    assert estimate(settings, state)[0] > 3
    assert estimate(settings, state)[1] == pytest.approx(7, abs=1e-12)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_result_leaves_the_state_before_it_alone(method):
    settings = make_settings(method, [700.0, 300.0], [100.0, 50.0])
    before = initial_state(settings, np.zeros(2))
    copies = [array.copy() for array in before]
    after(settings, before, random_results(1, 2, seed=7)[0])
    assert all(np.array_equal(array, copy) for array, copy in zip(before, copies, strict=True))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_players_and_estimates_stay_within_bounds(method):
    rows = [TunedParameter("a", 9, 0, 10, 4, 0.5, whole=True), TunedParameter("b", 0.5, 0, 1, 0.2, 0.5, whole=False)]
    settings = settings_for(method, rows, 200)
    state, random = initial_state(settings, np.array([9.0, 0.5])), seed_state(8)
    for number in range(1, 201):
        plus, minus = next_pair(settings, state, number, random)
        for vector in (plus, minus, estimate(settings, state)):
            assert (vector >= settings.low).all()
            assert (vector <= settings.high).all()
        assert plus[0] == round(plus[0])
        state = after(settings, state, PairResult(number, plus, minus, 2.0 * np.sign(plus[0] - minus[0])))
    assert estimate(settings, state)[0] == pytest.approx(10, abs=0.7)


@pytest.mark.parametrize("at", [0.0, 1.0, 3.0, 50.0, 100.0])
def test_adaptive_pairs_are_centred_within_the_bounds_or_narrowed(at):
    settings, state, random = tune_of("adaptive", at, 0, 100, 60, 100)
    for number in range(1, 100):
        plus, minus = next_pair(settings, state, number, random)
        reach, room = abs(plus[0] - minus[0]) / 2, max(min(at, 100 - at), 100 / 16)
        assert 0 < reach <= room + 1e-9
        assert (plus[0] + minus[0]) / 2 == pytest.approx(min(max(at, reach), 100 - reach))


@pytest.mark.parametrize(("start", "high"), [(0, 1), (1, 1), (0, 4), (5, 5)])
def test_adaptive_players_of_an_integer_with_few_values_always_differ(start: int, high: int):
    settings, state, random = tune_of("adaptive", start, 0, high, 1, 100, whole=True)
    for number in range(1, 100):
        plus, minus = next_pair(settings, state, number, random)
        assert plus[0] != minus[0]
        state = after(settings, state, PairResult(number, plus, minus, 2.0 if number % 3 else -2.0))


def test_adaptive_players_are_not_far_worse_than_the_middle_between_them() -> None:
    size, dist, elo = 6, 10.0, 20.0  # from the start to the optimum, at 0, and lost there by each parameter
    rows = [TunedParameter(f"p{i}", dist, -1000, 1000, 22, whole=False, elo=elo, dist=dist) for i in range(size)]
    settings = settings_for(METHODS["adaptive"], rows, 1000)
    state, random, chance = initial_state(settings, np.full(size, dist)), seed_state(5), np.random.default_rng(5)
    handicaps = []
    for number in range(1, 401):
        plus, minus = next_pair(settings, state, number, random)
        handicaps.append(elo * float(((plus - minus) ** 2).sum()) / (2 * dist) ** 2)
        score = score_of(elo * float((minus**2 - plus**2).sum()) / dist**2)
        state = after(settings, state, PairResult(number, plus, minus, 2.0 * chance.binomial(2, score) - 2.0))
    assert max(handicaps[100:]) < 1.5 * MAX_HANDICAP
    assert np.abs(estimate(settings, state)).mean() < 0.4 * dist


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_whole_numbers_for_a_parameter_make_no_whole_numbers_of_its_state(method: Method) -> None:
    settings = settings_for(method, [TunedParameter("a", 5, 0, 100, 6, 1, elo=2, dist=9)], 100)
    arrays = {**settings._asdict(), **initial_state(settings, np.array([5.0]))._asdict()}.items()
    assert {name for name, each in arrays if isinstance(each, np.ndarray) and each.dtype != np.float64} == {"whole"}


def test_the_perturbation_with_most_information_is_chosen_and_a_sure_result_has_none():
    gains = np.array([[16.0, 4.0, 1.0]])
    choose = in_python(best_level)
    assert choose(gains, np.zeros((1, 3)), 0, 0.0, 1.0) == 0
    assert choose(gains, np.array([[1000.0, 1.0, 0.1]]), 0, 0.0, 1.0) == 1


def test_one_parabola_alone_moves_as_bspsas_does():
    bank = np.array([(PARABOLA, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0)])
    plain = make_settings(METHODS["bspsas"], [9000.0], [100.0])
    ours = make_settings(METHODS["adaptive"], [9000.0], [100.0])._replace(bank=bank)
    results, state = random_results(60, 1, seed=13), initial_state(ours, np.zeros(1))
    state.beliefs[VAR_S] = 0.0
    for result in results:
        state = after(ours, state, result)
    there = state_after(plain, np.zeros(1), results)
    assert estimate(ours, state)[0] == pytest.approx(estimate(plain, there)[0], rel=2e-3)
    assert deviations(ours, state)[0] == pytest.approx(deviations(plain, there)[0], rel=2e-3)


@pytest.mark.parametrize("method", [METHODS["adaptive"], METHODS["bspsas"]])
def test_the_gain_over_the_start_is_that_of_the_curve(method):
    settings = make_settings(method, [700.0], [100.0])
    state = initial_state(settings, np.zeros(1))
    assert gain_over(settings, state, np.zeros(1)).mean == pytest.approx(0)
    for number in range(1, 3000):
        reach, middle = 500.0 / 2 ** (number % 3), estimate(settings, state)[0]
        y = 2 * np.tanh(reach * (80.0 - middle) / 700.0**2)
        state = after(settings, state, PairResult(number, np.array([middle + reach]), np.array([middle - reach]), y))
    gain, at = gain_over(settings, state, np.zeros(1)), estimate(settings, state)[0]
    assert at == pytest.approx(80, abs=12)
    assert gain.mean == pytest.approx(80**2 / (2 * BETA * 700**2), rel=0.5)
    assert gain.low < gain.mean < gain.high


def test_integers_are_right_on_average_and_never_of_the_wrong_sign():
    settings, state, random = tune_of("bspsa", 5.3, 0, 10, 0.4, 1, whole=True)
    pairs = np.array([next_pair(settings, state, 1, random) for _ in range(4000)])[:, :, 0]
    differences = pairs[:, 0] - pairs[:, 1]
    assert set(differences) == {-1.0, 0.0, 1.0}
    assert np.abs(differences).mean() == pytest.approx(0.8, abs=0.03)
    assert pairs.mean() == pytest.approx(5.3, abs=0.03)


def test_perturbations_shrink_as_those_of_fishtest():
    settings, state, random = tune_of("bspsa", 0, -1e6, 1e6, 10, 1000)
    first_and_last = [abs(next_pair(settings, state, number, random)[0][0]) for number in (1, 1000)]
    assert first_and_last == pytest.approx([10 * 1000**0.101, 10])


def test_adaptive_plays_the_steps_about_its_level_as_often_as_it_should():
    settings, state, random = tune_of("adaptive", 0, -1e6, 1e6, 10, 1000)
    level = int(state.plan[0, 0])
    assert 2 <= level < LEVELS - 1
    reaches = np.array([abs(next_pair(settings, state, number, random)[0][0]) for number in range(1, 4000)])
    steps = np.rint(np.log2(10 * MAX_PERTURBATION / reaches)).astype(int) - level
    assert [np.mean(steps == step) for step in STEPS] == pytest.approx(STEP_SHARES, abs=0.03)


def test_hypotheses_count_by_their_evidence():
    settings = make_settings(METHODS["adaptive"], [700.0], [100.0])
    state = initial_state(settings, np.zeros(1))
    state.mean[:, 0] = np.arange(len(state.mean))
    state.beliefs[0, 0] = state.mean[:, 0] / 100
    state.evidence[:] = -1000.0
    state.evidence[[2, 4]] = np.log(3), 0.0
    assert estimate(settings, state)[0] == pytest.approx(0.75 * 2 + 0.25 * 4)
    assert deviations(settings, state)[0] == pytest.approx(np.sqrt(100**2 + 0.75 * 0.5**2 + 0.25 * 1.5**2))


def test_more_than_63_parameters_get_signs_of_their_own():
    rows = [TunedParameter(f"p{index}", 0, -9, 9, 1, whole=False) for index in range(130)]
    settings = settings_for(METHODS["spsa"], rows, 1)
    state, random = initial_state(settings, np.zeros(130)), seed_state(11)
    signs = np.array([next_pair(settings, state, 1, random)[0] for _ in range(400)])
    correlation = np.corrcoef(signs.T) - np.eye(130)
    assert np.abs(signs).min() == 1
    assert np.abs(correlation).max() < 0.27  # five and a half standard deviations of 0


def test_the_spread_of_results_is_learned_from_them():
    results = random_results(4000, 1, seed=12)
    stated, found = (make_settings(METHODS["bspsa"], [300.0], [5.0], tau) for tau in (np.sqrt(2.0), 0.0))
    assert np.var([result.y for result in results]) == pytest.approx(2, abs=0.1)
    widths = [deviations(settings, state_after(settings, np.zeros(1), results))[0] for settings in (stated, found)]
    assert widths[0] < 4.5
    assert widths[1] == pytest.approx(widths[0], rel=0.02)


def test_spsa_steps_no_further_than_a_bound_and_back_from_there():
    settings, state, _ = tune_of("spsa", 0.9, 0, 1, 0.2, 200, 0.5)
    for y, bound in ((2.0, 1.0), (-2.0, 0.0)):
        for number in range(1, 100):
            state = after(settings, state, PairResult(number, np.array([0.9]), np.array([0.5]), y))
        assert state.mean[0, 0] == bound
