"""Measuring levels of strength by matches against another engine."""

import math
import shlex
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import chess
import pytest

from merino.core.common.work import RunName
from merino.engine.search.choice import people
from merino.engine.search.strength import LADDERS, TERMS, ladders_in
from merino.eval.families import default
from merino.match.statistics import elo_of
from tools.calibrate_strength import (
    TIMES,
    Match,
    Results,
    _tasks,
    as_toml,
    digest,
    fitted,
    pairings,
    play_matches,
    possible,
    renamed,
    row,
)
from tools.calibration_games import NODES_A_SECOND, PairResult, Player, limit_of

NAMES = ("Skill Level", "Threads", "Hash")
OPTIONS = "\n".join(f"option name {name} type spin default 1 min 0 max 64" for name in NAMES)


@pytest.fixture
def stockfish(tmp_path: Path) -> str:
    """An engine with the options of Stockfish, and two levels: the first takes nothing on purpose."""
    program, engine = tmp_path / "stockfish", Path(__file__).with_name("fake_engine.py")
    program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, str(engine), OPTIONS])}\n")
    program.chmod(0o755)
    return str(program)


SCRIPTS = pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")


@SCRIPTS
def test_the_number_of_pairs_at_a_time_changes_no_result(stockfish: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tools.calibration_games.MAX_PLIES", 60)
    match = (Player("Stockfish", 1), Player("Stockfish", 0))
    one, two = (play_matches([match], 6, stockfish, 5, Results([match], None), at_a_time) for at_a_time in (1, 2))
    assert one == two
    assert len(one[0].pairs) == 3 and all(0 <= points <= 2 for points in one[0].pairs)


@SCRIPTS
def test_results_in_a_file_go_on_where_they_ended(stockfish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tools.calibration_games.MAX_PLIES", 60)
    match, file = (Player("Stockfish", 1), Player("Stockfish", 0)), tmp_path / "results.jsonl"
    played = [play_matches([match], games, stockfish, 5, Results([match], file))[0] for games in (4, 4, 8, 0)]
    assert [len(each.pairs) for each in played] == [2, 2, 4, 4]
    assert len(file.read_text().splitlines()) == 4
    assert played[-1] == play_matches([match], 8, stockfish, 5, Results([match], None))[0]


def test_what_is_least_known_is_played_first_by_results_of_any_name(tmp_path: Path):
    low, high = (Player("", rung.elo) for rung in LADDERS[TERMS].rungs[:2])
    known, file = (low, Player("Stockfish", 0)), tmp_path / "results.jsonl"
    before = Results([known], file)
    for _ in range(10):
        before.add(PairResult(*known, (1.0, 0.5)))
    wanted = [known, (high, low)]
    found = Results(wanted, file)
    assert found.match(*known).pairs == [1.5] * 10 and found.match(*known).draws == 10
    tasks = _tasks(wanted, 12, found, lambda _: chess.Board(), ("stockfish", RunName("", 0)))
    order = [(task.player, task.number) for task in tasks]
    assert order[:8] == [(high, number) for number in range(8)]
    assert sorted(order[8:]) == [(low, 10), (low, 11), *((high, number) for number in range(8, 12))]


def test_a_row_shows_what_the_first_player_is_worth():
    match = Match(Player("", 1500), Player("Stockfish", 1), [2.0, 1.0, 1.5, 1.5], 2)
    assert row(match)[:4] == ("1500", "Stockfish, Skill Level 1 (1468), 0.1 s a move", "8", "+5 =2 -1")


def test_each_rung_plays_the_next_and_the_nearest_level_of_the_other_engine():
    found = pairings([900, 1310, 1500], "", opponents=("Stockfish", "Merino"))
    assert [(one.number, other.number) for one, other in found[:2]] == [(1310, 0), (1500, 1)]
    assert all(other.is_anchor for _, other in found[:2])
    assert [(one.number, other.number) for one, other in found[2:]] == [(1310, 900), (1500, 1310)]


def test_all_matches_of_the_rungs_count_whoever_is_nearest_by_now():
    found, names = possible([900, 1310, 1500], ""), [900, 1310, 1500]
    assert set(pairings(names, "")) < set(found) and len(set(found)) == len(found) == 3 * 9 * len(TIMES) + 3
    ours = {(one.number, other.number) for one, other in found if not other.engine}
    assert ours == {(1310, 900), (1500, 900), (1500, 1310)}


def match_of(player: Player, opponent: Player, share: float) -> Match:
    return Match(player, opponent, [2 * share] * 50, 0)


def test_ratings_are_found_by_all_results_together_and_other_engines_keep_theirs():
    low, high, anchor = Player("", 900), Player("", 1300), Player("Stockfish", 0)
    without_clock = anchor._replace(seconds=0.0)  # which has no rating but by the games
    found, _ = fitted([match_of(high, anchor, 0.5), match_of(high, low, 0.75), match_of(low, without_clock, 0.5)])
    assert found[high] == pytest.approx(1320, abs=4) and found[without_clock] == pytest.approx(found[low], abs=9)
    assert limit_of(without_clock).depth == 1 and limit_of(anchor).nodes == NODES_A_SECOND / 10
    assert found[low] == pytest.approx(1320 - elo_of(0.75), abs=5)


def test_an_elo_is_as_uncertain_as_its_games_and_those_it_was_compared_with():
    low, high, anchor = Player("", 900), Player("", 1300), Player("Stockfish", 0)
    matches = [match_of(high, anchor, 0.5), match_of(high, low, 0.5)]
    _, found = fitted(matches)
    one_match = 1.96 * 400 / math.log(10) / math.sqrt(100 * 0.25)
    assert found[high] == pytest.approx(one_match, rel=0.02)
    assert found[low] == pytest.approx(one_match * math.sqrt(2), rel=0.02)


def test_the_digest_of_a_ladder_changes_with_the_tastes_of_people(monkeypatch: pytest.MonkeyPatch):
    before, others = digest(default()), people()
    monkeypatch.setattr("merino.engine.search.choice.people", lambda: replace(others, means=others.means + 0.1))
    assert digest(default()) != before


def test_a_measured_ladder_is_written_and_read_again_with_what_it_was_measured_with():
    ladder = LADDERS[TERMS]
    elos = {Player("", rung.elo): rung.elo + 14.0 for rung in ladder.rungs}
    errors = dict.fromkeys(elos, 40.0)
    named = renamed(ladder, elos, errors, default())
    assert [rung.elo for rung in named.rungs] == [round((rung.elo + 14) / 10) * 10 for rung in ladder.rungs]
    assert ladders_in(tomllib.loads(as_toml({TERMS: named}))) == {TERMS: named}
    with pytest.raises(SystemExit, match="do not rise"):
        renamed(ladder, dict.fromkeys(elos, 1000.0), errors, default())


def test_rungs_that_the_games_do_not_distinguish_share_a_place():
    ladder = LADDERS[TERMS]
    ladder = ladder._replace(rungs=ladder.rungs[:3])
    low, middle, high = (Player("", rung.elo) for rung in ladder.rungs)
    errors = {low: 30.0, middle: 50.0, high: 100.0}
    named = renamed(ladder, {low: 900.0, middle: 1210.0, high: 1160.0}, errors, default())
    assert [rung.elo for rung in named.rungs] == [900, 1200, 1210]
