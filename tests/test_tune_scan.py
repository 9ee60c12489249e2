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
from merino.lab.tune import command, methods, rules, scan, tuning
from merino.lab.tune.parameters import TunedParameter, TuneError, lines_of_both, settings_for
from merino.match.games import Tally
from merino.match.runner import MatchResult

PAIRS = 400


def tally_of(elo: float, pairs: int = PAIRS, random: np.random.Generator | None = None) -> Tally:
    """About the games that this Elo brings: pairs with the usual deviation, exactly or by chance."""
    score = 1 / (1 + 10 ** (-elo / 400))
    shares = np.array([score**index * (1 - score) ** (4 - index) * (1, 4, 6, 4, 1)[index] for index in range(5)])
    counts = np.round(shares * pairs) if random is None else random.multinomial(pairs, shares)
    return tally_with(counts.astype(int).tolist())


def tally_with(pairs: list[int]) -> Tally:
    """The games of these pairs, each with as few draws as there can be."""
    tally = Tally()
    tally.pairs[:] = pairs
    tally.points[:] = (
        int(tally.pairs @ (2, 1, 1, 0, 0)),
        int(tally.pairs @ (0, 1, 0, 1, 0)),
        tally.pairs @ (0, 0, 1, 1, 2),
    )
    return tally


def scan_of(curve: dict[int, float], against: int, **how) -> scan.Scan:
    play = lambda value: (MatchResult(tally_of(curve[value], **how)), None)  # noqa: E731
    return scan.run_scan("RookOpen_mg", list(curve), against, play)


@pytest.mark.parametrize(
    ("curve", "optima", "said"),
    [
        ({0: -60, 10: 5, 20: -60, 30: -70, 40: 40, 50: -20}, [10, 40], r"2 optima: 10 \(\+4\..*with 30 \(-70\."),
        ({0: -60, 10: 5, 20: -4, 30: 6, 40: -50}, [30], r"One optimum; best: 30 \(\+6\."),
        ({0: -3, 10: 2, 20: -2}, [], r"No optimum is significant: no two values differ .* \(best: 10 \(\+2\."),
    ],
)
def test_optima_are_proved_by_valleys_beyond_the_errors(curve: dict[int, float], optima: list[int], said: str) -> None:
    found = scan_of(curve, against=12)
    assert [point.value for point in found.optima] == optima
    assert re.match(said, found.verdict)


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


def test_the_table_marks_the_optimum_and_a_clean_score_has_no_elo():
    found = scan_of({0: -60, 10: 60}, against=5)
    lines = scan.scan_table(found)
    assert lines[0] == "RookOpen_mg, each value against 5; intervals of 95%"
    assert [line.endswith("< optimum") for line in lines] == [False, False, False, False, True]
    found = replace(found, points=(*found.points, scan.ScanPoint(20, tally_with([0, 0, 0, 0, 5]))))
    assert scan.scan_table(found)[-1].split()[:3] == ["20", "+inf", "+-"]
    assert json.loads(json.dumps(scan.scan_json(found, "")))["points"][-1]["elo"] is None


def test_json_has_every_point():
    shown = scan.scan_json(scan_of({0: -60, 10: 60}, against=5), "1000 nodes")
    assert [point["value"] for point in shown["points"]] == [0, 5, 10]
    first = shown["points"][0]
    assert first["wins"] + first["draws"] + first["losses"] == first["games"] == 2 * PAIRS
    assert (shown["optima"], shown["against"], shown["conditions"]) == ([10], 5, "1000 nodes")
    assert [point["is_reference"] for point in shown["points"]] == [False, True, False]


def test_no_zero_has_a_sign() -> None:
    point = scan.ScanPoint(5, tally_with([0, 2000, 1001, 1999, 0]))  # half a point less than one in two
    found = scan.Scan("RookOpen_mg", 12, (point, scan.ScanPoint(12)))
    row = TunedParameter("a", 0, -100, 100, 5)
    settings = settings_for(methods.METHODS["spsa"], (row,), 100)
    slight = methods.initial_state(settings, np.array([-0.003]))
    shown = [*scan.scan_table(found)[2:], found.verdict, tuning.gain_line(rules.ExpectedGain(-0.01, 0.01))]
    shown += [*tuning.value_table([row], settings, slight), *lines_of_both([row], [row.shown(-0.00001)], [1])]
    assert "5 (+0.0 +- 4.3 Elo)" in replace(found, points=(point,)).verdict
    assert not re.search(r"-0(?![.\d])|-0\.0+(?!\d)", "\n".join(shown)), shown


def test_a_scan_takes_a_weight_or_a_number_of_the_search():
    for name, value in (("RookOpen_mg", 30), ("razor_margin", 300), ("PawnIsolated_eg", -3)):
        found, number = scan.find_number(name, default())
        usual = round(number.value)
        changed, opponent = (scan.player_with(found, each, default()) for each in (value, usual))
        assert (changed.label, opponent.label) == (f"{name}={value}", f"{name}={usual}")
        assert changed.identity() != opponent.identity()
        assert scan.values_to_scan(name, number, [value, usual, value], usual) == [value]
    assert scan.values_to_scan("a", replace(number, low=0, high=40), None, 10) == [0, 5, 15, 20, 25, 30, 35, 40]


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("RookOpn", "", "did you mean 'RookOpen_mg'"),
        ("razor_margin", "--values 1", "razor_margin = 1 is outside 50..800"),
        ("RookOpen_mg", "--values 17 --against 17", "no value is left to scan but 17"),
        ("RookOpen_mg", "--values 1,x", "'x' is not a whole number"),
    ],
)
def test_a_wrong_scan_is_refused_before_a_game(name: str, words: str, said: str) -> None:
    with pytest.raises((UsageError, CommandError, TuneError)) as caught:
        command.run_spsa(["scan", name, *words.split()])
    assert said in str(caught.value)


def test_an_interrupted_scan_goes_on_where_it_was(tmp_path: Path, monkeypatch, capsys):
    where = ["scan", "RookOpen_mg", "--values", "-40,60", "--against", "17"]
    words = [*where, "--games", "4", "--nodes", "20", "--json", "--quiet", "--state"]
    assert command.run_spsa([*words, str(tmp_path / "whole")]) == 0
    whole = json.loads(capsys.readouterr().out)
    play, played = games.play, []

    def break_off(args, config, *others, **more):
        if len(played) == 1:
            return MatchResult(Tally(), interrupted=True), None
        played.append(config.players[0].label)
        return play(args, config, *others, **more)

    monkeypatch.setattr(games, "play", break_off)
    assert command.run_spsa([*words, str(tmp_path / "broken")]) == INTERRUPTED
    part = json.loads(capsys.readouterr().out)
    assert [point["value"] for point in part["points"]] == [-40, 17]
    assert not part["complete"]
    monkeypatch.setattr(games, "play", play)
    assert command.run_spsa([*words, str(tmp_path / "broken")]) == 0
    assert json.loads(capsys.readouterr().out) == whole
    assert whole["complete"] and [point["games"] for point in whole["points"]] == [4, 0, 4]
