"""A set of terms of the user's own, from a Python file that an option names and no weights file can."""

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.game import Position
from merino.engine.report.phrases import _term, group_of, is_usual
from merino.engine.search import limits, searcher
from merino.eval.evaluation import EvaluationError
from merino.eval.families import from_identity, load
from merino.eval.linear import own_file, sets
from tests.rows import few_games

ON_THE_RIM = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P3N/2NB4/PP3PPP/R1BQ1RK1 b - - 0 9"
SOURCE = '''
from merino.terms import Group, Phase, bitboard, derived

TERMS = derived("mine", "greko2015", without=["Rook7th"])


@TERMS.term("KnightOnRim", Group.BOARD_CONTROL, (-100, 100), sign=-1)
def knight_on_rim(view):
    """A knight on the a- or h-file."""
    return bitboard.popcount(view.knights & ~(bitboard.NOT_A & bitboard.NOT_H))
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of own terms in use."""
    path = tmp_path / "my_terms.py"
    path.write_text(SOURCE)
    monkeypatch.setenv(own_file.ENVIRONMENT_VARIABLE, str(path))
    return path


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A weights file for the set, with the new term."""
    path = tmp_path / "mine.txt"
    path.write_text("set mine\nKnightOnRim -50\n")
    return path


def test_code_follows_a_module_next_to_the_file(own, monkeypatch):
    monkeypatch.syspath_prepend(own.parent)
    own.write_text(f"import rim_helper_of_a_test\n{SOURCE}")
    versions = []
    for number in (1, 2, 2):
        own.with_name("rim_helper_of_a_test.py").write_text(f"NUMBER = {number}\n")
        sys.modules.pop("rim_helper_of_a_test", None)
        sets._set_in.cache_clear()
        versions.append(sets.set_named("mine").version)
    assert versions[0] != versions[1] == versions[2]


def test_a_weights_file_for_it_has_the_weights_of_the_base_and_the_new_term(own, weights):
    numbers = load(weights).named()
    base = load(Path(__file__).parents[1] / "weights" / "default.txt").named()
    assert numbers.pop("KnightOnRim") == -50
    assert {name: value for name, value in base.items() if not name.startswith("Rook7th")} == numbers


def test_the_new_term_counts_in_the_score_the_explanation_and_the_search(own, weights, capsys):
    assert main(["explain", ON_THE_RIM, "--weights", str(weights), "--json", "--static"]) == 0
    (line,) = [each for each in json.loads(capsys.readouterr().out)["terms"] if each["name"] == "KnightOnRim"]
    assert line["net_cp"] == pytest.approx(-60), "one knight, 50 centipawns, a group of 1.2"
    position = Position(ON_THE_RIM)
    with_term = searcher.Searcher(1, evaluation=load(weights)).search(position, limits.Limits(depth=6))
    weights.write_text("set mine\nKnightOnRim 0\n")
    without = searcher.Searcher(1, evaluation=load(weights)).search(position, limits.Limits(depth=6))
    assert with_term.line and without.line and with_term.line.score != without.line.score


MORE = '''

@TERMS.term("Hanging", Group.KING_SAFETY, (-100, 100), sign=-1)
def hanging(view):
    """Pawns on the a-file."""
    return bitboard.popcount(view.pawns & ~bitboard.NOT_A)
'''


def test_same_named_terms_of_two_sets_keep_their_own_sign(own):
    own.write_text(SOURCE + MORE)
    _term.cache_clear()
    try:
        assert is_usual("Hanging", -20) and not is_usual("Hanging", 20)
        assert group_of("Hanging").title == "King safety" and is_usual("PawnDoubled", -20)
    finally:
        _term.cache_clear()


TABLE = '''

@TERMS.table("RookByPawns", Group.MATERIAL, (-100, 100), map(str, range(9)))
def rook_by_pawns(view, at, cells):
    """A rook, by how many pawns its side has."""
    return at(cells, bitboard.popcount(view.pawns), bitboard.popcount(view.rooks))
