"""The simulator: one definition of the rules, the paper's table in small, and the methods on other curves."""

from collections import deque

import numpy as np
import pytest

from merino.lab.tune import rules, simulator
from merino.lab.tune.methods import METHODS, after, estimate, initial_state, next_pair, spsa
from merino.lab.tune.parameters import loss_left, pairs_needed, spsa_step
from merino.lab.tune.simulator import PAIRS, SETTINGS, START, TAU, TOTAL_ELO, Cell, loss_at_start
from merino.match.games import seed_state

FEW_RUNS = 8


def simulated(method: str, setting: str, size: int, *, pairs: int, runs: int, seed: int = 1, **how: int) -> Cell:
    return simulator.simulate(METHODS[method], SETTINGS[setting], size, pairs=pairs, runs=runs, seed=seed, **how)


def share(random: np.ndarray) -> float:
    """The next random share, by the rule of splitmix64 in plain integers."""
    mask = 2**64 - 1
    word = int(random[0]) + 0x9E3779B97F4A7C15 & mask
    random[0] = word
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & mask
    word = (word ^ word >> 27) * 0x94D049BB133111EB & mask
    return ((word ^ word >> 31) >> 11) / 2**53


def naive_loss(name: str, x: np.ndarray, size: int) -> float:
    """The Elo lost at x, written out."""
    k = TOTAL_ELO / size / START**2
    if name == "S2":
        return float((k * x**2 * (1 + 0.5 * np.tanh(x / 100))).sum())
    if name == "L1":
        better = 8 * (x[0] / 100) ** 2
        return float(min(better, 3 + 8 * (x[0] / 100 - 1.4) ** 2) + (k * x[1:] ** 2).sum())
    assert name == "S0"
    return float((k * x**2).sum())


@pytest.mark.parametrize("ahead", [1, 7])
@pytest.mark.parametrize("name", ["S0", "S2", "L1"])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_simulation_uses_the_rules_that_games_use(method, name, ahead):
    size, pairs, under_way = 3, 60, deque[rules.PairResult]()
    settings = simulator.tuner_settings(method, SETTINGS[name], size, pairs)
    state, random = initial_state(settings, np.full(size, START)), seed_state(1)
    for number in range(1, pairs + 1):
        plus, minus = next_pair(settings, state, number, random)
        gain = naive_loss(name, minus, size) - naive_loss(name, plus, size)
        expected, y = 1 / (1 + 10 ** (-gain / 400)), 0
        half = min(simulator.DRAW_RATE / 2, expected, 1 - expected)
        for _ in range(2):
            drawn = share(random)
            y += 1 if drawn < expected - half else 0 if drawn < expected + half else -1
        under_way.append(rules.PairResult(number, plus, minus, float(y)))
        if len(under_way) == ahead:
            state = after(settings, state, under_way.popleft())
    for pair in under_way:
        state = after(settings, state, pair)
    start = initial_state(settings, np.full(size, START))
    loss = simulator._play(
        settings, start, SETTINGS[name].curve(size), seed_state(1), np.empty((ahead, 2, size)), np.empty(ahead)
    )
    assert loss == pytest.approx(naive_loss(name, estimate(settings, state), size), rel=1e-9)
    assert loss != pytest.approx(naive_loss(name, np.full(size, START), size), rel=1e-6)


@pytest.mark.parametrize("size", [1, 4, 16])
@pytest.mark.parametrize("method", [METHODS["spsa"], METHODS["bspsas"], METHODS["bspsa"]])
def test_a_few_runs_agree_with_the_table_of_the_paper(method, size):
    cell = simulated(method.name, "S0", size, pairs=PAIRS, runs=FEW_RUNS)
    figure = cell.paper
    assert figure is not None
    assert abs(cell.figures.loss - figure.loss) < 4 * figure.deviation * (1 / simulator.RUNS + 1 / FEW_RUNS) ** 0.5
    assert cell.figures.loss < naive_loss("S0", np.full(size, START), size) / 10


def test_the_simulation_is_the_same_on_one_thread_and_on_two():
    one, two = (simulated("bspsa", "S3", 5, pairs=500, runs=6, seed=3, at_a_time=threads).losses for threads in (1, 2))
    assert np.array_equal(one, two)
    assert len(set(one)) == 6


@pytest.mark.parametrize("name", SETTINGS)
def test_a_curve_loses_nothing_at_its_optimum_and_about_two_elo_at_the_start(name):
    assert simulator._lost(SETTINGS[name].curve(4), np.zeros(4)) == 0
    others = {"S2": 2.7616, "L1": 5.78, "L3": 5.78, "S4": 0, "K5": 8, "K6": naive_form("K6", -1.25)}
    assert loss_at_start(SETTINGS[name], 4) == pytest.approx(others.get(name, TOTAL_ELO), abs=1e-3)


@pytest.mark.parametrize(("size", "loss"), [(1, 0.00028), (4, 0.0045), (16, 0.069), (64, 0.729)])
def test_the_plan_predicts_the_loss_of_bspsa(size, loss):
    even = np.full(size, 1 / size)
    assert loss_left(200_000, 2 * even, 9.68 * even, TAU) == pytest.approx(loss, rel=0.02)
    assert loss_left(1e12, 2 * even, 9.68 * even, TAU) * 1e12 * 9.68 / size**2 == pytest.approx(542, rel=2e-3)


