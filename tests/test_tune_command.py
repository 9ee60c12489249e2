"""`merino spsa`: files of parameters, the plan and the simulation as a user sees them."""

import json
from pathlib import Path

import numpy as np
import pytest

from merino.core.board.fen import START_FEN, parse_fen
from merino.core.common.command import UsageError
from merino.core.common.errors import MerinoError
from merino.engine.search.parameters import OLD_NAMES, PARAMETERS
from merino.eval import evaluation, families, linear
from merino.eval.linear.weights import as_mapping, defaults, save
from merino.lab.tune import parameters, rules, tuning
from merino.lab.tune.command import run_spsa
from merino.lab.tune.methods import METHODS, after, estimate, initial_state, next_pair
from merino.match.games import seed_state
from tests.test_docs import ROOT, commands

FISHTEST = "RookOpen_mg, 17, 0, 60, 5, 0.002\nrazor_margin, 200, 50, 800, 40, 0.0025\n"
OPENBENCH = "RookOpen_mg, int, 17, 0, 60, 5, 0.002\nScale, float, 1.5, 0.5, 3, 0.25, 0.004  # not ours\n"
TOML = """
[RookOpen_mg]
c_end = 5
elo = 2
dist = 10

[Scale]
type = "float"
start = 1.5
min = 0.5
max = 3
c_end = 0.25
r_end = 0.004
"""


def test_lines_of_fishtest_and_openbench_are_read_and_printed_back():
    for text in (FISHTEST, OPENBENCH):
        rows = parameters.read_lines(text, "file")
        lines = "\n".join(parameters.lines_of_both(rows, [row.start for row in rows], [row.r_end or 0 for row in rows]))
        assert "\n".join(line.split("  #")[0] for line in text.splitlines()) in lines
    assert [row.whole for row in parameters.read_lines(OPENBENCH, "file")] == [True, False]


def test_toml_takes_missing_numbers_from_the_registry():
    rook, scale = parameters.read_toml(TOML, "file", parameters.own_parameters(families.default()))
    term = next(term for term in linear.registry.TERMS if term.name == "RookOpen")
    assert (rook.start, rook.low, rook.high) == (as_mapping(defaults())["RookOpen_mg"], *term.bounds)
    assert (rook.elo, rook.distance, rook.elo_at_c, rook.whole) == (2, 10, 0.5, True)
    (rook,) = parameters.read_toml(
        "[RookOpen_mg]\ndist = 10\nelo = 2\n", "file", parameters.own_parameters(families.default())
    )
    assert rook.c_end == pytest.approx(22) and rook.elo_at_c == pytest.approx(2 * 2.2**2)
    assert scale == parameters.TunedParameter("Scale", 1.5, 0.5, 3, 0.25, 0.004, whole=False)


def test_every_weight_and_every_number_of_the_search_can_be_tuned():
    weights = {term.name + suffix for term in linear.registry.TERMS for suffix in linear.phases.SUFFIXES}
    wholes = {term.name for term in linear.registry.TERMS if as_mapping(defaults()).get(term.name) is not None}
    assert set(parameters.own_parameters(families.default())) - OLD_NAMES.keys() == weights | wholes | {
        row.name for row in PARAMETERS
    }


