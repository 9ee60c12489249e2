"""What `learn` shows: lines as in the article, flags, a table for machines, the record and its pictures."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import learn_weights
from merino.app.shell.cli import main
from merino.app.shell.learn import run_learn, run_plot
from merino.core.common.command import CommandError, UsageError
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import SHIPPED, load, save
from merino.learn import judging
from merino.learn.fitting import FitCallback, Learned
from merino.learn.judging import learn
from merino.learn.loss_and_gradient import gather, scores_of
from merino.learn.plots import PICTURES, draw
from merino.learn.procedure import COLUMNS, fold
from merino.learn.report import RARE_GAMES, Seconds, Summary, WeightLine, calibration, load_record, render, summarise
from merino.learn.request import ARTICLE, Settings
from merino.learn.sample import FitParameters, sample_of
from tests.rows import FEW, few_games, labels_of, made_up_rows, selfplay_rows, some_games, split
from tests.shipped import article_weights, one_phase

BEFORE_TRAINING = SHIPPED / "greko2015-before-training.txt"
STEP = re.compile(r"\d+ 0\.\d{12} 0\.\d{12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d (\[\d+\.\d+\] -?\d+|K = .*)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where `learn` ran on the games that come with Merino."""
    folder = tmp_path_factory.mktemp("learned")
    save(folder / "weights.txt", load(BEFORE_TRAINING))
    lines: list[str] = []
    options = ["--phases", "1", "--no-cache", "--no-match", "--teacher", "off", "--per-game", "30"]
    words = [str(few_games(folder)), "6", str(len(TERMS)), "--weights", str(folder / "weights.txt"), *options]
    assert learn_weights(words, lines.append) == folder / "weights.txt"
    (folder / "shown.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_better_weights_are_left_with_the_command_that_proves_them(folder: Path) -> None:
    shown = (folder / "shown.txt").read_text()
    assert "Training set: " in shown and "Validation set: " in shown
    assert f"merino match '{folder / 'weights.txt'}' '{folder / 'weights.old'}' --sprt " in shown
    assert (folder / "learning.log").read_text() == shown
    assert (load(folder / "weights.old") == load(BEFORE_TRAINING)).all()


def test_the_summary_for_programs_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "weights.txt", one_phase())
    words = [str(few_games(tmp_path)), "--weights", str(tmp_path / "weights.txt"), "--out", f"{tmp_path}/out.txt"]
    assert run_learn([*words, "--json", "--no-cache"]) == 0
    summary = json.loads(capsys.readouterr().out)
    asked = "games positions k train_before train_after valid_before valid_after accepted seconds weights"
    assert set(asked.split()) <= set(summary)
    expected = {"name", "old", "new", "low", "high", "positions", "games", "clear", "flags", "table"}
    assert set(summary["weights"][0]) == expected
    assert summary["games"] == FEW
    assert summary["in_use"] is False


def test_the_article_is_followed_to_the_letter(tmp_path: Path) -> None:
    save(tmp_path / "weights.txt", load(BEFORE_TRAINING))
    lines: list[str] = []
    few, weights = str(few_games(tmp_path)), str(tmp_path / "weights.txt")
    words = [few, "6", "9", "--preset", "greko2015", "--weights", weights, "--no-cache", "--no-match"]
    learn_weights(words, lines.append)
    steps = [line for line in lines if STEP.fullmatch(line)]
    assert lines[lines.index("Start optimization...") + 1] == steps[0]
    assert steps[0].endswith("K = 150.0")
    assert f"Parameter 6 of {len(TERMS)}: PawnDoubled = -10" in lines
    assert any(" [1.7] -11" in line for line in steps)
    numbers = [int(line.split()[0]) for line in steps]
    assert numbers == list(range(len(steps)))
    errors = [float(line.split()[1]) for line in steps]
    assert errors == sorted(errors, reverse=True)