@pytest.mark.parametrize(("target", "pairs"), [(2.0, 2700), (0.5, 11000)])
def test_the_plan_counts_the_pairs_that_reach_a_target(target, pairs):
    even = np.full(8, 1 / 8)
    needed = pairs_needed(target, 30 * even, 20 * even, 1.2**0.5)
    assert needed == pytest.approx(pairs, rel=0.04)
    assert loss_left(needed, 30 * even, 20 * even, 1.2**0.5) <= target
    assert loss_left(needed - 1, 30 * even, 20 * even, 1.2**0.5) > target
    assert pairs_needed(31, 30 * even, 20 * even, 1.0) == 0


@pytest.mark.parametrize("pairs", [2_000, 20_000])
def test_spsa_gets_the_step_for_its_length(pairs):
    cell = simulated("spsa", "S0", 1, pairs=pairs, runs=40)
    step = spsa_step(TOTAL_ELO, 1, pairs, TOTAL_ELO * 2.2**2, TAU)
    decay = 8 * 1.70 * np.log(10) / 400 * pairs * TOTAL_ELO * 2.2**2
    predicted = TOTAL_ELO * np.exp(-decay * step) + step * TAU**2 / (8 * np.log(10) / 400)
    assert cell.figures.loss == pytest.approx(predicted, abs=4 * cell.figures.error)
    assert cell.figures.loss < TOTAL_ELO / 20
    assert cell.figures.gain == pytest.approx(TOTAL_ELO - cell.figures.loss)


@pytest.mark.parametrize(
    ("size", "elo_at_c", "step"), [(1, 9.68, 7.0e-5), (4, 2.42, 2.06e-4), (16, 0.605, 5.3e-4), (64, 0.151, 9.5e-4)]
)
def test_the_best_step_of_spsa_is_that_of_the_formula(size, elo_at_c, step):
    assert spsa_step(2.0, size, 200_000, elo_at_c, 0.6) == pytest.approx(step, rel=0.01)
    numbers = np.arange(1, 200_001)
    stability = spsa.STABILITY_SHARE * 200_000
    assert (((stability + 200_000) / (stability + numbers)) ** rules.ALPHA).mean() == pytest.approx(1.70, abs=0.01)


def naive_form(name: str, x: float) -> float:
    """The Elo lost at x stated distances from the optimum of one parameter, written out."""
    if name == "K6":
        ratio = np.log((x + 1.75) / 1.75)
        return 300 * ratio**2 if ratio < 0 else 180 * (1 - np.exp(-300 * ratio**2 / 180))
    sides = {"K4": 4.0 if x < 0 else 1.0, "K5": 4.0 if x < 0 else 1.0}
    return 2 * {
        "K1": abs(x),
        "K2": x**4,
        "K3": (1 - np.exp(-(x**2) / 2)) / (1 - np.exp(-0.5)),
        **{each: x**2 * side for each, side in sides.items()},
    }.get(name, x**2)


@pytest.mark.parametrize("name", ["S4", "S5", "S6", "K1", "K2", "K3", "K4", "K5", "K6"])
def test_the_curves_of_other_forms_are_as_written_out(name):
    curve = SETTINGS[name].curve(1)
    for x in (-1.2, -0.4, 0.3, 1.0, 3.0):
        assert simulator._lost(curve, np.array([x * START])) == pytest.approx(naive_form(name, x))


@pytest.mark.parametrize(("name", "size"), [("K1", 1), ("K2", 1), ("K6", 1), ("S5", 4)])
def test_intervals_of_the_default_have_the_optimum_on_other_curves(name, size):
    cell = simulated("adaptive", name, size, pairs=400 * size, runs=40 // size, seed=2)
    assert 0.8 <= cell.coverage <= 1.0  # 0.95 less three standard errors
    assert size > 1 or cell.careful <= loss_at_start(SETTINGS[name], 1)


def test_a_tune_that_begins_at_the_optimum_ends_there_if_only_proved_gains_count():
    cell = simulated("adaptive", "S4", 4, pairs=1_000, runs=30, seed=3)
    assert cell.figures.loss > 0.02, "it does move"
    assert cell.careful < cell.figures.loss / 4
    assert cell.proved.mean() < 0.1


def test_a_factor_of_material_is_found_from_far_below_within_the_bounds():
    values = 60 * (simulated("adaptive", "K6", 1, pairs=200, runs=30, ahead=32).firsts / START + 1.75)
    assert ((values >= 80) & (values <= 130)).mean() >= 0.9


def test_the_default_loses_less_than_bspsas_on_an_even_and_a_lopsided_curve():
    for setting, size in (("S0", 16), ("S2", 4)):
        ours, plain = (simulated(name, setting, size, pairs=5_000, runs=6, seed=4) for name in ("adaptive", "bspsas"))
        assert ours.figures.loss < plain.figures.loss


def test_usual_perturbations_end_between_two_optima():
    """They reach beyond both: no run ends at the better one, at 0, or at the worse, at 1.4 distances."""
    cell = simulated("bspsas", "L1", 1, pairs=20_000, runs=FEW_RUNS, seed=6)
    assert ((cell.firsts > 0.25 * START) & (cell.firsts < 1.15 * START)).all()
