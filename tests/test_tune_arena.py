"""The arena: its file, the games that it plays, and what it finds in its folder."""

import json
from pathlib import Path

import numpy as np
import pytest

from merino.core.common.command import CommandError
from merino.eval.evaluation import Number
from merino.eval.families import default
from merino.lab.tune.arena import arena_table, checks, read_arena, standings, values_after
from merino.lab.tune.parameters import TuneError, own_parameters
from merino.lab.tune.spsa_command import run_spsa
from merino.lab.tune.tuning import Tune

OWN = """
games = 8
check = 4
every = 4
methods = ["adaptive", "spsa"]

[cases.own]
nodes = 10

[cases.own.parameters]
RookOpen_mg = { start = -40, dist = 40 }
VAL_N_mg = { start = 250, right = 380, dist = 60, elo = 15 }
"""


def known(engine: str):
    """Two numbers of Merino."""
    numbers = {"RookOpen_mg": Number(28, -200, 200), "VAL_N_mg": Number(373, 0, 3000)}
    return ("engine",) if engine else (), numbers, default().identity


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return path


def test_the_right_values_are_those_of_the_engine_unless_they_are_given(file: Path):
    arena = read_arena(file, known)
    (case,) = arena.cases
    assert case.right.tolist() == [28, 380]
    assert case.start.tolist() == [-40, 250]
    assert (arena.marks, arena.seeds, case.time_control.nodes) == ((4, 8), 1, 10)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("games = 8", "games = 0", "games = 0 is not a whole number above 0"),
        ("games = 8", f"games = 1{'0' * 400}", r"games is more than 1000000000"),
        ("games = 8", "game = 8", "unknown key 'game'"),
        ('"spsa"]', '"sgd"]', "there is no method 'sgd' among"),
        ("every = 4", "every = 9", "every = 9 is more than games = 8"),
        ("every = 4", "every = 3", "every = 3 ends within a pair of games"),
        ('["adaptive", "spsa"]', "5", "methods = 5 is not a list of methods"),
        ('["adaptive", "spsa"]', "[]", r"methods = \[\] is not a list of methods"),
        ('["adaptive", "spsa"]', '["spsa", "spsa"]', "the method 'spsa' is listed twice"),
        ("check = 4", "check = true", "check = True is not a whole number above 0"),
        ('["adaptive", "spsa"]', '[["spsa"]]', r"there is no method \['spsa'\] among"),
        ("nodes = 10", 'nodes = "many"', r"\[cases.own\]: nodes of a time control must be a whole number"),
        ("right = 380", 'right = "x"', r"\[VAL_N_mg\]: right must be a number from 0 to 3000, not 'x'"),
        ("right = 380", "right = -999999", r"\[VAL_N_mg\]: right must be a number from 0 to 3000, not -999999"),
        ("nodes = 10", f"nodes = 1{'0' * 19}", r"\[cases.own\]: nodes of a time control must be a whole number"),
        ("nodes = 10", "node = 10", r"\[cases.own\]: unknown key 'node'"),
        ("RookOpen_mg", "RookOpn", r"\[RookOpn\]: min is missing"),
        ("cases.own", 'cases."../own"', "a name is of letters, digits"),
        ("cases.own", 'cases.""', "a name is of letters, digits"),
        ("[cases.own", "[case.own", "unknown key 'case'"),
    ],
)
def test_a_fault_in_the_file_is_named(file: Path, old: str, new: str, said: str):
    file.write_text(OWN.replace(old, new))
    with pytest.raises(TuneError, match=said):
        read_arena(file, known)


@pytest.mark.parametrize("engine", ["", "x"])
def test_a_number_of_an_arena_that_must_be_an_integer_is_no_float(file: Path, engine: str):
    table = 'razor_margin = { start = 100, dist = 60, type = "float" }'
    file.write_text(OWN.replace("nodes = 10", f"nodes = 10\nengine = '{engine}'") + table)
    with pytest.raises(TuneError, match="razor_margin is an integer; its type must not be float"):
        read_arena(file, lambda command: ((command,) if command else (), own_parameters(default()), {}))


def test_each_method_is_checked_at_each_mark_and_the_start_once(file: Path):
    arena, tuned = read_arena(file, known), []

    def tune(check, wanted):
        found = Tune.new(wanted)
        while (pair := found.ask()) is not None:
            found.tell(2.0 * np.sign(pair.plus[1] - pair.minus[1]))
        tuned.append(check.method)
        return found

    found = list(checks(arena, tune))
    assert tuned == ["adaptive", "spsa"]
    assert [(check.method, check.games) for check in found] == [
        ("", 0),
        ("adaptive", 4),
        ("adaptive", 8),
        ("spsa", 4),
        ("spsa", 8),
    ]
    results = [(check, np.array([2, 0, 2 + check.games])) for check in found]
    table = arena_table(arena, standings(results))
    assert table[0] == "| Case | Numbers | Method | start | 4 games | 8 games |"
    assert table[2].startswith("| own | 2 | `adaptive` | 0 +- ")
    assert "| -" in table[3], "a method that beats the right values leaves less than nothing"


def test_the_values_at_a_mark_are_those_of_the_tune_then(file: Path):
    (case,) = read_arena(file, known).cases
    tune = Tune.new(case.configuration("bspsas", 4, 1))
    while (pair := tune.ask()) is not None:
        tune.tell(2.0 * np.sign(pair.plus[1] - pair.minus[1]))
    first, last = values_after(tune, (4, 8))
    assert last.tolist() == tune.estimate().round().tolist()
    assert 250 < first[1] < last[1]


def test_an_arena_is_played_and_found_again(file: Path, capsys: pytest.CaptureFixture[str]):
    order = ["arena", str(file), "--concurrency", "1", "--quiet", "--json"]
    assert run_spsa(order) == 0
    played = json.loads(capsys.readouterr().out)
    assert [row["games"] for row in played["standings"]] == [0, 4, 8, 4, 8]
    assert all(row["elo_left"] is None or abs(row["elo_left"]) < 1000 for row in played["standings"])
    names = sorted(path.name for path in file.with_suffix(".arena").iterdir())
    assert names == sorted(
        ["own-start.json", *(f"own-{method}-1{end}" for method in ("adaptive", "spsa") for end in ENDS)]
    )
    times = [path.stat().st_mtime_ns for path in file.with_suffix(".arena").glob("*.npz")]
    assert run_spsa(order) == 0
    assert json.loads(capsys.readouterr().out) == played
    assert times == [path.stat().st_mtime_ns for path in file.with_suffix(".arena").glob("*.npz")]


ENDS = (".npz", "-4.json", "-8.json")


def test_an_arena_shows_what_it_found_before_a_case_that_cannot_be_played(file: Path, capsys):
    table = OWN[OWN.index("[cases.own]") :]
    file.write_text(OWN.replace('"adaptive", ', "") + table.replace("cases.own", "cases.two"))
    folder = file.with_suffix(".arena")
    folder.mkdir()
    (folder / "two-start.json").write_text("no state of a match")
    with pytest.raises(CommandError, match=r"two-start.json' is not the state of a match"):
        run_spsa(["arena", str(file), "--concurrency", "1", "--quiet"])
    assert capsys.readouterr().out.splitlines()[2].startswith("| own | 2 | `spsa` | ")


def test_an_engine_that_is_not_there_is_named(file: Path):
    file.write_text(OWN.replace("nodes = 10", 'nodes = 10\nengine = "no-such-engine"'))
    with pytest.raises(CommandError, match="no program 'no-such-engine'"):
        run_spsa(["arena", str(file)])