def test_the_error_of_the_article_is_the_root_of_the_weighted_sum_over_the_positions() -> None:
    rows = selfplay_rows()
    is_validation = np.zeros(len(rows), dtype=np.bool_)
    is_validation[::5] = True
    weights = load(BEFORE_TRAINING)
    sums = gather(sample_of(rows, is_validation, 20.0), FitParameters(weights, 1 / 150))
    error = 1 / (1 + np.exp(-(rows.features @ weights) / 256 / 150)) - labels_of(rows)
    weighted = np.exp(-rows.to_end / 20) * error**2
    expected = [np.sqrt(weighted[part].sum() / part.sum()) for part in (~is_validation, is_validation)]
    assert ARTICLE.errors(sums) == pytest.approx(expected, rel=1e-5)


def test_an_option_given_explicitly_overrides_the_article() -> None:
    for words in (["--preset", "greko2015", "--decay", "40"], ["--decay", "40", "--preset", "greko2015"]):
        settings = read_arguments(["games.pgn", *words]).request.settings
        assert (settings.decay, settings.k, settings.method) == (40.0, 150.0, "descent")


@pytest.mark.parametrize(
    "words",
    [["--method", "newton"], ["--decay", "0"], ["--prior", "-1"], ["--prior", "much"], ["--seed", "1.5"], ["--out"]],
)
def test_an_option_that_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match=r"^learn: "):
        read_arguments(["games.pgn", *words])


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_lists_every_option(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", word]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: merino learn FILE")
    assert "--decay PLIES|off" in shown and "--no-match" in shown
    assert len(shown.splitlines()) <= 60 and len(re.findall("(?m)^  --", shown)) <= 20


