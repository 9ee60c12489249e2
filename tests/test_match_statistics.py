"""Elo, its error, and the sequential test: against published values, closed forms and simulated matches."""

import math

import numpy as np
import pytest

from merino.match import prove, report, statistics
from merino.match.games import Tally
from tests.simulated_matches import SHAPES, coverage, shares_for, simulate_test

NORMALIZED, LOGISTIC = statistics.Model.NORMALIZED, statistics.Model.LOGISTIC


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "model", "expected"),
    [  # what fishtest shows for these counts
        ((379, 10170, 21828, 10640, 343), 0, 2, NORMALIZED, 2.94598),
        ((365, 16618, 36229, 16974, 390), 0, 2, NORMALIZED, 2.25),
        ((36027, 68692, 36433), 0, 2, NORMALIZED, 0.92),
        ((759, 1863, 880), 0, 5, LOGISTIC, 2.95),
        ((13, 37, 50, 25, 3), 0, 4, NORMALIZED, -0.54912),
        ((13, 37, 50, 25, 3), 0, 2.716, LOGISTIC, -0.5377),
    ],
)
def test_the_llr_is_the_one_that_fishtest_shows(counts, elo0, elo1, model, expected):
    assert float(statistics.llr(np.array(counts), elo0, elo1, model)) == pytest.approx(expected, abs=0.005)


def test_the_estimate_is_the_one_that_fishtest_shows():
    found = statistics.estimate(np.array([379, 10170, 21828, 10640, 343]))
    assert (found.normalized, found.normalized_error) == pytest.approx((3.05, 2.31), abs=0.005)
    found = statistics.estimate(np.array([759, 1863, 880]))
    assert (found.elo, found.elo_error, found.los) == pytest.approx((12.0, 7.9, 0.999), abs=0.05)


def test_elo_and_score_are_inverse_and_a_clean_score_is_infinite():
    for score in (0.01, 0.5, 0.75):
        assert statistics.score_of(statistics.elo_of(score)) == pytest.approx(score, abs=1e-12)
    assert (statistics.elo_of(1), statistics.elo_of(0), statistics.elo_of(0.5)) == (math.inf, -math.inf, 0)
    assert statistics.elo_of(10 / 11) == pytest.approx(400)


@pytest.mark.parametrize("model", list(statistics.Model))
def test_the_llr_turns_its_sign_with_the_players(model):
    counts = np.array([3, 20, 50, 28, 7])
    turned = float(statistics.llr(counts[::-1], -5, 3, model))
    assert float(statistics.llr(counts, -3, 5, model)) == pytest.approx(-turned, abs=1e-6)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0, 40), (40, 0, 0, 0, 0), (0, 0, 40, 0, 0), (0, 0, 0, 1, 0)])
@pytest.mark.parametrize("model", list(statistics.Model))
def test_the_llr_of_lopsided_results_is_finite_and_on_their_side(counts, model):
    ratio = float(statistics.llr(np.array(counts), -5, 5, model))
    assert math.isfinite(ratio) and ratio * sum(count * (index - 2) for index, count in enumerate(counts)) >= 0


def test_the_likelihood_of_superiority_is_that_of_wins_against_losses():
    for losses, draws, wins in ((0, 0, 1), (3, 9, 7), (120, 300, 150)):
        closed = 0.5 * (1 + math.erf((wins - losses) / math.sqrt(2 * (wins + losses))))
        assert statistics.estimate(np.array([losses, draws, wins])).los == pytest.approx(closed, abs=1e-3)


def test_a_pair_alone_is_no_certainty():
    for pairs in ((0, 0, 0, 1, 0), (0, 0, 0, 0, 1), (0, 0, 1, 0, 0)):
        found = statistics.estimate(np.array(pairs))
        assert found.elo_error > 500 and found.los < 0.9


def test_nothing_played_proves_nothing():
    found = statistics.estimate(np.zeros(5))
    assert (found.elo, found.los, found.elo_error) == (0, 0.5, math.inf)
    assert statistics.Sprt(0, 5).verdict(np.zeros(5)) == ""


def test_the_bounds_are_those_of_wald():
    assert statistics.Sprt(0, 5).bounds == pytest.approx((-2.944439, 2.944439), abs=1e-6)
    assert statistics.Sprt(0, 5, alpha=0.05, beta=0.10).bounds == pytest.approx((-2.251, 2.890), abs=1e-3)


@pytest.mark.parametrize(("beyond", "verdict"), [(-0.01, ""), (0.0, "decided"), (0.01, "decided")])
def test_a_verdict_falls_on_the_bound_itself(monkeypatch, beyond, verdict):
    sprt, counts = statistics.Sprt(0, 5, alpha=0.05, beta=0.10), np.zeros(5)
    for bound, hypothesis, direction in zip(sprt.bounds, ("H0", "H1"), (-1, 1), strict=True):
        monkeypatch.setattr(statistics.Sprt, "llr", lambda *_, ratio=bound + direction * beyond: ratio)
        assert sprt.verdict(counts) == (hypothesis if verdict else "")


