"""Idle terms: found by a fit, set to 0, and listed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import DEFAULT_FILE, load
from merino.learn.fitting import FitCallback, chi_squared
from merino.learn.judging import learn, part_of_step
from merino.learn.request import Settings
from tests.rows import few_games, made_up_rows, split

NAMES = [term.name for term in TERMS]
IDLE = ("KnightOutpost", "RookOpen", "QueenKingTropism")
NEVER_DROPPED = NAMES[:5]  # the values of the pieces


def made_up_weights() -> np.ndarray:
    """Weights of one phase, large but for three terms and a piece that are 0, float64[terms]."""
    weights = np.array([np.clip(60.0 * (term.sign or 1), *term.bounds) for term in TERMS])
    weights[[NAMES.index(name) for name in (*IDLE, NEVER_DROPPED[-1])]] = 0.0
    return weights


def test_terms_that_the_games_know_nothing_of_are_left_out_and_all_others_kept() -> None:
    truth = made_up_weights()
    sample = split(made_up_rows(truth, 150.0, 60_000, seed=8), Settings())
    settings = Settings(first=1, phases=1, k=150.0, prior=0.0, drop=True)
    start = np.full(len(TERMS), 10.0) * [1 if term.bounds[1] > 0 else -1 for term in TERMS]
    learned = learn(sample, start, settings, FitCallback(), TERMS)
    found = {term.name: term for term in learned.dropped}
    assert set(IDLE) <= set(found) and set(found).isdisjoint(NEVER_DROPPED)
    assert len(found) <= len(IDLE) + 2, "of the others, chance alone lets few seem idle"
    assert all(term.evidence < term.needed for term in found.values())
    assert all(learned.end.weights[NAMES.index(name)] == 0 for name in found)
    assert abs(learned.end.weights - truth).max() < 15
    kept = learn(sample, start, Settings(first=1, phases=1, k=150.0, prior=0.0), FitCallback(), TERMS)
    assert kept.dropped == () and all(kept.end.weights[NAMES.index(name)] for name in IDLE)


def test_terms_that_are_left_out_weigh_nothing_at_any_share_of_the_step() -> None:
    sample = split(made_up_rows(made_up_weights(), 150.0, 20_000, seed=8), Settings())
    start = np.full(len(TERMS), 10.0) * [1 if term.bounds[1] > 0 else -1 for term in TERMS]
    settings = Settings(first=1, phases=1, k=150.0, prior=0.0, drop=True)
    learned = learn(sample, start, settings, FitCallback(), TERMS)
    dropped = [NAMES.index(term.name) for term in learned.dropped]
    part = part_of_step(sample, learned, 0.25).end.weights
    assert dropped and not part[dropped].any() and not np.array_equal(part, learned.end.weights)


@pytest.mark.parametrize(("degrees", "expected"), [(1, 3.841), (2, 5.991), (10, 18.307), (30, 43.773)])
def test_what_chance_exceeds_one_time_in_twenty_is_that_of_the_tables(degrees: int, expected: float) -> None:
    assert chi_squared(degrees) == pytest.approx(expected, rel=0.03)


def test_what_was_left_out_is_listed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games, weights = few_games(tmp_path), tmp_path / "mine.txt"
    weights.write_text(DEFAULT_FILE.read_text())
    words = ["learn", str(games), "--no-cache", "--teacher", "off", "--weights", str(weights)]
    words += ["--prior", "off", "--drop"]
    assert main([*words, "--no-match", "--json"]) in (0, 1)
    summary = json.loads(capsys.readouterr().out)
    names = [term["name"] for term in summary["dropped"]]
    assert names, "two hundred games cannot tell all terms"
    lines = {line["name"]: line for line in summary["weights"]}
    for name in names:
        both = [lines[name + suffix] for suffix in ("_mg", "_eg")]
        assert all(line["new"] == 0 and "left out" in line["flags"] for line in both)
    assert main([*words, "--no-match"]) in (0, 1)
    heard = " ".join(capsys.readouterr().out.split())
    assert "Left out, with weights of 0" in heard and f"{names[0]} (" in heard
    if summary["written"]:
        assert not load(weights)[NAMES.index(names[0])]