def test_odd_weights_are_flagged() -> None:
    truth = one_phase()
    truth[5], truth[22] = 150.0, -150.0  # PawnDoubled wants to be positive, RookMobility negative
    rows = made_up_rows(truth, 800.0, 40_000, seed=7)
    rows.features[:, 20] = 0
    rows.features[: 5 * RARE_GAMES // 2, 20] = 100  # Rook7th is rare
    rows.features[:, 13] = rows.features[:, 15]  # KnightCenter and KnightMobility go together
    settings = Settings(k=800.0, prior=0.0)
    sample = split(rows, settings)
    lines: dict[str, WeightLine] = {}
    learned = learn(sample, one_phase(), settings, FitCallback())
    for line in summarise(sample, learned, settings, 1, Seconds(0.0, 0.0)).weights:
        lines[line.name] = line
    assert "at its bound" in lines["PawnDoubled"].flags
    assert "sign against its meaning" in lines["RookMobility"].flags
    assert any(flag.startswith("rare: ") for flag in lines["Rook7th"].flags)
    assert "hard to tell from KnightMobility" in lines["KnightCenter"].flags
    assert "hard to tell from KnightCenter" in lines["KnightMobility"].flags
    assert lines["VAL_Q"].flags == ("frozen",)
    assert lines["Rook7th"].games < RARE_GAMES < lines["RookOpen"].games


def test_true_weights_are_well_calibrated_and_false_ones_are_not() -> None:
    rows = made_up_rows(article_weights(), 800.0, 40_000, seed=8)
    sample = sample_of(rows, np.ones(len(rows), dtype=np.bool_))
    sharp, true = (calibration(sample, FitParameters(article_weights(), 1 / k)) for k in (300.0, 800.0))
    assert sum(each.positions for each in true) == len(rows)
    misses = [np.mean([abs(each.scored - each.predicted) / each.error for each in bins]) for bins in (true, sharp)]
    assert misses[0] < 2 < misses[1]


def test_predictions_of_positions_that_weigh_nothing_are_not_calibrated() -> None:
    rows, everything = made_up_rows(article_weights(), 800.0, 2_000, seed=8), np.ones(2_000, dtype=np.bool_)
    scores = scores_of(sample_of(rows, everything), article_weights())
    is_early = scores < np.quantile(scores, 0.21)
    rows = replace(rows, to_end=np.where(is_early, 1_000, 0).astype(np.int16))
    sample = sample_of(rows, everything, decay=1.0)
    with np.errstate(all="raise"):
        bins = calibration(sample, FitParameters(article_weights(), 1 / 800))
    assert len(bins) == 16 and all(np.isfinite([each.predicted, each.scored, each.error]).all() for each in bins)


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


def test_random_moves_have_no_calibration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    save(tmp_path / "w.txt", load(BEFORE_TRAINING))
    words = [str(few_games(tmp_path)), "6", "8", "--phases", "1", "--weights", str(tmp_path / "w.txt"), "--no-cache"]
    learn_weights([*words, "--no-match"], lambda line: None)
    assert load_record(tmp_path / "learning.json")["calibration"] == {"before": [], "after": []}
    assert run_plot([str(tmp_path / "learning.json")]) == 0
    shown = capsys.readouterr()
    assert [Path(line).stem for line in shown.out.splitlines()] == ["learning-error", "learning-weights"]
    assert shown.err.startswith("plot: no picture of calibration: random-move positions")


@pytest.mark.parametrize("groups", [0, 1, 2, 3])
def test_the_picture_of_weights_has_a_panel_for_each_group_of_terms(groups: int) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    names = [f"group {number}" for number in range(groups)]
    record = {
        "terms": [{"name": name, "group": name} for name in names],
        "free": list(range(groups)),
        "steps": [{"weights": [0.0] * groups}, {"weights": [1.0] * groups}],
        "summary": {"weights": [{"name": name, "new": 1.0} for name in names]},
    }
    PICTURES["weights"](figure, record)
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == names


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot read"), ("{", "is not a record"), ('{"a": 1}', "is not a record")]
)
def test_what_is_no_record_is_not_drawn(tmp_path: Path, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "learning.json").write_text(content)
    with pytest.raises(CommandError, match=reason):
        run_plot([str(tmp_path / "learning.json")])


def test_nothing_is_drawn_for_a_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def drawn(*_: object) -> bytes:
        raise AssertionError("a picture is drawn")

    monkeypatch.setattr("merino.app.shell.learn.draw", drawn)
    with pytest.raises(CommandError, match=r"plot: cannot write '.*learning.json.*': "):
        run_plot([str(folder / "learning.json"), "--out", str(folder / "learning.json" / "plots")])


def test_thirty_games_are_too_few_to_leave_new_weights() -> None:
    rows = some_games(selfplay_rows(), np.arange(30))
    sample = split(rows, Settings())
    found = learn(sample, one_phase(), Settings(), FitCallback())
    assert not found.accepted
    assert np.abs(found.end.weights - one_phase()).max() < 20


@pytest.fixture(scope="module")
def summary() -> Summary:
    """Of a run in which most changes are noise, but not that of RookMobility."""
    truth = one_phase()
    truth[22] += 200
    rows = made_up_rows(truth, 800.0, 5_000, seed=9)
    settings = Settings(k=800.0, prior=0.0)
    sample = split(rows, settings)
    return summarise(sample, learn(sample, one_phase(), settings, FitCallback()), settings, 1000, Seconds(2.1, 12.3))


def test_a_report_fits_into_eighty_columns_and_breaks_no_word(folder: Path, summary: Summary) -> None:
    large = [
        replace(line, old=-1999.5, new=-2000.0, low=-2345.6, high=-1900.2, positions=123_456_789, games=999_999)
        for line in summary.weights
    ]
    lines = [part for line in render(replace(summary, weights=tuple(large))) for part in fold(line)]
    lines += [line for line in (folder / "shown.txt").read_text().splitlines() if not line.startswith("    ")]
    assert all(len(line) <= COLUMNS or re.search(r"\'.{40,}\'", line) for line in lines)
    assert sum(line.startswith("VAL_Q") for line in lines) == 2  # the rows of the table are whole


def test_long_lines_are_folded_between_words_and_commands_are_not() -> None:
    words = (
        ["a"] * 20
        + ["-79.1 +- 47.4"] * 6
        + ["'/a name/of two words'"]
        + ["supercalifragilistic"] * 9
        + ["x" * 90, "1,234.5"]
    )
    lines = fold("  " + " ".join(words))
    assert [word for line in lines for word in re.findall(r"'.*'|-79.1 \+- 47.4|\S+", line)] == words
    assert all(len(line) <= COLUMNS for line in lines if "x" not in line)
    assert lines[0].startswith("  a a") and all(line.startswith("    ") for line in lines[1:])
    assert fold(f"    merino match {'x ' * 50}") == [f"    merino match {'x ' * 50}"]


def test_whether_a_change_is_more_than_noise_is_a_column(summary: Summary) -> None:
    lines = {line.split()[0]: line for line in render(summary) if line[:1].isalpha() and " .. " in line}
    assert {line.clear for line in summary.weights} == {True, False, None}
    for line in summary.weights:
        assert not any("noise" in flag for flag in line.flags)
        if line.clear is not None:
            assert line.clear == (not line.low < line.old < line.high)
            assert lines[line.name].split()[-3] == ("yes" if line.clear else "no")
        else:
            assert line.old == line.new


def test_the_sentence_and_the_table_of_the_article_state_one_error() -> None:
    sample = split(selfplay_rows(), ARTICLE)
    learned = learn(sample, load(BEFORE_TRAINING), replace(ARTICLE, method="gauss-newton"), FitCallback())
    found = summarise(sample, learned, ARTICLE, 710, Seconds(0.5, 1.0))
    assert found.gain == pytest.approx(found.valid_before - found.valid_after, rel=1e-9)
    assert found.gain != pytest.approx(learned.gain.decrease, rel=0.05)
    assert found.gain / found.gain_error == pytest.approx(learned.gain.decrease / learned.gain.error)
    text = "\n".join(render(found, root_of_sum=True))
    assert text.count(f"{abs(found.gain):.6f}") == 2


def test_a_worse_result_is_called_so_with_what_may_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "weights.txt", one_phase())
    lines: list[str] = []

    def worse(*arguments: object) -> Summary:
        found = summarise(*arguments)  # type: ignore[arg-type]
        return replace(found, gain=-0.001, valid_after=found.valid_before + 0.001, accepted=False)

    monkeypatch.setattr(judging, "summarise", worse)
    monkeypatch.setattr(Learned, "accepted", False)
    learn_weights([str(few_games(tmp_path)), "--weights", str(tmp_path / "weights.txt"), "--no-cache"], lines.append)
    text = " ".join(lines)
    assert "the error rose by 0.001000" in text and "the error got worse" in text
    assert "What may help: more games" in text and "few.pgn" in text