def test_a_tune_starts_from_the_weights_file_that_is_named(tmp_path, capsys):
    weights = np.array([33.0 if term.name == "RookOpen" else sum(term.bounds) // 2 for term in linear.registry.TERMS])
    save(tmp_path / "w.txt", weights)
    (tmp_path / "p.toml").write_text("[RookOpen]\nc_end = 5\n")
    mine = ["--weights", str(tmp_path / "w.txt")]
    assert run_spsa(["plan", str(tmp_path / "p.toml"), *mine]) == 0
    said = capsys.readouterr().out
    assert "1 parameter;" in said and "RookOpen, 33, " in said
    tune = ["tune", str(tmp_path / "p.toml"), "--pairs", "1", "--nodes", "20", "--concurrency", "1"]
    assert run_spsa([*tune, *mine]) == 0
    assert "RookOpen " in capsys.readouterr().out
    with pytest.raises(MerinoError, match="RookOpen has a value for each phase"):
        run_spsa([*tune, "--state", str(tmp_path / "other.npz")])


def test_a_tune_of_the_search_for_a_net_writes_that_net_with_what_was_tuned(tmp_path, capsys):
    (tmp_path / "p.toml").write_text("[razor_margin]\nc_end = 20\n")
    tune = ["tune", str(tmp_path / "p.toml"), "--evalfile", "gen1", "--pairs", "1", "--nodes", "20"]
    assert run_spsa([*tune, "--concurrency", "1", "--quiet"]) == 0
    said = capsys.readouterr().out
    net = tmp_path / "p.tune.net"
    assert f"The tuned evaluation is in '{net}'" in said
    assert said.rstrip().endswith(f"As a player of 'merino match': {net}")
    (tuned,) = tuning.load_tune(tmp_path / "p.tune.npz").estimate().round()
    assert families.load(net).search_numbers == {"razor_margin": tuned}
    assert parameters.own_parameters(families.load(net))["razor_margin"].value == tuned
    assert families.load(net).scores(parse_fen(START_FEN)) == families.load_net("gen1").scores(parse_fen(START_FEN))


def test_a_term_of_two_values_is_tuned_by_phase():
    known = {name: evaluation.Number(value, -200, 200, part_of="X") for name, value in (("X_mg", 30.0), ("X_eg", 18.0))}
    with pytest.raises(parameters.TuneError, match="X has a value for each phase; tune X_mg and X_eg"):
        parameters.read_toml("[X]\nc_end = 5\n", "file", known)
    with pytest.raises(parameters.TuneError, match="tune X_mg and X_eg"):
        parameters.check_tunable([parameters.TunedParameter("X", 24, 0, 60, 5)], known)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a, 1, 0, 2, 1", "file:1: expected 'name, start, min, max, c_end, r_end'"),
        ("a, 1, 0, 2, x, 1", "file:1: 'x' is no number"),
        ("# one\na, 3, 0, 2, 1, 1", "file:2: a: start = 3 is outside the bounds 0..2"),
        ("a, 1, 0, 2, 0, 1", "file:1: a: c_end = 0 is not from 1e-09 to 1e+12"),
        ("a, 1, 0, 2, 1, -1", "file:1: a: r_end = -1 is not from"),
        ("a, 1, 1, 1, 1, 1", "file:1: a: the bounds 1..1 leave nothing to tune"),
        ("a, 0.5, 0.2, 0.9, 1, 1", "file:1: a: the bounds 0.2..0.9 hold no two integers"),
        ("a, nan, 0, 2, 1, 1", "file:1: 'nan' is no number"),
        ("a, real, 1, 0, 2, 1, 1", "file:1: the type of a must be 'int' or 'float', not 'real'"),
        ("a, 1, 0, 2, 1, 1\na, 1, 0, 2, 1, 1", "file: a is listed twice"),
        ("\n# nothing\n", "file lists no parameters"),
    ],
)
def test_a_faulty_line_is_named_with_its_fault(text, said):
    with pytest.raises(parameters.TuneError) as caught:
        parameters.read_lines(text, "file")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a", "file: Expected ']'"),
        ("a = 1", "file: a is not a table"),
        ("[a]\nc_end = 1", "file: [a]: start is missing"),
        ("[RookOpn_mg]\nc_end = 1", "file: [RookOpn_mg]: start is missing; did you mean 'RookOpen_mg'?"),
        ("[RookOpen_mg]\nelo = 1", "file: [RookOpen_mg]: c_end (or dist) is missing"),
        ("[RookOpen_mg]\nc = 1", "file: [RookOpen_mg]: unknown key 'c'"),
        ("[RookOpen_mg]\nc_end = true", "file: [RookOpen_mg]: c_end = True is not a number"),
        ('[RookOpen_mg]\nc_end = 1\ntype = "whole"', "file: [RookOpen_mg]: type must be 'int' or 'float', not 'whole'"),
        ("[RookOpen_mg]\nc_end = 1\ntype = ['int']", "file: [RookOpen_mg]: type must be 'int' or 'float', not ['int']"),
        pytest.param(f"[RookOpen_mg]\nc_end = 1{'0' * 400}", "file: [RookOpen_mg]: c_end = 10", id="large"),
        pytest.param(f"[RookOpen_mg]\nc_end = 1{'0' * 5000}", "file: Exceeds the limit", id="long"),
        pytest.param(f"a = {'[' * 3000}{']' * 3000}", "file: ", id="deep"),
        ("[RookOpen_mg]\nc_end = 1e200\ndist = 1", "file: [RookOpen_mg]: c_end = 1e+200 is not a number up to 1e+12"),
        ("[RookOpen_mg]\nc_end = 1e-200\ndist = 1", "file: RookOpen_mg: c_end = 1e-200 is not from"),
        (
            "[RookOpen_mg]\nc_end = 5\ndist = 0.001\nelo = 5000",
            "file: RookOpen_mg: a displacement costs 5e+03 Elo at 0.001, and so 1.25e+11 at c_end; 1000000 is the most",
        ),
        ("[RookOpen_mg]\ndist = -1", "file: RookOpen_mg: c_end = -2.2"),
        ("[RookOpen_mg]\nc_end = 1\ndist = 0", "file: RookOpen_mg: dist = 0 is not from"),
    ],
)
def test_a_faulty_table_is_named_with_its_fault(text, said):
    with pytest.raises(parameters.TuneError) as caught:
        parameters.read_toml(text, "file", parameters.own_parameters(families.default()))
    assert str(caught.value).startswith(said)


