"""The plain `learn`: a net teaches, several ways to learn meet in heats, and the best meets the old weights."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import carry_out, for_machines, learn_weights
from merino.core.common.command import CommandError
from merino.eval.families import load_net
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import as_mapping, defaults, load, render
from merino.learn import judging
from merino.learn.judging import Way, belief
from merino.learn.positions import Selection
from merino.learn.reading import ENOUGH_GAMES, ReadOptions, read_rows
from merino.learn.request import ARTICLE, DEFAULT_CHOICE, DEFAULT_TEACHER, NO_CHOICE, Events, LearnRequest, Task
from merino.learn.sample import Target
from merino.match.config import MatchConfig, TimeControl
from merino.match.players import OwnPlayer
from merino.match.prove import GAIN, PAIR_VARIANCE, Belief, Heats, expected_gains, play_heats
from merino.match.statistics import Model, Sprt
from tests.rows import SELFPLAY, copied_selfplay, few_games
from tests.shipped import one_phase

FAST = TimeControl(nodes=20)
TINY = Heats(rounds=(4, 2), time_control=FAST)


def without_pieces() -> np.ndarray:
    """Weights for which a queen is worth a pawn."""
    values = one_phase()
    values[:5] = 100.0
    return values


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.txt"
    path.write_text("\n".join(render(as_mapping(without_pieces())).splitlines()) + "\n")
    return path


def player(name: str, values: np.ndarray) -> OwnPlayer:
    return OwnPlayer(name, LinearEvaluation(values))


def test_the_plain_command_asks_for_the_default_request() -> None:
    assert read_arguments(["a.pgn"]).request == LearnRequest(("a.pgn",))


def test_the_preset_is_the_article_with_one_phase_all_positions_and_no_teacher() -> None:
    request = read_arguments(["a.pgn", "--preset", "greko2015"]).request
    assert (request.settings, request.selection, request.choice, request.teacher) == (
        ARTICLE,
        Selection(),
        NO_CHOICE,
        None,
    )
    assert request.settings.phases == 1 and not request.settings.target.needs_scores


@pytest.mark.parametrize(
    ("words", "target", "teacher"),
    [
        ([], Target(0.0), DEFAULT_TEACHER),
        (["--teacher", "gen1"], Target(0.0), "gen1"),
        (["--teacher", "off"], Target(1.0), None),
        (["--target", "search"], Target(0.0), None),
        (["--target", "blend=0.5", "--teacher", "gen12"], Target(0.5), "gen12"),
        (["--preset", "greko2015", "--teacher", "gen1"], Target(0.0), "gen1"),
    ],
)
def test_target_and_teacher_follow_from_each_other(words: list[str], target: Target, teacher: str | None) -> None:
    request = read_arguments(["a.pgn", *words]).request
    assert (request.settings.target, request.teacher) == (target, teacher)


def test_the_report_names_whose_scores_teach() -> None:
    for words, name in (([], "gen12"), (["--target", "search"], "a search")):
        task = Task.of(read_arguments(["a.pgn", *words]).request, TERMS, defaults())
        assert task.request.settings.target.describe() == f"the score of {name}"


def test_a_teacher_scores_every_position_and_a_cached_one_in_the_same_way(tmp_path: Path) -> None:
    games, heard = copied_selfplay(tmp_path), list[str]()
    options = ReadOptions(Selection(per_game=3), defaults(), keep_fen=True, teacher=load_net("gen12"))
    first = read_rows([games], options, Events(heard.append)).rows
    second = read_rows([games], options, Events(heard.append)).rows
    assert any(line.startswith("Using file") for line in heard)
    assert np.array_equal(first.scores, second.scores) and np.std(first.scores) > 100
    other = read_rows([games], replace(options, teacher=load_net("gen1")), Events()).rows
    assert not np.array_equal(first.scores, other.scores)
    assert np.corrcoef(first.scores, other.scores)[0, 1] > 0.8


def test_the_cache_next_to_the_games_keeps_the_scores_of_each_scorer_apart(tmp_path: Path) -> None:
    parts = re.split(r"(?=\[Event )", SELFPLAY.read_text())[1:61]
    scored = [re.sub(r"(\d+\. \S+) ", r"\1 {[%eval 0.20,9]} ", game) for game in parts[:20]]
    path = tmp_path / "games.pgn"
    path.write_text("".join(scored + parts[20:]))
    by_file = ReadOptions(Selection(), defaults(), keep_fen=True, needs_scores=True)
    by_net = replace(by_file, teacher=load_net("gen12"))
    orders = [by_file, by_net], [by_net, by_file]
    found = []
    for order in orders:
        rows = [read_rows([path], options, Events()).rows for options in order * 2]
        assert np.array_equal(rows[0].scores, rows[2].scores) and np.array_equal(rows[1].scores, rows[3].scores)
        found.append(rows[:2])
        assert len(list(tmp_path.glob("*.fen"))) == 2
        for cache in tmp_path.glob("*.fen"):
            cache.unlink()
    (of_file, of_net), (net_first, file_second) = found
    assert np.array_equal(of_file.scores, file_second.scores) and np.array_equal(of_net.scores, net_first.scores)
    assert len(of_net.results) == 60 and len(of_net) > 2 * len(of_file)


def test_a_teacher_that_is_not_there_is_refused_in_a_sentence(weights: Path) -> None:
    with pytest.raises(CommandError, match="there is no net 'gen99'"):
        learn_weights([str(SELFPLAY), "--teacher", "gen99", "--weights", str(weights)], lambda line: None)


def test_of_several_players_the_strongest_comes_out_of_the_heats() -> None:
    weak = without_pieces()
    found = play_heats(
        [player("weak", weak), player("strong", one_phase()), player("as weak", weak)],
        player("old", weak),
        Heats(rounds=(20, 10), time_control=TimeControl(nodes=100)),
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


def test_players_of_a_round_have_the_same_openings_and_each_round_has_others(monkeypatch: pytest.MonkeyPatch) -> None:
    played, weights = heats_with(monkeypatch), one_phase()
    play_heats([player(name, weights) for name in ("bad", "good", "poor")], player("old", weights), TINY)
    assert [name for name, _ in played] == ["bad", "good", "poor", "good", "bad"]
    assert len({seed for _, seed in played[:3]}) == 1 == len({seed for _, seed in played[3:]})
    assert played[0][1] != played[3][1]


def test_interrupted_heats_give_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    heats_with(monkeypatch, interrupted_at=3)
    weights = one_phase()
    found = play_heats([player(name, weights) for name in ("bad", "good", "poor")], player("old", weights), TINY)
    assert (found.best, found.interrupted) == (1, True)


def test_a_share_of_a_step_is_tried_only_if_it_is_accepted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "part_of_step", lambda *step: SimpleNamespace(accepted=step[-1] > 0.3))
    whole: Any = SimpleNamespace(accepted=True)
    sample: Any = None
    assert [way.share for way in judging._with_shares(sample, whole, (1.0, 0.5, 0.25))] == [1.0, 0.5]


def pairs(*half_points: int) -> np.ndarray:
    """So many pairs of 0, 1, 2, 3 and 4 half points."""
    return np.array(half_points, dtype=np.int64)


def test_without_belief_a_gain_is_what_the_games_say() -> None:
    assert expected_gains([pairs(0, 0, 0, 0, 0), pairs(0, 0, 5, 5, 0)]) == pytest.approx([0.0, 0.125], rel=0.01)


def test_a_gain_is_believed_the_more_the_more_games_there_are() -> None:
    apart = Belief(np.zeros(2), np.eye(2) * 0.01)
    found = expected_gains([pairs(0, 0, 5, 5, 0), pairs(0, 0, 500, 500, 0)], apart)
    assert found == pytest.approx([0.125 * 0.01 / (0.01 + PAIR_VARIANCE / n) for n in (10, 1000)], rel=0.01)


def test_of_players_without_games_what_was_believed_before_is_expected() -> None:
    apart = Belief(np.array([0.02, -0.01]), np.eye(2) * 0.01)
    assert expected_gains([pairs(0, 0, 0, 0, 0)], apart) == pytest.approx([0.02, -0.01])


def test_the_games_of_one_share_speak_for_the_others_of_its_step() -> None:
    about, none = belief([1.0, 0.5, 0.25]), pairs(0, 0, 0, 0, 0)
    risen = expected_gains([pairs(0, 0, 50, 50, 0), none, none], about) - about.gains
    assert risen[0] > risen[1] > risen[2] > 0
    assert 0.07 < (about.gains + risen)[0] < 0.125


def test_beliefs_are_of_gains_that_rise_and_bend_with_the_share() -> None:
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
    ("rise", "bend", "low", "high"), [(0.2, 0.2, 0.4, 0.6), (0.2, 0.0, 1.0, 1.0), (0.02, 0.1, 0.1, 0.2)]
)
def test_the_share_at_the_top_of_the_curve_is_taken(
    monkeypatch: pytest.MonkeyPatch, rise: float, bend: float, low: float, high: float
) -> None:
    monkeypatch.setattr(judging, "part_of_step", lambda *_: SimpleNamespace(accepted=True))
    whole: Any = SimpleNamespace(accepted=True)
    sample: Any = None
    ways = [Way(share, whole) for share in (1.0, 0.5, 0.25)]
    played = [scoring(0.5 + rise * way.share - bend * way.share**2, 10_000) for way in ways]
    assert low <= judging._top_of_curve(sample, ways, played, ways[1]).share <= high


def test_a_share_whose_error_does_not_fall_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "part_of_step", lambda *_: SimpleNamespace(accepted=False))
    whole: Any = SimpleNamespace(accepted=True)
    sample: Any = None
    ways = [Way(share, whole) for share in (1.0, 0.5)]
    played = [scoring(0.5, 100), scoring(0.6, 100)]
    assert judging._top_of_curve(sample, ways, played, ways[1]) is ways[1]


def test_heats_know_beforehand_how_many_games_they_take() -> None:
    assert Heats(rounds=(32, 64, 128)).games(9) == 9 * 32 + 5 * 64 + 3 * 128
    assert Heats(rounds=(32, 64, 128)).games(3) == 3 * 32 + 2 * 64, "one alone has nobody to meet"
    assert TINY.games(1) == 0


def test_the_plain_command_tries_shares_of_the_step_and_reports_what_came_of_it(weights: Path) -> None:
    heard = list[str]()
    trial = replace(GAIN, test=Sprt(-300, 0, model=Model.LOGISTIC), time_control=FAST, most_games=200, heats=TINY)
    told_to = ["--json", "--no-cache", "--weights", str(weights), "--concurrency", "1"]
    args = read_arguments([str(SELFPLAY), *told_to])
    before = weights.read_bytes()
    found = json.loads(for_machines(carry_out(args, heard.append, trial)))
    assert found["installed"] is True and found["in_use"] is True
    assert found["match"]["games"] > 0 and {"elo", "elo_error"} <= set(found["match"])
    assert {each["share"] for each in found["tried"]} <= set(DEFAULT_CHOICE.shares)
    text = " ".join(heard)
    assert "shares of the step are compared in" in text and "The best after" in text
    assert weights.read_bytes() != before and weights.with_suffix(".old").read_bytes() == before


def test_with_few_games_the_report_says_how_many_would_do(tmp_path: Path, weights: Path) -> None:
    few, heard = tmp_path / "few.pgn", list[str]()
    few.write_bytes(b"\n\n[Event".join(SELFPLAY.read_bytes().split(b"\n\n[Event")[:50]) + b"\n")
    learn_weights([str(few), "--no-cache", "--out", f"{tmp_path}/out.txt", "--weights", str(weights)], heard.append)
    assert f"50 games are too few to learn from safely: about {ENOUGH_GAMES} would do." in " ".join(heard)


def test_a_new_file_gets_no_old_one_next_to_it(tmp_path: Path, weights: Path) -> None:
    out = tmp_path / "new" / "w.txt"
    out.parent.mkdir()
    words = [str(few_games(tmp_path)), "--no-cache", "--weights", str(weights), "--out", str(out)]
    learn_weights(words, lambda line: None)
    assert out.exists() and not out.with_suffix(".old").exists()
    first = out.read_bytes()
    learn_weights([*words, "--seed", "3"], lambda line: None)
    assert out.with_suffix(".old").read_bytes() == first
    assert len(load(out)) == 2 * len(one_phase())
