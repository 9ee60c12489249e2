"""The tool that asks which figure foretells Elo."""

from pathlib import Path

import pytest

from tests.rows import SELFPLAY
from tools.foretell import ELO, ERROR, FIRST, RANK, correlations, main, table

MADE_UP = [{ELO: elo, ERROR: 1 - elo / 100, RANK: elo**3, FIRST: 0.5 - 0.1 * (elo == 5)} for elo in (-5.0, 0.0, 5.0)]


def test_a_figure_that_follows_elo_correlates_with_it_by_value_and_by_order() -> None:
    found = correlations(MADE_UP)
    assert found[ERROR] == pytest.approx((-1.0, -1.0))
    assert 0.9 < found[RANK][0] <= found[RANK][1] == pytest.approx(1.0)
    assert found[FIRST] == pytest.approx((-0.866, -0.866), abs=0.001), "equal figures share their place"


def test_the_figures_are_shown_with_the_weakest_first() -> None:
    lines = table({"good": MADE_UP[2], "bad": MADE_UP[0]})
    assert [line.split("|")[1].strip() for line in lines[2:4]] == ["bad", "good"]


def test_ways_to_learn_are_played_measured_and_found_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ways.toml"
    file.write_text(
        'start = "greko2015-before-training.txt"\ntests = ["own"]\n[match]\nnodes = 20\ngames = 4\n'
        f"[games.own]\nfile = '{SELFPLAY}'\n"
        '[recipes.tuned]\nweights = "tuned.txt"\n[recipes.default]\nweights = "default.txt"\n'
    )
    words = [str(file), "--state", str(tmp_path / "state"), "--positions", "10"]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert "| tuned |" in first and "| default |" in first and "| Figure |" in first
    assert main(words) == 0
    assert capsys.readouterr().out == first
