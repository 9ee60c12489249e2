"""What `learn` tells: lines as in the article, flags, a table for machines, the record and its pictures."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from engine.command import CommandError, UsageError
from eval.registry import TERMS
from eval.weights import SHIPPED, defaults, load, save
from learn.calibration import calibration
from learn.command import learn_weights, run_learn
from learn.command_plot import run_plot
from learn.fit import Watcher
from learn.learning import ARTICLE, Settings, learn, split
from learn.options import OPTIONS, read_order
from learn.passes import gather
from learn.report import RARE_GAMES, WeightLine, summarise
from learn.sample import Point, sample_of
from tests.rows import SELFPLAY, made_up_rows, selfplay_rows, some_games

BEFORE_TRAINING = SHIPPED / "greko2015-before-training.txt"
STEP = re.compile(r"\d+ 0\.\d{12} 0\.\d{12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d (\[\d+\.\d+\] -?\d+|K = .*)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where `learn` ran on the games that come with Merino."""
    folder = tmp_path_factory.mktemp("learned")
    save(folder / "weights.txt", load(BEFORE_TRAINING))
    lines: list[str] = []
    words = [str(SELFPLAY), "--weights", str(folder / "weights.txt"), "--no-fen", "--csv", str(folder / "w.csv")]
    assert learn_weights(words, lines.append) == folder / "weights.txt"
    (folder / "shown.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_the_example_of_the_readme_leaves_better_weights_and_tells_how_to_prove_it(folder: Path) -> None:
    shown = (folder / "shown.txt").read_text()
    assert "Training set: " in shown and "Validation set: " in shown
    assert f"merino match '{folder / 'weights.txt'}' '{folder / 'weights.old'}' --sprt " in shown
    assert (folder / "learning.log").read_text() == shown
    assert (load(folder / "weights.old") == load(BEFORE_TRAINING)).all()


def test_the_table_for_machines_holds_the_weights_that_were_written(folder: Path) -> None:
    lines = list(csv.DictReader((folder / "w.csv").read_text().splitlines()))
    assert [line["name"] for line in lines] == [term.name for term in TERMS]
    assert [float(line["new"]) for line in lines] == load(folder / "weights.txt").tolist()
    assert all(float(line["low"]) <= float(line["new"]) <= float(line["high"]) for line in lines)
    assert all(line["flags"] == "frozen" for line in lines[:5])


def test_the_summary_for_programs_is_one_object_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "weights.txt", defaults())
    words = [str(SELFPLAY), "--weights", str(tmp_path / "weights.txt"), "--dry-run", "--json", "--no-fen"]
    learn_weights(words)
    summary = json.loads(capsys.readouterr().out)
    asked = "games positions k train_before train_after valid_before valid_after accepted seconds weights"
    assert set(asked.split()) <= set(summary)
    assert set(summary["weights"][0]) == {"name", "old", "new", "low", "high", "positions", "games", "flags"}
    assert summary["games"] == len(selfplay_rows().results)
    assert summary["written"] is None


def test_the_article_is_followed_to_the_letter(tmp_path: Path) -> None:
    save(tmp_path / "weights.txt", load(BEFORE_TRAINING))
    lines: list[str] = []
    words = [str(SELFPLAY), "6", "9", "--article", "--weights", str(tmp_path / "weights.txt"), "--no-fen", "--dry-run"]
    learn_weights(words, lines.append)
    steps = [line for line in lines if STEP.fullmatch(line)]
    assert lines[lines.index("Start optimization...") + 1] == steps[0]
    assert steps[0].endswith("K = 150.0")
    assert "Parameter 6 of 27: PawnDoubled = -10" in lines
    assert any(" [1.7] -11" in line for line in steps)
    numbers = [int(line.split()[0]) for line in steps]
    assert numbers == list(range(len(steps)))
    errors = [float(line.split()[1]) for line in steps]
    assert errors == sorted(errors, reverse=True)


def test_the_error_of_the_article_is_the_root_of_the_weighted_sum_over_the_positions() -> None:
    rows = selfplay_rows()
    held = np.zeros(len(rows), dtype=np.bool_)
    held[::5] = True
    weights = load(BEFORE_TRAINING)
    sums = gather(sample_of(rows, held, 20.0), Point(weights, 1 / 150))
    error = 1 / (1 + np.exp(-(rows.features @ weights) / 256 / 150)) - rows.labels()
    weighted = np.exp(-rows.to_end / 20) * error**2
    expected = [np.sqrt(weighted[part].sum() / part.sum()) for part in (~held, held)]
    assert ARTICLE.errors(sums) == pytest.approx(expected, rel=1e-5)


