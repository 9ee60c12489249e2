"""Rating tables, tournaments, self-play, and the match that proves what was learned."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from merino.app.console.learning import run_learn
from merino.app.shell.cli import main
from merino.eval.families import load as load_evaluation
from merino.eval.linear.weights import DEFAULT_FILE, defaults, load, save
from merino.match import config, statistics
from merino.match.games import Tally
from merino.match.players import OwnPlayer
from merino.match.prove import STRONGER, offer, prove
from merino.match.report import Rating, pool_table, rate, summary, table
from tests.boards import games_in


def tally(*pairs: int) -> Tally:
    """Of so many pairs by half points, those of 2 being two draws."""
    found = Tally()
    found.pairs[:] = pairs
    for half, number in enumerate(pairs):
        for points in {0: (0, 0), 1: (0, 1), 2: (1, 1), 3: (1, 2), 4: (2, 2)}[half]:
            found.points[points] += number
    return found


def test_two_players_are_rated_as_their_match_says():
    result = tally(50, 200, 500, 220, 65)
    rows = rate(["a", "b"], {(0, 1): result}, 1, 2000.0)
    found = statistics.estimate(result.pairs)
    assert [row.name for row in rows] == ["a", "b"]
    assert rows[0].rating - 2000 == pytest.approx(found.elo, abs=0.2)
    assert rows[0].error == pytest.approx(found.elo_error, rel=0.03)
    assert rows[0].los == rows[0].los_next == pytest.approx(found.los, abs=0.003)
    assert (rows[1].rating, rows[1].error, rows[1].los, rows[1].los_next) == (2000, 0, None, None)


def test_ratings_of_three_players_are_those_that_made_the_results():
    truth, random = [150.0, 0.0, -100.0], np.random.default_rng(3)
    results, errors = {}, []
    for _ in range(60):
        for first, second in ((0, 1), (0, 2), (1, 2)):
            wins = random.binomial(200, statistics.score_of(truth[first] - truth[second]))
            found = Tally()
            found.points[:] = 200 - wins, 0, wins
            results[first, second] = found
        rows = {row.name: row for row in rate(["a", "b", "c"], results, 1, 0.0)}
        errors += [abs(rows[name].rating - truth[i]) <= rows[name].error for i, name in enumerate("abc") if i != 1]
    assert 0.88 <= np.mean(errors) <= 1.0


def test_players_who_only_met_others_are_compared_by_these():
    strong, equal = tally(20, 100, 200, 160, 40), tally(30, 100, 200, 100, 30)
    rows = {row.name: row for row in rate(["new", "old", "pool"], {(0, 2): strong, (1, 2): equal}, 1, 0.0)}
    assert rows["new"].los == pytest.approx(0.98, abs=0.02)  # the errors of both matches together
    assert rows["new"].los < statistics.estimate(strong.pairs).los
    text = pool_table(["new", "old"], ["pool"], {(0, 2): strong, (1, 2): equal}, list(rows.values()))
    assert "| new | 570 of 1040 |" in text and "| old | 460 of 920 | 0 | anchor |  |" in text


def test_two_who_hardly_met_the_anchor_are_compared_by_their_own_games():
    met, few = tally(5, 20, 60, 30, 10), tally(0, 0, 2, 2, 1)
    rows = {row.name: row for row in rate(["new", "old", "pool"], {(0, 1): met, (1, 2): few}, 2, 0.0)}
    assert 0.9 < rows["new"].los_next == pytest.approx(statistics.estimate(met.pairs).los, abs=0.02)
    assert rows["new"].points == float(met.points @ (0, 0.5, 1))
    assert sum(row.points for row in rows.values()) == met.games + few.games


def test_the_anchor_shifts_the_table_and_changes_no_difference():
    results = {(0, 1): tally(0, 0, 0, 0, 5), (1, 2): tally(1, 2, 4, 2, 3)}
    tables = [{row.name: row for row in rate(["a", "b", "c"], results, anchor, 100.0)} for anchor in range(3)]
    for first, second in (("a", "b"), ("b", "c")):
        ahead = [table[first].rating - table[second].rating for table in tables]
        assert ahead == pytest.approx([ahead[0]] * 3, abs=1e-6)
        assert [table[first].los_next for table in tables] == pytest.approx([tables[0][first].los_next] * 3)
    assert tables[0]["b"].error == pytest.approx(tables[1]["a"].error)


def test_half_a_point_is_shown_however_many_games_there_are():
    many = tally(0, 1, 600_000, 0, 0)
    assert "\nPoints  600000.5 of 1200002 (50.0%)\n" in summary(("a", "b"), "", "", many, None, 1.0)
    rows = rate(["new", "pool"], {(0, 1): many}, 0, 0.0)
    assert "| 600000.5 of 1200002 |" in pool_table(["new"], ["pool"], {(0, 1): many}, rows)


def test_the_table_has_no_minus_nought_and_a_cell_for_each_name():
    rows = [Rating("a|b", -0.3, 5.0, 2, 1.0, 0.5)]
    assert "| 1 | a\\|b | 0 | +- 5 | 2 |" in table(rows, "c|d") and "LOS to c\\|d" in table(rows, "c|d")
    assert pool_table(["a|b"], ["c|d"], {}, rows).splitlines()[2] == "| a\\|b |  | 0 | +- 5 | 50.0% |"


def test_a_clean_score_has_a_rating():
    rows = rate(["a", "b"], {(0, 1): tally(0, 0, 0, 0, 10)}, 1, 0.0)
    assert 300 < rows[0].rating < 1500 and math.isfinite(rows[0].error)


def test_a_gauntlet_rates_all_and_goes_on_from_its_state(tmp_path, capsys):
    words = ["default", "razor_depth=1", "late_move_pruning_base=1,name=c", "--games", "4", "--nodes", "100", "--json"]
    words += ["--anchor", "default=1500", "--pgn", str(tmp_path / "g.pgn"), "--state", str(tmp_path / "state")]
    assert main(["gauntlet", *words]) == 0
    first = json.loads(capsys.readouterr().out)
    ratings = {row["name"]: row for row in first["ratings"]}
    assert ratings["default"]["rating"] == 1500 and ratings["default"]["games"] == 8
    assert {row["games"] for name, row in ratings.items() if name != "default"} == {4}
    assert (tmp_path / "g.pgn").read_text().count("[Event ") == 8
    assert main(["gauntlet", *words]) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_a_player_who_does_not_start_leaves_the_others_their_games(capsys):
    program = f"{sys.executable} -c pass,name=none"
    assert main(["gauntlet", "default", program, "default,name=c", "--games", "2", "--nodes", "10", "--quiet"]) == 1
    shown = capsys.readouterr()
    assert "| c | 0 | anchor | 2 |" in shown.out and "'none' does not start" in shown.err


@pytest.mark.parametrize("rating", ["nan", "-inf", "strong"])
def test_a_rating_that_is_no_number_fixes_none(rating, capsys):
    assert main(["gauntlet", "default", "razor_depth=1,name=b", "--anchor", f"b={rating}"]) == 2
    assert capsys.readouterr().err == f"merino: gauntlet: --anchor: '{rating}' is not a rating\n"


def test_an_anchor_that_does_not_play_is_refused_by_the_command(capsys):
    assert main(["round-robin", "default,name=a", "razor_depth=1,name=b", "--anchor", "c=0"]) == 2
    assert capsys.readouterr().err == "merino: round-robin: --anchor: there is no player 'c' among a, b\n"


def test_versions_meet_a_pool_and_are_compared_with_the_first(capsys):
    pool = ["--pool", "late_move_pruning_base=1,name=p", "default,name=q", "--games", "2", "--nodes", "50", "--json"]
    assert main(["gauntlet", "default,name=old", "razor_depth=1,name=new", *pool]) == 0
    captured = capsys.readouterr()
    rows = {row["name"]: row for row in json.loads(captured.out)["ratings"]}
    assert {name: row["games"] for name, row in rows.items()} == {"old": 4, "new": 4, "p": 4, "q": 4}
    assert rows["old"]["rating"] == 0 and rows["old"]["los"] is None and 0 < rows["new"]["los"] < 1
    assert "| Version | p | q | Elo | 95% | LOS |" in captured.err
    assert captured.err.count(" of 2 |") == 4 and "old - new" not in captured.err


def test_in_a_round_robin_all_meet_all(capsys):
    words = ["default", "razor_depth=1", "late_move_pruning_base=1", "--games", "2", "--nodes", "50"]
    assert main(["round-robin", *words]) == 0
    captured = capsys.readouterr()
    assert "| late_move_pruning_base=1 | 0 | anchor | 4 |" in captured.out
    assert captured.err.count(": +") == 3


def test_players_of_one_name_are_refused(shell):
    assert "with different names" in shell("round-robin", "default", "default", status=2)


def test_self_play_shows_no_strength_of_merino_against_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("merino.match.runner.SHOW_EVERY", 0.0)
    assert main(["selfplay", "4", "--nodes", "60", "--pgn", str(tmp_path / "s.pgn")]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("1/4  ") and "4 games, " in captured.out
    assert not {"Elo", "LOS"} & set((captured.out + captured.err).split())


def test_self_play_feeds_the_learner(tmp_path, capsys):
    pgn, weights = tmp_path / "s.pgn", tmp_path / "w.txt"
    assert main(["selfplay", "30", "--nodes", "60", "--pgn", str(pgn), "--weights", str(DEFAULT_FILE)]) == 0
    games = games_in(pgn)
    assert len(games) == 30
    assert all(node.eval() is not None for node in games[0].mainline() if node.ply() > 8)
    capsys.readouterr()
    weights.write_bytes(DEFAULT_FILE.read_bytes())
    assert run_learn([str(pgn), "--weights", str(weights), "--no-match"]) == 0
    assert "s.pgn: 30 games" in capsys.readouterr().out


def test_better_weights_are_proved_and_the_offer_says_how(tmp_path):
    new, old = tmp_path / "new.txt", tmp_path / "old.txt"
    poor = defaults()
    poor[5:] = 0  # nothing but the pieces counts
    save(old, poor)
    save(new, load(DEFAULT_FILE))
    lines: list[str] = []
    players = OwnPlayer("good", load_evaluation(new)), OwnPlayer("poor", load_evaluation(old))
    for most, verdict, said in ((2, "", "Not settled."), (2000, "H1", "Proved: good is stronger than poor.")):
        trial = replace(STRONGER, time_control=config.TimeControl(100), most_games=most)
        assert prove(*players, trial, lines.append).verdict == verdict and lines[-1].endswith(said)
    assert offer(new, old).startswith(f"merino match '{new}' '{old}' --sprt 0 10")
