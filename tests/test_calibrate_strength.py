"""Measuring levels of strength by matches against another engine."""

import json
import math
import shlex
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from merino.engine.search.choice import people
from merino.engine.search.strength import LADDERS, TERMS, ladders_in
from merino.eval.families import default
from merino.match.statistics import elo_of
from tools import calibrate_strength as tool
from tools.calibrate_strength import Player, as_toml, digest, fitted, pairings, renamed, results_in

NAMES = ("Skill Level", "Threads", "Hash")
OPTIONS = "\n".join(f"option name {name} type spin default 1 min 0 max 64" for name in NAMES)
LOW, HIGH, ANCHOR = Player("", 900), Player("", 1300), Player(None, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_results_go_on_where_they_ended_and_do_not_depend_on_the_number_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, engine = tmp_path / "stockfish", Path(__file__).with_name("fake_engine.py")
    program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, str(engine), OPTIONS])}\n")
    program.chmod(0o755)
    monkeypatch.setattr(tool, "STOCKFISH", str(program))
    monkeypatch.setattr(tool, "RULES", replace(tool.RULES, longest=6))
    files = [tmp_path / "parts.jsonl", tmp_path / "whole.jsonl"]
    for games, file in ((2, files[0]), (4, files[0]), (4, files[1])):
        at_a_time = "2" if file == files[1] else "1"
        words = ["--kind", TERMS, "--check", "1300", "2500", "--state", str(file), "--concurrency", at_a_time]
        tool.main([*words, "--games", str(games)])
    parts, whole = (sorted(file.read_text().splitlines()) for file in files)
    assert parts == whole and len(whole) == 2 * 3
    assert "| Merino, UCI_Elo 2500 | Merino, UCI_Elo 1300 | 4 |" in capsys.readouterr().out


def test_each_rung_plays_the_nearest_level_of_the_other_engine_and_the_next() -> None:
    found = pairings([900, 1310, 1500], "")
    assert [(one.number, other.rating) for one, other in found] == [
        (1310, 1320),
        (1500, 1468),
        (1310, 900),
        (1500, 1310),
    ]


def test_all_pairs_of_the_rungs_in_a_file_count_whoever_is_nearest_by_now(tmp_path: Path) -> None:
    file, far = tmp_path / "pairs.jsonl", Player(None, 3)
    played = [(LOW, far), (HIGH, LOW), (HIGH, Player("", 1100)), (HIGH, Player("gen12", 900))]
    lines = [{"players": f"{one.key} - {other.key}", "points": [2, 1]} for one, other in played]
    file.write_text("\n".join(map(json.dumps, lines)))
    found = results_in(file, [(HIGH, ANCHOR), (LOW, ANCHOR)])
    assert {match: pairs for match, pairs in found.items() if pairs} == {(LOW, far): [[2, 1]], (HIGH, LOW): [[2, 1]]}


def results_of(*matches: tuple[Player, Player, float]) -> dict[tuple[Player, Player], list[list[int]]]:
    """Fifty pairs of each, with this share of the points."""
    return {(one, other): [[round(4 * share), 0]] * 50 for one, other, share in matches}


def test_ratings_are_found_by_all_results_together_and_anchors_keep_theirs() -> None:
    found, _ = fitted(results_of((HIGH, ANCHOR, 0.5), (HIGH, LOW, 0.75)))
    assert found == pytest.approx({HIGH: 1320, LOW: 1320 - elo_of(0.75)}, abs=5)


def test_an_elo_is_as_uncertain_as_its_games_and_those_it_was_compared_with() -> None:
    _, found = fitted(results_of((HIGH, ANCHOR, 0.5), (HIGH, LOW, 0.5)))
    one_match = 1.96 * 400 / math.log(10) / math.sqrt(100 * 0.25)
    assert found == pytest.approx({HIGH: one_match, LOW: one_match * math.sqrt(2)}, rel=0.02)


def test_the_digest_of_a_ladder_changes_with_the_tastes_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    before, others = digest(default()), people()
    monkeypatch.setattr("merino.engine.search.choice.people", lambda: replace(others, means=others.means + 0.1))
    assert digest(default()) != before


def test_a_measured_ladder_is_written_and_read_again_with_what_it_was_measured_with() -> None:
    ladder = LADDERS[TERMS]
    elos = {Player("", rung.elo): rung.elo + 14.0 for rung in ladder.rungs}
    errors = dict.fromkeys(elos, 40.0)
    named = renamed(ladder, elos, errors, default())
    assert [rung.elo for rung in named.rungs] == [round((rung.elo + 14) / 10) * 10 for rung in ladder.rungs]
    assert ladders_in(tomllib.loads(as_toml({TERMS: named}))) == {TERMS: named}
    with pytest.raises(SystemExit, match="do not rise"):
        renamed(ladder, dict.fromkeys(elos, 1000.0), errors, default())


def test_rungs_that_the_games_do_not_distinguish_share_a_place() -> None:
    ladder = LADDERS[TERMS]._replace(rungs=LADDERS[TERMS].rungs[:3])
    low, middle, high = (Player("", rung.elo) for rung in ladder.rungs)
    errors = {low: 30.0, middle: 50.0, high: 100.0}
    named = renamed(ladder, {low: 900.0, middle: 1210.0, high: 1160.0}, errors, default())
    assert [rung.elo for rung in named.rungs] == [900, 1200, 1210]