'''


def test_a_table_counts_in_the_score_and_the_explanation_and_shows_its_cells(own, tmp_path, capsys):
    own.write_text(SOURCE + TABLE)
    path = tmp_path / "mine.txt"
    path.write_text("set mine\nRookByPawns_7 30 10\n")
    fen = "4k3/ppppppp1/8/8/8/8/PPPPPPPP/R3K2R w - - 0 1"
    assert main(["explain", fen, "--weights", str(path), "--json", "--static"]) == 0
    report = json.loads(capsys.readouterr().out)
    (line,) = [each for each in report["terms"] if each["name"] == "RookByPawns"]
    assert (line["white_cp"], line["black_cp"], line["weight"]) == (0, 0, 1), "eight pawns, and no rook of Black's"
    assert main(["explain", fen.replace("PPPPPPPP", "PPPPPPP1"), "--weights", str(path), "--json", "--static"]) == 0
    report = json.loads(capsys.readouterr().out)
    (line,) = [each for each in report["terms"] if each["name"] == "RookByPawns"]
    assert 20 < line["white_cp"] < 60, "two rooks, 10 each in the endgame and 30 in the middlegame"
    assert sum(each["net_cp"] for each in report["terms"]) == pytest.approx(report["static"]["sum_cp"])
    assert main(["weights", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "RookByPawns, a table of 9" in shown and " 0    0    0    0    0    0    0   30    0" in shown


def test_a_table_of_weights_that_is_too_small_is_an_error_and_no_search_fails(own, tmp_path, capsys):
    own.write_text(SOURCE + TABLE.replace("range(9)", "range(7)"))  # one cell too few for seven pawns
    path = tmp_path / "mine.txt"
    path.write_text("set mine\nRookByPawns_2 30\n")
    found = searcher.Searcher(1, evaluation=load(path)).search(Position(), limits.Limits(depth=4))
    assert found.line and found.line.pv
    games = few_games(tmp_path)
    for words in (["explain", ON_THE_RIM], ["learn", str(games), "--teacher", "off", "--no-match"]):
        assert main([*words, "--weights", str(path)]) != 0
        assert "the table RookByPawns counts in a cell that it does not have" in capsys.readouterr().err
    assert path.read_text() == "set mine\nRookByPawns_2 30\n"


def test_it_reaches_other_processes_and_states_by_its_name(own, weights):
    evaluation = load(weights)
    assert pickle.loads(pickle.dumps(evaluation)).terms is evaluation.terms is sets.set_named("mine")
    assert from_identity(evaluation.identity).named() == evaluation.named()
    with pytest.raises(EvaluationError, match="its file differs"):
        from_identity({**evaluation.identity, "version": "another"})


def test_without_the_option_no_weights_file_brings_it_in(weights):
    with pytest.raises(EvaluationError, match=r"mine.txt:1: there is no set of terms named 'mine'; .*--own-terms FILE"):
        load(weights)


def test_the_option_comes_before_the_command(own, weights, monkeypatch, capsys):
    monkeypatch.setenv(own_file.ENVIRONMENT_VARIABLE, "another.py")
    assert main(["--own-terms", str(own), "weights", str(weights)]) == 0
    shown = capsys.readouterr().out
    assert "KnightOnRim" in shown and "Rook7th" not in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--own-terms"], "needs a Python file"),
        (["--own-terms", "nosuch.py", "bench"], "cannot read 'nosuch.py': No such file"),
        (["--own-terms=/dev/zero", "bench"], "it is a device, not a regular file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_at_once(arguments, complaint, capsys):
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("import Group,", "import Grup,", "cannot be used: ImportError"),
        ("TERMS =", "MINE =", "cannot be used: NameError"),
        ('"mine"', '"full"', "another name than 'full'"),
        ('"mine"', '"my set"', "'my set' cannot be a name"),
        ('"Rook7th"', '"Rook8th"', "greko2015 has no term called 'Rook8th'; did you mean 'Rook7th'"),
        ("sign=-1", "Phase.ENDGAME, pawns_and_kings=True", "cannot depend on pawns and kings alone: its phase"),
        ('"KnightOnRim"', '"KnightCenter"', "two terms are called 'KnightCenter'"),
        ('"KnightOnRim"', '"set"', "'set' cannot be a name; 'set', and names that end in _mg or _eg, mean other"),
        ('"KnightOnRim"', '"Rim_eg"', "'Rim_eg' cannot be a name"),
        ('without=["Rook7th"]', 'without=["VAL_P", "VAL_N", "VAL_B", "VAL_R", "VAL_Q"]', "the value of a pawn"),
        ("view.knights", "view.nights", "the term KnightOnRim does not compile: Unknown attribute 'nights'"),
        ("bitboard.popcount", "popcount", "the term KnightOnRim does not compile: NameError: name 'popcount'"),
    ],
)
def test_a_faulty_file_is_refused(own, weights, old, new, complaint):
    own.write_text(SOURCE.replace(old, new))
    with pytest.raises(EvaluationError) as error:
        searcher.Searcher(1, evaluation=load(weights))
    assert complaint in str(error.value) and sets.SETS


def test_a_changed_term_is_compiled_again(own, weights, tmp_path, monkeypatch):
    record = np.stack([Position(ON_THE_RIM).record[0]])
    first = float(load(weights).white_scores(record)[0])
    changed = tmp_path / "changed.py"
    changed.write_text(SOURCE.replace("return bitboard", "return 2 * bitboard"))
    monkeypatch.setenv(own_file.ENVIRONMENT_VARIABLE, str(changed))
    assert float(load(weights).white_scores(record)[0]) == pytest.approx(first - 60)
