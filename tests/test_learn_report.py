"""What `learn` shows: lines as in the article, flags, a table for machines, the record and its pictures."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from merino.app.console.learning import carry_out, learn_weights, read_arguments, run_learn
from merino.app.shell.cli import main
from merino.core.common.command import CommandError
from merino.eval.evaluation import EvaluationError
from merino.eval.linear import family, registry
from merino.eval.linear.weights import SHIPPED, load, save
from merino.lab import plots
from merino.lab.plots import run_plot
from merino.learn import judging, procedure, reading
from merino.learn import request as requests
from merino.learn.judging import RARE_GAMES, Summary, Way, belief, learn, load_record, render, summarise
from merino.learn.procedure import earlier_weights
from merino.learn.sample import FitParameters, gather, sample_of, split
from merino.match import players, prove, statistics
from merino.match.config import MatchConfig, TimeControl
from tests.rows import FEW, SELFPLAY, few_games, labels_of, made_up_rows, selfplay_rows
from tests.shipped import one_phase

BEFORE_TRAINING = SHIPPED / "greko2015-before-training.txt"
STEP = re.compile(r"\d+ 0\.\d{12} 0\.\d{12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d (\[\d+\.\d+\] -?\d+|K = .*)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where `learn` ran on the games that come with Merino."""
    folder = tmp_path_factory.mktemp("learned")
    save(folder / "weights.txt", load(BEFORE_TRAINING))
    lines: list[str] = []
    options = ["--phases", "1", "--no-match", "--teacher", "off", "--per-game", "30"]
    words = [str(few_games(folder)), "6", str(len(registry.TERMS)), "--weights", str(folder / "weights.txt"), *options]
    assert learn_weights(words, lines.append) == folder / "weights.txt"
    (folder / "shown.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_better_weights_are_left_with_the_command_that_proves_them(folder):
    shown = (folder / "shown.txt").read_text()
    (_, old), *_ = earlier_weights(folder / "weights.txt")
    assert f"merino match '{folder / 'weights.txt'}' '{old}' --sprt " in shown
    logged = (folder / "learning.log").read_text()
    assert "Training set: " in logged and "Training set: " not in shown
    assert [line for line in logged.splitlines() if line in shown.splitlines()] == shown.splitlines()
    assert (load(old) == load(BEFORE_TRAINING)).all()


def test_the_summary_for_programs_is_one_object(tmp_path, capsys):
    save(tmp_path / "weights.txt", one_phase())
    words = [str(few_games(tmp_path)), "--weights", str(tmp_path / "weights.txt"), "--out", f"{tmp_path}/out.txt"]
    assert run_learn([*words, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    asked = "games positions k train_before train_after valid_before valid_after accepted seconds weights"
    assert set(asked.split()) <= set(summary)
    expected = {"name", "old", "new", "low", "high", "positions", "games", "clear", "flags", "table"}
    assert set(summary["weights"][0]) == expected
    assert summary["games"] == FEW
    assert summary["in_use"] is False


def test_the_article_is_followed_to_the_letter(tmp_path):
    save(tmp_path / "weights.txt", load(BEFORE_TRAINING))
    lines: list[str] = []
    few, weights = str(few_games(tmp_path)), str(tmp_path / "weights.txt")
    learn_weights([few, "6", "9", "--preset", "greko2015", "--weights", weights, "--no-match"], lines.append)
    steps = [line for line in lines if STEP.fullmatch(line)]
    assert lines[lines.index("Start optimization...") + 1] == steps[0]
    assert steps[0].endswith("K = 150.0")
    assert f"Parameter 6 of {len(registry.TERMS)}: PawnDoubled = -10" in lines
    assert any(" [1.7] -11" in line for line in steps)
    assert [int(line.split()[0]) for line in steps] == list(range(len(steps)))
    errors = [float(line.split()[1]) for line in steps]
    assert errors == sorted(errors, reverse=True)


def test_the_error_of_the_article_is_the_root_of_the_weighted_sum_over_the_positions():
    rows = selfplay_rows()
    is_validation = np.zeros(len(rows), dtype=np.bool_)
    is_validation[::5] = True
    weights = load(BEFORE_TRAINING)
    sums = gather(sample_of(rows, is_validation, 20.0), FitParameters(weights, 1 / 150))
    error = 1 / (1 + np.exp(-(rows.features @ weights) / 256 / 150)) - labels_of(rows)
    weighted = np.exp(-rows.to_end / 20) * error**2
    expected = [np.sqrt(weighted[part].sum() / part.sum()) for part in (~is_validation, is_validation)]
    assert sums.errors(root_of_sum=True) == pytest.approx(expected, rel=1e-5)


def test_an_option_given_explicitly_overrides_the_article():
    for words in (["--preset", "greko2015", "--decay", "40"], ["--decay", "40", "--preset", "greko2015"]):
        settings = read_arguments(["games.pgn", *words]).request.settings
        assert (settings.decay, settings.k, settings.method) == (40.0, 150.0, "descent")


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_lists_every_option(word, capsys):
    assert main(["learn", word]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: merino learn FILE")
    assert "--decay PLIES|off" in shown and "--no-match" in shown
    assert len(shown.splitlines()) <= 60 and len(re.findall("(?m)^  --", shown)) <= 20


def test_odd_weights_are_flagged():
    truth = one_phase()
    truth[5], truth[22] = 150.0, -150.0  # PawnDoubled wants to be positive, RookMobility negative
    rows = made_up_rows(truth, 800.0, 40_000, seed=7)
    rows.features[:, 20] = 0
    rows.features[: 5 * RARE_GAMES // 2, 20] = 100  # Rook7th is rare
    settings = requests.Settings(k=800.0, prior=0.0)
    sample = split(rows, settings)
    lines = {line.name: line for line in summarise(sample, learn(sample, one_phase(), settings), settings).weights}
    for name, flag in (
        ("PawnDoubled", "at its bound"),
        ("RookMobility", "sign against its meaning"),
        ("Rook7th", "rare: "),
    ):
        assert any(each.startswith(flag) for each in lines[name].flags), name
    assert lines["VAL_Q"].flags == ("frozen",)
    assert lines["Rook7th"].games < RARE_GAMES < lines["RookOpen"].games


def test_a_run_is_drawn_from_its_record(folder, capsys):
    pytest.importorskip("matplotlib")
    assert run_plot([str(folder / "learning.json"), "--out", str(folder / "plots"), "--format", "svg"]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [file.name for file in files] == [f"learning-{name}.svg" for name in ("error", "weights")]
    assert all(file.read_bytes().startswith(b"<?xml") for file in files)


@pytest.mark.parametrize("groups", [0, 1, 2, 3])
def test_the_picture_of_weights_has_a_panel_for_each_group_of_terms(groups):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    names = [f"group {number}" for number in range(groups)]
    record = {
        "terms": [{"name": name, "group": name} for name in names],
        "free": list(range(groups)),
        "steps": [{"weights": [0.0] * groups}, {"weights": [1.0] * groups}],
        "summary": {"weights": [{"name": name, "new": 1.0} for name in names]},
    }
    plots.LEARN_PICTURES["weights"](figure, record)
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == names


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot read"), ("{", "is not a record"), ('{"a": 1}', "is not a record")]
)
def test_what_is_no_record_is_not_drawn(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "learning.json").write_text(content)
    with pytest.raises(requests.LearnError, match=reason):
        run_plot([str(tmp_path / "learning.json")])


def test_nothing_is_drawn_for_a_folder_that_cannot_be_written(folder, monkeypatch):
    pytest.importorskip("matplotlib")

    def drawn(*_: object) -> bytes:
        raise AssertionError("a picture is drawn")

    monkeypatch.setattr("merino.lab.plots.draw", drawn)
    with pytest.raises(CommandError, match=r"^cannot write '.*learning.json.*': "):
        run_plot([str(folder / "learning.json"), "--out", str(folder / "learning.json" / "plots")])


@pytest.fixture(scope="module")
def summary() -> Summary:
    """Of a run in which most changes are noise, but not that of RookMobility."""
    truth = one_phase()
    truth[22] += 200
    rows = made_up_rows(truth, 800.0, 5_000, seed=9)
    settings = requests.Settings(k=800.0, prior=0.0)
    sample = split(rows, settings)
    return summarise(sample, learn(sample, one_phase(), settings), settings)


def test_a_report_fits_into_eighty_columns_and_breaks_no_word(folder, summary):
    large = [
        replace(line, old=-1999.5, new=-2000.0, low=-2345.6, high=-1900.2, positions=123_456_789, games=999_999)
        for line in summary.weights
    ]
    lines = [part for line in render(replace(summary, weights=tuple(large))) for part in procedure.fold(line)]
    lines += [line for line in (folder / "learning.log").read_text().splitlines() if not line.startswith("    ")]
    assert all(len(line) <= procedure.COLUMNS or re.search(r"\'.{40,}\'", line) for line in lines)
    assert sum(line.startswith("VAL_Q") for line in lines) == 2  # the rows of the table are whole


def test_long_lines_are_folded_between_words_and_commands_are_not():
    words = ["a"] * 20 + ["-79.1", "+-", "47.4"] * 6 + ["super-fragilistic"] * 9 + ["x" * 90, "1,234.5"]
    lines = procedure.fold("  " + " ".join(words))
    assert [word for line in lines for word in line.split()] == words
    assert all(len(line) <= procedure.COLUMNS for line in lines if "x" not in line)
    assert lines[0].startswith("  a a") and all(line.startswith("    ") for line in lines[1:])
    assert procedure.fold(f"    merino match {'x ' * 50}") == [f"    merino match {'x ' * 50}"]


def test_whether_a_change_is_more_than_noise_is_a_column(summary):
    lines = {line.split()[0]: line for line in render(summary) if line[:1].isalpha() and " .. " in line}
    assert {line.clear for line in summary.weights} == {True, False, None}
    for line in summary.weights:
        assert not any("noise" in flag for flag in line.flags)
        if line.clear is not None:
            assert line.clear == (not line.low < line.old < line.high)
            assert lines[line.name].split()[-3] == ("yes" if line.clear else "no")
        else:
            assert line.old == line.new


def test_the_sentence_and_the_table_of_the_article_state_one_error():
    sample = split(selfplay_rows(), requests.ARTICLE)
    learned = learn(sample, load(BEFORE_TRAINING), replace(requests.ARTICLE, method="gauss-newton"))
    found = summarise(sample, learned, requests.ARTICLE)
    assert found.gain == pytest.approx(found.valid_before - found.valid_after, rel=1e-9)
    assert found.gain != pytest.approx(learned.gain.decrease, rel=0.05)
    assert found.gain / found.gain_error == pytest.approx(learned.gain.decrease / learned.gain.error)
    assert "\n".join(render(found, root_of_sum=True)).count(f"{abs(found.gain):.6f}") == 2


def test_games_that_teach_nothing_end_in_lines_that_say_so_and_what_helps(tmp_path):
    lines, weights = list[str](), tmp_path / "weights.txt"
    save(weights, load(SHIPPED / "default.txt"))
    assert learn_weights([str(few_games(tmp_path)), "--weights", str(weights)], lines.append) is None
    for said in (
        "teach these weights: no gain is to be",
        "weights stay as they were",
        "merino profile",
        "merino drill",
    ):
        assert said in " ".join(lines) and len(lines) < 16
    assert "KnightCenter" in (tmp_path / "learning.log").read_text()


@pytest.mark.parametrize(("fall", "accepted", "expected"), [(0.4, True, True), (0.01, True, False), (0.4, False, 0)])
def test_a_gain_is_expected_where_much_of_the_error_is_gone(fall, accepted, expected):
    learned = SimpleNamespace(gain=judging.Gain(fall, 0.0), before=SimpleNamespace(valid=1.0), accepted=accepted)
    assert (judging.expected_gain(learned, requests.LearnRequest(("games.pgn",))) > 0) == expected
    assert judging.expected_gain(learned, requests.LearnRequest(("games.pgn",), teacher=None)) is None


def test_no_zero_has_a_sign(summary):
    odd = [replace(line, old=0.0, new=-0.0, low=-0.3, high=0.2, flags=()) for line in summary.weights]
    odd[0] = replace(odd[0], low=-0.001, high=-0.004)
    shown = replace(summary, weights=tuple(odd), train_before=0.1, train_after=0.1)
    assert not re.search(r"-0(?![.\d])|-0\.0+(?!\d)", "\n".join(render(shown)))


def test_rounded_weights_have_no_zero_with_a_sign():
    truth = one_phase()
    truth[5:] = np.clip(0.0, *np.array([term.bounds for term in registry.TERMS[5:]]).T)
    sample = split(made_up_rows(truth, 800.0, 20_000, seed=3), requests.Settings(k=800.0))
    end = learn(sample, truth, requests.Settings(k=800.0)).end.weights
    assert (end == 0).any() and not np.signbit(end[end == 0]).any()


def test_the_picture_rounds_as_the_report_does(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    record = load_record(folder / "learning.json")
    name, index = "PawnDoubled", 5
    record["steps"][-1]["weights"][index] = 2.5  # rounded to 2 by itself
    record["summary"]["weights"][index]["new"] = 3.0
    record["summary"]["valid_after"] = 0.0123456
    shown = b"".join(
        plots.draw(record, plots.LEARN_PICTURES[picture], "svg") for picture in ("weights", "error")
    ).decode()
    assert f"<!-- {name} 3 -->" in shown
    assert "<!-- validation set: 0.012346 -->" in shown
    assert "<!-- Error by time -->" in shown


FAST = TimeControl(nodes=20)
TINY = prove.Heats(rounds=(4, 2), time_control=FAST)


def without_pieces() -> np.ndarray:
    """Weights for which a queen is worth a pawn."""
    values = one_phase()
    values[:5] = 100.0
    return values


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.txt"
    save(path, without_pieces())
    return path


def player(name: str, values: np.ndarray) -> players.OwnPlayer:
    return players.OwnPlayer(name, family.LinearEvaluation(values))


def test_the_plain_command_asks_for_the_default_request():
    assert read_arguments(["a.pgn"]).request == requests.LearnRequest(("a.pgn",))


def test_the_preset_is_the_article_with_one_phase_all_positions_and_no_teacher():
    request = read_arguments(["a.pgn", "--preset", "greko2015"]).request
    assert (request.settings, request.selection) == (requests.ARTICLE, requests.Selection())
    assert (request.choice, request.teacher) == (requests.NO_CHOICE, None)
    assert request.settings.phases == 1 and not request.settings.target.needs_scores


@pytest.mark.parametrize(
    ("words", "target", "teacher", "has_random_moves"),
    [
        ([], requests.Target(0.0), requests.DEFAULT_TEACHER, True),
        (["--teacher", "gen1"], requests.Target(0.0), "gen1", True),
        (["--target", "search", "--teacher", "gen12"], requests.Target(0.0), "gen12", True),
        (["--teacher", "off"], requests.Target(1.0), None, False),
        (["--target", "search"], requests.Target(0.0), None, False),
        (["--target", "result"], requests.Target(1.0), None, False),
        (["--target", "blend=0.5", "--teacher", "gen12"], requests.Target(0.5), "gen12", False),
        (["--preset", "greko2015", "--teacher", "gen1"], requests.Target(0.0), "gen1", False),
    ],
)
def test_target_and_teacher_follow_from_each_other(words, target, teacher, has_random_moves):
    request = read_arguments(["a.pgn", *words]).request
    assert request.has_random_moves is has_random_moves
    assert (request.settings.target, request.teacher) == (target, teacher)


def test_the_report_names_whose_scores_teach():
    for words, name in (([], "gen12"), (["--target", "search"], "a search")):
        request, _ = reading.prepared(read_arguments(["a.pgn", *words]).request, registry.TERMS, [], print)
        assert request.settings.target.describe() == f"the score of {name}"


def test_a_teacher_that_is_not_there_is_refused_in_a_sentence(weights):
    with pytest.raises(EvaluationError, match="there is no net 'gen99'"):
        learn_weights([str(SELFPLAY), "--teacher", "gen99", "--weights", str(weights)], lambda line: None)


def test_of_several_players_the_strongest_comes_out_of_the_heats():
    weak = without_pieces()
    found = prove.play_heats(
        [player("weak", weak), player("strong", one_phase()), player("as weak", weak)],
        player("old", weak),
        prove.Heats(rounds=(20, 10), time_control=TimeControl(nodes=100)),
    )
    assert found.best == 1 and not found.interrupted
    assert [2 * int(pairs.sum()) for pairs in found.pairs].count(20) == 1, "one of three is out after a round"


def heats_with(monkeypatch: pytest.MonkeyPatch, interrupted_at: int = -1) -> list[tuple[str, int]]:
    """Let the player "good" win every match of heats, the others none; the players and seeds of those played."""
    played: list[tuple[str, int]] = []

    def run_match(config: MatchConfig, *_: object) -> SimpleNamespace:
        name = config.players[0].label
        played.append((name, config.seed))
        tally = SimpleNamespace(pairs=pairs(0, 0, 0, 0, 4) if name == "good" else pairs(4, 0, 0, 0, 0))
        return SimpleNamespace(tally=tally, interrupted=len(played) == interrupted_at)

    monkeypatch.setattr("merino.match.runner.run_match", run_match)
    return played


def test_players_of_a_round_have_the_same_openings_and_each_round_has_others(monkeypatch):
    played, weights = heats_with(monkeypatch), one_phase()
    found = prove.play_heats([player(name, weights) for name in ("bad", "good", "poor")], player("old", weights), TINY)
    assert [int(pairs.sum()) for pairs in found.pairs] == [8, 8, 4] and found.best == 1
    assert [name for name, _ in played] == ["bad", "good", "poor", "good", "bad"]
    assert len({seed for _, seed in played[:3]}) == 1 == len({seed for _, seed in played[3:]})
    assert played[0][1] != played[3][1]


def test_interrupted_heats_give_the_best_so_far(monkeypatch):
    heats_with(monkeypatch, interrupted_at=3)
    weights = one_phase()
    found = prove.play_heats([player(name, weights) for name in ("bad", "good", "poor")], player("old", weights), TINY)
    assert (found.best, found.interrupted) == (1, True)


def test_a_share_of_a_step_is_tried_only_if_it_is_accepted_too(monkeypatch):
    monkeypatch.setattr(judging, "part_of_step", lambda *step: SimpleNamespace(accepted=step[-1] > 0.3))
    whole: Any = SimpleNamespace(accepted=True)
    sample: Any = None
    assert [way.share for way in judging._with_shares(sample, whole, (1.0, 0.5, 0.25))] == [1.0, 0.5]


def pairs(*half_points: int) -> np.ndarray:
    """So many pairs of 0, 1, 2, 3 and 4 half points."""
    return np.array(half_points, dtype=np.int64)


def test_without_belief_a_gain_is_what_the_games_say():
    assert prove.expected_gains([pairs(0, 0, 0, 0, 0), pairs(0, 0, 5, 5, 0)]) == pytest.approx([0.0, 0.125], rel=0.01)


def test_a_gain_is_believed_the_more_the_more_games_there_are():
    apart = prove.Belief(np.zeros(2), np.eye(2) * 0.01)
    found = prove.expected_gains([pairs(0, 0, 5, 5, 0), pairs(0, 0, 500, 500, 0)], apart)
    assert found == pytest.approx([0.125 * 0.01 / (0.01 + prove.PAIR_VARIANCE / n) for n in (10, 1000)], rel=0.01)


def test_of_players_without_games_what_was_believed_before_is_expected():
    apart = prove.Belief(np.array([0.02, -0.01]), np.eye(2) * 0.01)
    assert prove.expected_gains([pairs(0, 0, 0, 0, 0)], apart) == pytest.approx([0.02, -0.01])


def test_the_games_of_one_share_speak_for_the_others_of_its_step():
    about, none = belief([1.0, 0.5, 0.25]), pairs(0, 0, 0, 0, 0)
    risen = prove.expected_gains([pairs(0, 0, 50, 50, 0), none, none], about) - about.gains
    assert risen[0] > risen[1] > risen[2] > 0
    assert 0.07 < (about.gains + risen)[0] < 0.125


def test_beliefs_are_of_gains_that_rise_and_bend_with_the_share():
    shares = np.array([1.0, 0.5, 0.25])
    about = belief(shares.tolist())
    parts = np.stack([judging.RISE_SPREAD * shares, judging.BEND_SPREAD * shares**2])
    assert about.kinship == pytest.approx(parts.T @ parts)
    assert about.gains == pytest.approx(judging.RISE * shares - judging.BEND * shares**2)


def scoring(share_of_games: float, games: int) -> np.ndarray:
    """So many pairs that score this much on average."""
    high = round(games * share_of_games)
    return pairs(games - high, 0, 0, 0, high)


@pytest.mark.parametrize(
    ("accepted", "rise", "bend", "low", "high"),
    [(True, 0.2, 0.2, 0.4, 0.6), (True, 0.2, 0.0, 1.0, 1.0), (True, 0.02, 0.1, 0.1, 0.2), (False, 0.3, 0.2, 0.5, 0.5)],
)
def test_the_share_at_the_top_of_the_curve_is_taken(monkeypatch, accepted, rise, bend, low, high):
    monkeypatch.setattr(judging, "part_of_step", lambda *_: SimpleNamespace(accepted=accepted))
    whole, sample = SimpleNamespace(accepted=True), None
    ways = [Way(share, whole) for share in (1.0, 0.5, 0.25)]
    played = [scoring(0.5 + rise * way.share - bend * way.share**2, 10_000) for way in ways]
    assert low <= judging._top_of_curve(sample, ways, played, ways[1]).share <= high


def test_heats_know_beforehand_how_many_games_they_take():
    assert prove.Heats(rounds=(32, 64, 128)).games(9) == 9 * 32 + 5 * 64 + 3 * 128
    assert prove.Heats(rounds=(32, 64, 128)).games(3) == 3 * 32 + 2 * 64, "one alone has nobody to meet"
    assert TINY.games(1) == 0


def test_the_plain_command_tries_shares_of_the_step_and_reports_what_came_of_it(weights, capsys):
    heard = list[str]()
    test = statistics.Sprt(-300, 0, model=statistics.Model.LOGISTIC)
    trial = replace(prove.GAIN, test=test, time_control=FAST, most_games=200, heats=TINY)
    words = ["--json", "--weights", str(weights), "--concurrency", "1", "--verbose"]
    args = read_arguments([str(SELFPLAY), *words])
    before = weights.read_bytes()
    carry_out(args, heard.append, trial)
    found = json.loads(capsys.readouterr().out)
    assert found["installed"] is True and found["in_use"] is True
    assert found["match"]["games"] > 0 and {"elo", "elo_error"} <= set(found["match"])
    assert {each["share"] for each in found["tried"]} <= set(requests.DEFAULT_CHOICE.shares)
    text = " ".join(heard)
    assert "shares of the step are compared in" in text and "The best after" in text
    assert weights.read_bytes() != before and earlier_weights(weights)[0][1].read_bytes() == before