def test_no_zero_has_a_sign(summary: Summary) -> None:
    odd = [replace(line, old=0.0, new=-0.0, low=-0.3, high=0.2, flags=()) for line in summary.weights]
    odd[0] = replace(odd[0], low=-0.001, high=-0.004)
    shown = replace(summary, weights=tuple(odd), train_before=0.1, train_after=0.1)
    assert not re.search(r"-0(?![.\d])|-0\.0+(?!\d)", "\n".join(render(shown)))


def test_rounded_weights_have_no_zero_with_a_sign() -> None:
    truth = one_phase()
    truth[5:] = np.clip(0.0, *np.array([term.bounds for term in TERMS[5:]]).T)
    sample = split(made_up_rows(truth, 800.0, 20_000, seed=3), Settings(k=800.0))
    end = learn(sample, truth, Settings(k=800.0), FitCallback()).end.weights
    assert (end == 0).any() and not np.signbit(end[end == 0]).any()


def test_the_picture_rounds_as_the_report_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    record = load_record(folder / "learning.json")
    name, index = "PawnDoubled", 5
    record["steps"][-1]["weights"][index] = 2.5  # rounded to 2 by itself
    record["summary"]["weights"][index]["new"] = 3.0
    record["summary"]["valid_after"] = 0.0123456
    shown = b"".join(draw(record, PICTURES[picture], "svg") for picture in ("weights", "error")).decode()
    assert f"<!-- {name} 3 -->" in shown
    assert "<!-- validation set: 0.012346 -->" in shown
    assert "<!-- Error by time -->" in shown