@pytest.mark.parametrize("model", list(statistics.Model))
def test_the_test_errs_about_as_often_as_promised(model):
    sprt, random = statistics.Sprt(-20, 20, alpha=0.05, beta=0.10, model=model), np.random.default_rng(4)
    matches = 400
    shares = {elo: shares_for(SHAPES["many draws"], elo, model) for elo in (-20, 20)}
    wrong = {elo: simulate_test(sprt, shares[elo], matches, random) for elo in shares}
    three_sigma = 3 * math.sqrt(0.1 * 0.9 / matches)
    assert 0.01 < wrong[-20].accepted / matches < 0.05 + three_sigma
    assert 0.02 < 1 - wrong[20].accepted / matches < 0.10 + three_sigma


@pytest.mark.parametrize("shape", list(SHAPES))
def test_the_error_bars_cover_the_truth_in_95_of_100_matches(shape):
    shares = shares_for(SHAPES[shape], 20.0, LOGISTIC)
    assert coverage(shares, 200, 2000, np.random.default_rng(5)) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("of", [5, 30])
def test_a_wilson_interval_is_two_deviations_wide_and_covers_95_of_100(of):
    counts, truth = np.arange(of + 1), np.linspace(0.02, 0.98, 97)[:, None]
    low, high = statistics.wilson_interval(counts / of, of)
    for end in (low, high):
        assert np.abs(counts / of - end) == pytest.approx(
            statistics.Z_95 * np.sqrt(np.abs(end * (1 - end)) / of), abs=1e-7
        )
    ways = np.array([math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1) for k in counts])
    chances = np.exp(ways + counts * np.log(truth) + (of - counts) * np.log(1 - truth))
    assert (chances * ((low <= truth) & (truth <= high))).sum(axis=1).mean() == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(("freedom", "quantile"), [(4, 2.776), (10, 2.228), (30, 2.042), (10**6, 1.95996)])
def test_the_quantile_of_student_is_the_one_in_tables(freedom, quantile):
    assert statistics.t_95(freedom) == pytest.approx(quantile, rel=0.003)


@pytest.mark.parametrize("model", list(statistics.Model))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_llr_is_finite_for_any_counts(model):
    random = np.random.default_rng(6)
    for pairs in (8, 100, 5000):
        for shares in (*SHAPES.values(), (0.001, 0.01, 0.1, 0.4, 0.489), (0, 0, 0, 0.5, 0.5)):
            assert np.isfinite(statistics.llr(random.multinomial(pairs, shares, 500), 0, 100, model)).all()


@pytest.mark.parametrize("model", list(statistics.Model))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_test_at_its_widest_bounds_decides_for_the_better_one(model):
    most = statistics.MAX_ELO[model]
    for sprt, wanted in ((statistics.Sprt(0, most, model=model), -1), (statistics.Sprt(-most, 0, model=model), 1)):
        for pairs in ((0, 0, 1, 0, 0), (10, 20, 40, 20, 10), (0, 0, 5000, 0, 0)):
            assert math.copysign(1, sprt.llr(np.array(pairs))) == wanted
    clean = np.array([0, 0, 0, 0, 40])
    assert statistics.Sprt(0, most, model=model).verdict(clean) == "H1"
    assert statistics.Sprt(-most, 0, model=model).verdict(clean[::-1]) == "H0"


def test_bounds_beyond_what_the_test_can_decide_are_refused():
    for elo, model in ((201, NORMALIZED), (300, NORMALIZED), (2001, LOGISTIC), (200_000, LOGISTIC)):
        with pytest.raises(ValueError, match="elo1 must be a number from -"):
            statistics.Sprt(0, elo, model=model)
        with pytest.raises(ValueError, match="elo0 must be a number from -"):
            statistics.Sprt(-elo, 0, model=model)


def test_the_time_left_is_shown_once_the_speed_is_known():
    tally = Tally()
    tally.points[1] = 100
    assert "left" not in report.live_line(tally, 1100, None)
    assert report.live_line(tally, 1100, 2.0).endswith("2 games/s, 8 min left")


def test_games_against_oneself_show_no_strength():
    tally = Tally()
    tally.points[:] = 3, 4, 5
    assert report.count_line(tally, 20, None) == "12/20  4 drawn"
    assert report.count_line(tally, 20, 2.0) == "12/20  4 drawn  2 games/s, 4 s left"


def test_strength_without_an_interval_is_shown_in_words():
    assert report.signed(12.34, 5.6) == "+12.3 +- 5.6"
    assert report.signed(-5e-14, 5.6) == "+0.0 +- 5.6"
    assert (report.signed(636.4, math.inf), report.signed(-636.4, math.inf)) == ("+636 or far more", "-636 or far less")
    assert report.signed(0.0, math.inf) == "not known"
    assert report.signed(math.inf, math.inf) == "+inf"


def test_the_llr_of_a_few_equal_pairs_has_no_sign():
    tally, sprt = Tally(), statistics.Sprt(0, 5)
    tally.points[1], tally.pairs[2] = 8, 4
    assert -0.005 < sprt.llr(tally.counts) < 0
    assert "LLR 0.00 (-2.94, 2.94)" in report.live_line(tally, 100, None, sprt)
    assert "LLR   | 0.00 (-2.94, 2.94)" in "\n".join(report.evidence("", tally, sprt))
    proof = prove.Proof(prove.STRONGER, "", tally, 1.0, False)
    assert "LLR 0.00, decided" in "\n".join(prove._lines_of(proof, "new", "old"))