def test_the_simulation_prints_methods_side_by_side(capsys: pytest.CaptureFixture[str]):
    assert run_spsa(["simulate", "S0", "S2", "--parameters", "1,2", "--pairs", "300", "--runs", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("S0: ")
    assert lines[4].split() == ["parameters", "spsa", "bspsas", "bspsa"]
    assert [line.split()[0] for line in lines[5:13]] == ["1", "gain", "in", "careful", "2", "gain", "in", "careful"]
    assert lines[14].startswith("S2: ")


def test_the_simulation_prints_json_with_the_figure_of_the_paper(capsys: pytest.CaptureFixture[str]):
    run_spsa(["simulate", "--methods", "bspsa", "--parameters", "3,4", "--runs", "2", "--json"])
    ours, known = json.loads(capsys.readouterr().out)
    assert (known["method"], known["setting"], known["parameters"]) == ("bspsa", "S0", 4)
    assert (known["pairs"], known["runs"]) == (200_000, 2)
    assert known["paper_mean_loss_elo"] == pytest.approx(2 - 1.9953)
    assert 0 < known["mean_loss_elo"] < 0.05
    assert known["standard_error"] > 0
    assert known["mean_gain_elo"] == pytest.approx(2 - known["mean_loss_elo"])
    assert known["standard_deviation"] == pytest.approx(known["standard_error"] * 2**0.5)
    assert (known["paper_mean_gain_elo"], known["paper_standard_deviation"]) == (1.9953, 0.0033)
    assert "paper_mean_loss_elo" not in ours


def test_the_plan_says_how_many_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "some.toml"
    file.write_text("".join(f"[{row.name}]\nc_end = {(row.bounds[1] - row.bounds[0]) / 8}\n" for row in PARAMETERS[:8]))
    lines = {}
    for target in ("2", "9"):
        assert run_spsa(["plan", str(file), "--target", target]) == 0
        lines[target] = capsys.readouterr().out.splitlines()
    assert lines["2"][0].startswith("8 parameters; 8 Elo to gain")
    pairs = int(lines["2"][1].split()[0])
    assert lines["2"][1] == f"{pairs} pairs of games ({2 * pairs} games) leave 2 Elo to gain"
    assert lines["9"][1] == "No games are needed: the start is expected to lose no more than 8 Elo"


PAGE = "docs/tuning.md"
SMALL = {
    "simulate": ["--parameters", "1", "--pairs", "40", "--runs", "2"],
    "scan": ["--games", "2", "--nodes", "10", "--values", "20,30"],
    "tune": ["--pairs", "2", "--nodes", "10"],
}


def test_every_command_of_the_page_runs_in_small(tmp_path, monkeypatch, capsys):
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    shown = [words for command, *words in commands(PAGE) if command == "spsa" and words]
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text.split("```toml\n")[1].split("```")[0])
    names = {"FILE": "mine.toml", "NAME": "RookOpen_mg"}
    ran = []
    for command, *words in shown:
        if words or command == "simulate":  # others are only mentioned
            given = [names.get(word, word) for word in words]
            assert run_spsa([command, *given, *SMALL.get(command, [])]) == 0, (command, *words)
            ran.append(command)
    assert set(ran) == {"simulate", "scan", "tune", "replay", "plan"}
    assert "RookMobility_mg, each value against" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulate", "S9"], "there is no setting 'S9'"),
        (["simulate", "--methods", "adam"], "there is no method 'adam'"),
        (["simulate", "--runs", "1"], "'1' is not a whole number from 2 on"),
        (["simulate", "--pairs", "0"], "'0' is not a whole number"),
        (["simulate", "--parameters", "4,3000000"], "are not numbers of parameters, each at most 1000"),
    ],
)
def test_a_wrong_command_line_is_explained(arguments, said):
    with pytest.raises(UsageError) as caught:
        run_spsa(arguments)
    assert said in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("span", [parameters.MIN_SIZE, 1.0, parameters.MAX_SIZE])
def test_a_tune_at_the_ends_of_the_scales_has_numbers(method: str, span: float):
    for size in (parameters.MIN_SIZE, 1.0, parameters.MAX_SIZE):
        for elo in (parameters.MIN_SIZE, 1.0, parameters.MAX_COST):
            step = None if elo == 1.0 else parameters.MAX_SIZE
            row = parameters.check(parameters.TunedParameter("a", 0, 0, span, size, step, False, elo, size), "a")
            settings = parameters.settings_for(METHODS[method], [row], 50)
            state, random = initial_state(settings, np.zeros(1)), seed_state(1)
            for number, y in enumerate((2.0, -2.0, 0.0, 1.0, 2.0), start=1):
                state = after(settings, state, rules.PairResult(number, *next_pair(settings, state, number, random), y))
            assert np.isfinite(estimate(settings, state)).all(), (size, elo)


def test_a_fault_in_a_file_ends_the_command_with_a_sentence(tmp_path: Path, shell):
    with pytest.raises(MerinoError, match="cannot read"):
        run_spsa(["plan", str(tmp_path / "missing.txt")])
    assert shell("spsa", "plan", tmp_path / "missing.txt", status=1).startswith("merino: spsa plan: cannot read")
