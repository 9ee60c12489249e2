"""Fitting: every method finds the same place, and few games do no harm."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from merino.eval.linear.registry import Group, Phase, Term
from merino.eval.linear.weights import DEFAULT_FILE, SHIPPED, load
from merino.learn import judging
from merino.learn.fitting import FitProblem, Step, gauss_newton
from merino.learn.judging import Learned, learn, summarise
from merino.learn.request import METHODS, Events, Settings
from merino.learn.sample import BLOCK, Detail, FitParameters, Sample, fit_k, gather, sample_of, split
from merino.match.statistics import Z_95
from tests.rows import labels_of, made_up_rows, mean_error, selfplay_rows, some_games
from tests.shipped import ARTICLE, article_weights

BOUNDS = np.array([term.bounds for term in ARTICLE], dtype=np.float64)
POSITIONAL = np.arange(5, len(ARTICLE))
BEFORE_TRAINING = load(SHIPPED / "greko2015-before-training.txt")
AFTER_TRAINING = load(SHIPPED / "greko2015-after-training.txt")[: len(ARTICLE)]
K = 800.0  # the spread of made-up scores is large


def truth() -> np.ndarray:
    """Weights to be found, well within their bounds."""
    weights = AFTER_TRAINING.copy()
    weights[POSITIONAL] = BOUNDS[POSITIONAL].mean(axis=1) + 0.2 * weights[POSITIONAL]
    return weights


@pytest.fixture(scope="module")
def sample() -> Sample:
    return split(made_up_rows(truth(), K, 40_000, seed=1), Settings())


@pytest.fixture(scope="module")
def small_sample() -> Sample:
    return split(made_up_rows(truth(), K, 3_000, seed=1), Settings())


def learned(sample: Sample, **settings: object) -> Learned:
    return learn(sample, AFTER_TRAINING, replace(Settings(), **settings), ARTICLE)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [None, K])
def test_every_method_comes_to_the_same_place(small_sample: Sample, k: float | None) -> None:
    newton, descent = (learned(small_sample, method=method, k=k).end for method in METHODS)
    assert np.abs(newton.weights - descent.weights).max() <= 2
    assert abs(newton.k - descent.k) < 0.005 * newton.k


def test_the_gradient_is_that_of_the_objective(sample: Sample) -> None:
    problem = FitProblem(np.array([5, 9, 23]), BOUNDS, True, truth(), spread=np.full(len(ARTICLE), 0.5))
    parameters = FitParameters(article_weights(), 1 / K)
    gradient = problem.gradient(gather(sample, parameters, Detail.GRADIENT), parameters)
    for place, (weight, step) in enumerate([(5, 4.0), (9, 4.0), (23, 4.0), (None, 1e-5)]):
        values = []
        for sign in (1, -1):
            weights = parameters.weights.copy()
            if weight is not None:
                weights[weight] += sign * step
            moved = FitParameters(weights, parameters.inverse_k + (0 if weight is not None else sign * step))
            values.append(problem.objective(gather(sample, moved), moved))
        assert 2 * gradient[place] == pytest.approx((values[0] - values[1]) / (2 * step), rel=0.01)


@pytest.mark.parametrize("start", [100.0, 5000.0])
def test_k_alone_is_found_from_either_side(sample: Sample, start: float) -> None:
    assert fit_k(sample, truth(), start=1 / start).k == pytest.approx(K, rel=0.15)


def test_weights_stop_at_their_bounds(sample: Sample) -> None:
    free, bounds, end = POSITIONAL, BOUNDS.copy(), truth()
    bounds[free[3], 1] = end[free[3]] - 5
    bounds[free[7], 0] = end[free[7]] + 5
    start = FitParameters(np.clip(article_weights(), *bounds.T), 1 / K)
    found = gauss_newton(sample, start, FitProblem(free, bounds, False, start.weights)).weights
    assert (found[free[3]], found[free[7]]) == (bounds[free[3], 1], bounds[free[7], 0])
    assert ((found >= bounds[:, 0]) & (found <= bounds[:, 1]))[free].all()


def test_one_pass_sums_the_errors_of_both_sets() -> None:
    rows = made_up_rows(truth(), K, 3 * BLOCK, seed=2)
    is_validation = rows.game % 3 == 0
    parameters = FitParameters(article_weights(), 1 / K)
    both = gather(sample_of(rows, is_validation, 40.0), parameters)
    for chosen, error in zip((~is_validation, is_validation), both.errors(), strict=True):
        alone = some_games(rows, np.unique(rows.game[chosen]))
        predicted = 1 / (1 + np.exp(-(alone.features @ parameters.weights) / 256 / K))
        weights = np.exp(-alone.to_end / 40)
        assert error == pytest.approx(np.average((predicted - labels_of(alone)) ** 2, weights=weights), rel=1e-5)
    assert both.rows.tolist() == [np.count_nonzero(~is_validation), np.count_nonzero(is_validation)]


def test_more_games_weaken_the_pull_to_the_start() -> None:
    distances = []
    for count in (400, 2_000, 10_000):
        few = split(made_up_rows(truth(), K, count, seed=4), Settings())
        pulled, free = (learned(few, k=K, prior=prior).end.weights for prior in (None, 0.0))
        distances.append(np.abs(pulled - free).mean())
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < distances[0] / 5


@pytest.mark.parametrize("games", [30, 100, 300])
def test_few_games_never_leave_weights_that_predict_other_games_worse(games: int) -> None:
    rows, raw = selfplay_rows(), []
    for seed in range(4):
        drawn = np.random.default_rng(seed).permutation(len(rows.results))
        others = some_games(rows, drawn[games:])
        judge = sample_of(others, np.zeros(len(others), dtype=np.bool_), 40.0)
        for start in (BEFORE_TRAINING, load(DEFAULT_FILE)):
            found = learn(split(some_games(rows, drawn[:games]), Settings()), start, Settings())
            decrease = mean_error(judge, found.start) - mean_error(judge, found.end)
            raw.append(decrease)
            if found.accepted:
                assert decrease > 0
    assert np.mean(raw) > -0.0001  # nor would they, on average, if nobody looked at the validation set


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_fit_keeps_the_best_so_far(sample: Sample, method: str) -> None:
    steps = list[Step]()

    def stop_at_the_third(step: Step) -> None:
        steps.append(step)
        if len(steps) == 3:
            raise KeyboardInterrupt

    found = learn(sample, article_weights(), Settings(method=method), ARTICLE, Events(stepped=stop_at_the_third))
    assert found.interrupted
    assert len(steps) == 3
    assert np.abs(found.end.weights - steps[-1].parameters.weights).max() <= 0.5
    assert found.after.errors()[0] < found.before.errors()[0]


def test_the_truth_lies_within_most_intervals(sample: Sample) -> None:
    found = learned(sample, k=None)
    scaled = truth()  # five positions with one result are no five results: K comes out otherwise
    inside = np.abs(found.end.weights - scaled)[POSITIONAL] < Z_95 * found.spread[POSITIONAL] + 0.5
    assert inside.mean() > 0.8
    for line, spread in zip(summarise(sample, found, Settings(), ARTICLE).weights, found.spread, strict=True):
        assert (line.high - line.new, line.new - line.low) == pytest.approx((Z_95 * spread, Z_95 * spread))
        assert line.clear == (None if line.new == line.old else not line.low < line.old < line.high)


@pytest.mark.parametrize(("truth", "accepted"), [(0.0, 0.023), (0.05, 0.72), (0.3, 1.0), (-0.3, 0.0)])
def test_a_gain_is_accepted_by_chance_as_often_as_two_standard_errors_allow(truth: float, accepted: float) -> None:
    """Games of different weight, by whose sums the gain is a ratio; its interval covers the truth 95 times in 100."""
    draw = np.random.default_rng(7)
    weights = draw.gamma(0.5, 20.0, (1500, 270))
    sums = truth * weights + draw.normal(0, 1, weights.shape) * np.sqrt(weights)
    gains = [judging._gain(np.column_stack(game)) for game in zip(sums, weights, strict=True)]
    judged: Any = [
        SimpleNamespace(after=SimpleNamespace(valid=0), before=SimpleNamespace(valid=1), gain=g) for g in gains
    ]
    assert np.mean([Learned.accepted.fget(each) for each in judged]) == pytest.approx(accepted, abs=0.015)
    inside = [abs(gain.decrease - truth) <= judging.ACCEPTED_Z * gain.error for gain in gains]
    assert np.mean(inside) == pytest.approx(0.954, abs=0.015)


def test_in_cross_validation_every_game_counts_once_by_a_fit_that_has_not_seen_it(
    small_sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds, start = list[Sample](), FitParameters(truth(), 1 / K)
    ends = [replace(start, weights=start.weights * share) for share in (0.9, 1.1, 0.8, 1.2, 0.7)]
    monkeypatch.setattr(judging.fitting, "approach", lambda fold, *_, **__: folds.append(fold) or ends[len(folds)])
    problem: Any = SimpleNamespace(rounded=lambda end: end)
    found = judging._cross_validated(small_sample, start, ends[0], problem, seed=3, products=np.zeros((0, 0)))
    parts = [small_sample, *folds]
    assert found.folds == 5 == len(parts)
    every = np.sort(np.concatenate([part.games(True) for part in parts])).tolist()
    assert every == list(range(len(small_sample.results)))
    decreases = [judging._error_decreases(part, start, end) for part, end in zip(parts, ends, strict=True)]
    assert found == judging._gain(np.concatenate(decreases), 5)


def count_nothing(view: object) -> float:
    return 0.0


def test_terms_may_be_added_without_a_change_here() -> None:
    extra = [
        Term(f"Extra{number}", Group.MOBILITY, (-200, 200), Phase.ALWAYS, 1, "", count_nothing) for number in range(3)
    ]
    terms = [*ARTICLE, *extra]
    weights = np.append(truth(), [50.0, -60.0, 70.0])
    start = np.append(article_weights(), [10.0, 10.0, 10.0])
    settings = Settings(last=len(terms), k=K, prior=0.0)
    more = split(made_up_rows(weights, K, 40_000, seed=5), settings)
    for method in METHODS:
        found = learn(more, start, replace(settings, method=method), terms)
        assert np.abs(found.end.weights - weights)[-3:].max() < 25
        lines = {line.name: line for line in summarise(more, found, settings, terms).weights}
        assert lines["Extra1"].flags == ("sign against its meaning",)


def test_a_large_sample_is_first_approached_on_a_part_of_it(monkeypatch: pytest.MonkeyPatch, sample: Sample) -> None:
    start, problem = FitParameters(article_weights(), 1 / K), FitProblem(POSITIONAL, BOUNDS, False, article_weights())
    whole = gauss_newton(sample, start, problem)
    monkeypatch.setattr("merino.learn.sample.LARGE", 1)
    monkeypatch.setattr("merino.learn.sample.BLOCK", 256)
    assert np.abs(gauss_newton(sample, start, problem).weights - whole.weights).max() < 0.1


def test_games_without_positions_leave_few_games_few() -> None:
    weights = truth()
    weights[POSITIONAL] *= -3.0  # which 40 validation games already show
    rows = made_up_rows(weights, K, 1_000, seed=1)
    others = replace(rows, results=np.append(rows.results, np.full(300, 0.5, dtype=np.float32)))  # unfinished ones
    found, same = (learned(split(each, Settings())).gain for each in (rows, others))
    assert same == found and found.folds == 5