def test_what_is_asked_for_by_itself_holds_beside_the_article() -> None:
    for words in (["--article", "--lambda", "40"], ["--lambda", "40", "--article"]):
        settings = read_order(["games.pgn", *words]).settings
        assert (settings.lam, settings.k, settings.method) == (40.0, 150.0, "descent")


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "newton"],
        ["--loss", "cubed"],
        ["--lambda", "0"],
        ["--k", "none"],
        ["--prior", "-1"],
        ["--bootstrap", "1"],
        ["--seed", "1.5"],
        ["--split", "move"],
        ["--csv"],
        ["--json", "--csv", "-"],
    ],
)
def test_an_option_that_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match=r"^learn: "):
        read_order(["games.pgn", *words])


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_lists_every_option(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_learn([word]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: merino learn FILE")
    assert all(f"\n  {name} " in shown for name in OPTIONS)


def test_what_is_odd_about_a_weight_is_told() -> None:
    truth = defaults()
    truth[5], truth[22] = 150.0, -150.0  # PawnDoubled wants to be positive, RookMobility negative
    rows = made_up_rows(truth, 800.0, 40_000, seed=7)
    rows.features[:, 20] = 0
    rows.features[: 5 * RARE_GAMES // 2, 20] = 100  # Rook7th is rare
    rows.features[:, 13] = rows.features[:, 15]  # KnightCenter and KnightMobility go together
    settings = Settings(k=800.0, prior=0.0)
    sample = split(rows, settings)
    lines: dict[str, WeightLine] = {}
    for line in summarise(sample, learn(sample, defaults(), settings, Watcher()), settings, 1, 0.0).weights:
        lines[line.name] = line
    assert "at its bound" in lines["PawnDoubled"].flags
    assert "sign against its meaning" in lines["RookMobility"].flags
    assert any(flag.startswith("rare: ") for flag in lines["Rook7th"].flags)
    assert "hard to tell from KnightMobility" in lines["KnightCenter"].flags
    assert "hard to tell from KnightCenter" in lines["KnightMobility"].flags
    assert lines["VAL_Q"].flags == ("frozen",)
    assert lines["Rook7th"].games < RARE_GAMES < lines["RookOpen"].games


def test_true_weights_are_well_calibrated_and_false_ones_are_not() -> None:
    rows = made_up_rows(defaults(), 800.0, 40_000, seed=8)
    sample = sample_of(rows, np.ones(len(rows), dtype=np.bool_))
    sharp, true = (calibration(sample, Point(defaults(), 1 / k)) for k in (300.0, 800.0))
    assert sum(each.positions for each in true) == len(rows)
    misses = [np.mean([abs(each.scored - each.predicted) / each.error for each in bins]) for bins in (true, sharp)]
    assert misses[0] < 2 < misses[1]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_run_is_drawn_from_its_record(folder: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run_plot([str(folder / "learning.json"), "--out", str(folder / "plots"), "--format", ending]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [file.name for file in files] == [
        f"learning-{name}.{ending}" for name in ("error", "weights", "calibration")
    ]
    starts = {"png": b"\x89PNG", "svg": b"<?xml"}
    assert all(file.read_bytes().startswith(starts[ending]) for file in files)


@pytest.mark.parametrize(("content", "reason"), [(None, "cannot read"), ("{", "no record"), ('{"a": 1}', "no record")])
def test_what_is_no_record_is_not_drawn(tmp_path: Path, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "learning.json").write_text(content)
    with pytest.raises(CommandError, match=reason):
        run_plot([str(tmp_path / "learning.json")])


def test_nothing_is_drawn_for_a_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def drawn(*_: object) -> bytes:
        raise AssertionError("a picture is drawn")

    monkeypatch.setattr("learn.command_plot.draw", drawn)
    with pytest.raises(CommandError, match=r"plot: cannot write '.*learning.json.*': "):
        run_plot([str(folder / "learning.json"), "--out", str(folder / "learning.json" / "plots")])


def test_thirty_games_are_too_few_to_leave_new_weights() -> None:
    rows = some_games(selfplay_rows(), np.arange(30))
    sample = split(rows, Settings())
    found = learn(sample, defaults(), Settings(), Watcher())
    assert not found.accepted
    assert np.abs(found.end.weights - defaults()).max() < 20
