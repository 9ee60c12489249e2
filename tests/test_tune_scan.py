"""`merino spsa scan`: which optima a scan proves, what it shows, and how it continues after an interruption."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from merino.app.shell import match as games
from merino.core.common.command import CommandError, UsageError
from merino.core.common.interrupt import INTERRUPTED
from merino.eval.families import default
from merino.lab.tune.command import run_spsa
from merino.lab.tune.methods import METHODS, initial_state
from merino.lab.tune.parameters import TunedParameter, TuneError, lines_of_both, settings_for
from merino.lab.tune.rules import ExpectedGain
from merino.lab.tune.scan import (
    Scan,
    ScanPoint,
    draw_scan,
    find_number,
    make_request,
    run_scan,
    scan_json,
    scan_table,
    values_between,
    verdict,
)
from merino.lab.tune.tuning import gain_line, value_table
from merino.match.games import Tally
from merino.match.runner import MatchResult

PAIRS = 400
SCORES = (0, 0.25, 0.5, 0.75, 1)


def tally_of(elo: float, pairs: int = PAIRS, random: np.random.Generator | None = None) -> Tally:
    """About the games that this Elo brings: pairs with the usual deviation, exactly or by chance."""
    score = 1 / (1 + 10 ** (-elo / 400))
    shares = np.array([score**index * (1 - score) ** (4 - index) * (1, 4, 6, 4, 1)[index] for index in range(5)])
    tally = Tally()
    tally.pairs[:] = np.round(shares * pairs) if random is None else random.multinomial(pairs, shares)
    wins = int(tally.pairs @ (0, 0, 1, 1, 2))
    tally.points[:] = int(tally.pairs @ (2, 1, 1, 0, 0)), int(tally.pairs @ (0, 1, 0, 1, 0)), wins
    return tally


def scan_of(curve: dict[int, float], against: int, **how) -> Scan:
    request = make_request("RookOpen_mg", curve, against, default())
    return run_scan(request, lambda value: (MatchResult(tally_of(curve[value], **how)), None))


def test_two_optima_are_proved_by_a_valley_between_them():
    scan = scan_of({0: -60, 10: 5, 20: -60, 30: -70, 40: 40, 50: -20}, against=12)
    assert [point.value for point in scan.optima] == [10, 40]
    assert verdict(scan).startswith("Two optima: 10 (+4.")
    assert "with 30 (-70." in verdict(scan)


def test_a_dent_within_the_errors_is_no_valley():
    scan = scan_of({0: -60, 10: 5, 20: -4, 30: 6, 40: -50}, against=12)
    assert [point.value for point in scan.optima] == [30]
    assert verdict(scan).startswith("One optimum; best: 30 (+6.")
    assert verdict(scan).endswith("; not significantly worse: 10, 12, 20. No second optimum is significant.")


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        ({0: -60, 10: 30, 20: 60}, ", the end of the range: better ones may lie beyond"),
        ({0: -60, 10: 50, 20: -30}, ""),
        ({-200: 100, 0: 0, 200: -100}, ", the lowest value that there is"),
        ({-200: -100, 0: 0, 200: 100}, ", the highest value that there is"),
    ],
)
def test_a_best_value_at_an_end_is_reported_as_that(curve: dict[int, float], said: str) -> None:
    found = verdict(scan_of(curve, against=5))
    assert re.search(r"Elo\)(, the [^;.]*)?", found)[1] == (said or None)


def test_values_that_do_not_differ_prove_nothing():
    scan = scan_of({0: -3, 10: 2, 20: -2}, against=12)
    assert scan.optima == ()
    found = verdict(scan)
    assert found.startswith("No optimum is significant: no two values differ by more than chance (best: 10 (+2.")


def test_a_curve_with_one_optimum_seldom_shows_two():
    random, wrong = np.random.default_rng(3), 0
    for _ in range(60):
        wrong += len(scan_of({value: -abs(value - 30) / 3 for value in range(0, 90, 10)}, 30, random=random).optima) > 1
    assert wrong <= 6  # 3 are allowed on average


def test_a_second_optimum_is_found_when_there_are_games_enough():
    random, found = np.random.default_rng(4), {200: 0, 4000: 0}
    curve = {0: -40.0, 10: -10, 20: -40, 30: -50, 40: 0, 50: -40}
    for pairs in found:
        for _ in range(12):
            found[pairs] += len(scan_of(curve, 45, pairs=pairs, random=random).optima) == 2
    assert found[200] <= 8
    assert found[4000] >= 10


def test_a_clean_score_has_no_elo_but_counts():
    scan = scan_of({0: 0, 10: 0}, against=5)
    clean = ScanPoint(20, (0, 0, 10), (0, 0, 0, 0, 5))
    scan = replace(scan, points=(*scan.points, clean))
    assert scan.best == clean
    assert scan_table(scan)[-1].split()[:3] == ["20", "+inf", "+-"]
    assert json.loads(json.dumps(scan_json(scan, "")))["points"][-1]["elo"] is None


def test_the_table_draws_each_interval_at_its_place():
    lines = scan_table(scan_of({0: -60, 10: 60}, against=5))
    assert lines[0] == "RookOpen_mg, each value against 5; intervals of 95%"
    middle = lines[3].index("o")
    left, right = (lines[row].rindex("o") for row in (2, 4))
    assert left < middle < right
    assert middle - left == pytest.approx(right - middle, abs=1)
    assert lines[4].endswith("| <")  # the one optimum


def test_json_has_every_point():
    scan = scan_of({0: -60, 10: 60}, against=5)
    shown = scan_json(scan, "1000 nodes")
    assert [point["value"] for point in shown["points"]] == [0, 5, 10]
    first = shown["points"][0]
    assert first["wins"] + first["draws"] + first["losses"] == first["games"] == 2 * PAIRS
    assert (shown["optima"], shown["against"], shown["conditions"]) == ([10], 5, "1000 nodes")
    assert [point["is_reference"] for point in shown["points"]] == [False, True, False]


def test_no_zero_has_a_sign() -> None:
    request = make_request("RookOpen_mg", (5,), 12, default())
    point = ScanPoint(5, (3335, 3331, 3334), (0, 2000, 1001, 1999, 0))  # half a point less than one in two
    scan = Scan(request, (point, ScanPoint(12)))
    row = TunedParameter("a", 0, -100, 100, 5)
    settings = settings_for(METHODS["spsa"], (row,), 100)
    slight = initial_state(settings, np.array([-0.003]))
    shown = [*scan_table(scan)[2:], verdict(scan), gain_line(ExpectedGain(-0.01, 0.01))]
    shown += [*value_table([row], settings, slight), *lines_of_both([row], [row.shown(-0.00001)], [1])]
    assert "5 (+0.0 +- 4.3 Elo)" in verdict(replace(scan, points=(point,)))
    assert not re.search(r"-0(?![.\d])|-0\.0+(?!\d)", "\n".join(shown)), shown


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_the_picture_is_drawn(ending):
    pytest.importorskip("matplotlib")
    content = draw_scan(scan_of({0: -60, 10: 60}, against=5), ending)
    assert content.startswith(b"\x89PNG" if ending == ".png" else b"<?xml")


def test_a_scan_takes_a_weight_or_a_number_of_the_search_by_either_name():
    for name, value in (("RookOpen_mg", 30), ("razor_margin", 300), ("PawnIsolated_eg", -3)):
        changed, usual = make_request(name, [value], None, default()).players(value)
        assert changed.label == f"{name}={value}"
        assert changed.identity() != usual.identity()
        assert usual.label == f"{name}={round(find_number(name, default())[1].value)}"
    assert make_request("RookOpen_mg", [3, 1, 3], 2, default()).values == (1, 3)
    assert values_between(0, 10, 5) == (0, 2, 5, 8, 10)
    assert values_between(0, 2, 9) == values_between(0, 2, 10**9) == (0, 1, 2)


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("RookOpn", [1], "did you mean 'RookOpen_mg'"),
        ("razor_margin", [1], "razor_margin = 1 is outside 50..800"),
        ("RookOpen_mg", [17], "no value is left to scan but 17"),
    ],
)
def test_what_cannot_be_scanned_is_named(name, values, said):
    with pytest.raises(TuneError, match=said):
        make_request(name, values, 17 if name == "RookOpen_mg" else None, default())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--values 1,2 --points 3", "--values does not go with --from"),
        ("--from 5 --to 5", "--from 5 is not below --to 5"),
        ("--points 1", "'1' is not a whole number from 2 on"),
        (f"--from -1{'0' * 400} --to 5", "0 is outside -200..200"),
        (f"--from -1{'0' * 400} --to 5 --points 1000000000", "0 is outside -200..200"),
        ("--values 1,x", "'x' is not a whole number"),
        ("--plot scan.gif", "--plot writes .png or .svg"),
    ],
)
def test_a_wrong_scan_is_refused_before_a_game(words, said):
    with pytest.raises((UsageError, CommandError)) as caught:
        run_spsa(["scan", "RookOpen_mg", *words.split()])
    assert said in str(caught.value)


def test_an_interrupted_scan_goes_on_where_it_was(tmp_path: Path, monkeypatch, capsys):
    where = ["scan", "RookOpen_mg", "--values", "-40,60", "--against", "17"]
    words = [*where, "--games", "4", "--nodes", "20", "--json", "--quiet", "--state"]
    assert run_spsa([*words, str(tmp_path / "whole")]) == 0
    whole = json.loads(capsys.readouterr().out)
    play, played = games.play, []

    def break_off(args, config, *others, **more):
        if len(played) == 1:
            return MatchResult(Tally(), interrupted=True), None
        played.append(config.players[0].label)
        return play(args, config, *others, **more)

    monkeypatch.setattr(games, "play", break_off)
    assert run_spsa([*words, str(tmp_path / "broken")]) == INTERRUPTED
    part = json.loads(capsys.readouterr().out)
    assert [point["value"] for point in part["points"]] == [-40, 17]
    assert not part["complete"]
    monkeypatch.setattr(games, "play", play)
    assert run_spsa([*words, str(tmp_path / "broken")]) == 0
    assert json.loads(capsys.readouterr().out) == whole
    assert whole["complete"] and [point["games"] for point in whole["points"]] == [4, 0, 4]


def test_an_interval_without_end_fills_its_bar():
    request = make_request("RookOpen_mg", [0, 40], None, default())
    scan = Scan(request, (ScanPoint(0, (0, 1, 1)), ScanPoint(request.against), ScanPoint(40, (1, 0, 1))))
    assert all(len(line) < 130 for line in scan_table(scan))
    assert any("inf" in line for line in scan_table(scan))
