"""`import merino`: one small name for Python, whose examples run."""

import ast
import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import eval.families
import merino
import merino.library

ROOT = Path(__file__).resolve().parent.parent
OFFERED = [name for names in merino.NAMES.values() for name in names]
SOURCE = ROOT / "merino" / "__init__.py"


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """A folder to work in, with none of the user's weights."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERINO_WEIGHTS", str(ROOT / "weights" / "default.txt"))
    return tmp_path


def imported_for_type_checkers():
    (block,) = (
        node
        for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name  # which is how a name is exported to type checkers
            yield node.module, alias.name


def test_type_checkers_see_the_names_that_there_are():
    assert sorted(imported_for_type_checkers()) == sorted(
        (module, name) for module, names in merino.NAMES.items() for name in names
    )


@pytest.mark.parametrize("name", OFFERED)
def test_each_name_is_had_from_its_module_and_documented(name):
    found = getattr(merino, name)
    assert found.__name__ == name
    assert inspect.getdoc(found)
    assert name in dir(merino)


def test_an_unknown_name_is_refused_as_by_any_module():
    with pytest.raises(AttributeError, match="module 'merino' has no attribute 'Sercher'"):
        merino.Sercher  # noqa: B018


def test_importing_loads_nothing_until_a_name_is_used():
    code = (
        "import sys; before = set(sys.modules); import merino; "
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('merino')))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert loaded.split() == ["engine", "engine.common", "engine.common.home"]


def test_no_module_of_the_library_is_in_the_way_of_a_name():
    assert not {path.stem for path in SOURCE.parent.glob("*.py")} & set(OFFERED)


def test_the_examples_in_the_docstrings_are_true(empty_folder):
    results = [doctest.testmod(module) for module in (merino.library, eval.families)]
    assert [result.attempted > 0 for result in results] == [True, True]
    assert not any(result.failed for result in results)


def test_the_examples_of_the_page_are_true(empty_folder):
    result = doctest.testfile(str(ROOT / "docs" / "library.md"), module_relative=False)
    assert result.attempted > 20
    assert not result.failed


def test_evaluations_are_from_whites_view_whoever_is_to_move():
    fens = [f"4k3/8/8/8/8/8/8/Q3K3 {side} - - 0 1" for side in "wb"]
    white, black = map(merino.evaluate, fens)
    assert white > 500 and black > 500
    assert merino.evaluate(merino.Position(fens[1])) == black


def test_an_evaluation_is_found_by_path_by_name_or_not_at_all(tmp_path):
    assert merino.load_evaluation(ROOT / "weights" / "greko2015-after-training.txt").has_terms
    assert not merino.load_evaluation("gen1").has_terms
    with pytest.raises(merino.EvaluationError, match="no-such"):
        merino.load_evaluation(tmp_path / "no-such.txt")


def test_a_position_against_the_rules_is_explained_and_not_searched():
    without_king = "8/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert "king" in str(merino.explain(without_king).fault)
    with pytest.raises(merino.FenError):
        merino.explain(without_king, limits=merino.Limits(depth=2))


def test_a_player_that_is_none_is_refused_before_the_match():
    with pytest.raises(merino.MerinoError, match="nobody"):
        merino.play_match("nobody.txt")
