"""The planting of faults: caught if a test fails, in a copy that is then as before; never without a control."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests import mutants
from tests.fault_lists import Fault, FaultError
from tools.markdown import with_section

FAULT = Fault("area", "wrong", "module.py", "a + b", "a - b", "why", ("test_module.py",), "python")
EQUAL = replace(FAULT, name="equal", fault="b + a")
HANGS = replace(FAULT, name="hangs", fault="a if b else add(a, b) if b else __import__('time').sleep(60)")
CONFTEST = "def pytest_addoption(parser):\n    parser.addoption('--seconds')\n"
TEST = "from module import add\n\n\ndef test_add():\n    assert add(2, 0) == 2\n    assert add(2, 3) == 5\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of one module with its test, in place of ours."""
    if shutil.which("git") is None:
        pytest.skip("a checkout needs git")
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "module.py").write_text("def add(a, b):\n    return a + b\n")
    (root / "test_module.py").write_text(TEST)
    (root / "conftest.py").write_text(CONFTEST)
    (root / ".gitignore").write_text("ignored\n")
    (root / "ignored").write_text("of the user's")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    monkeypatch.setattr(mutants, "ROOT", root)
    return root


def test_a_fault_is_caught_by_a_test_that_fails_and_survives_where_none_does(checkout: Path, tmp_path: Path) -> None:
    copy = mutants.Copy(tmp_path / "copy", tmp_path / "nothing compiled")
    assert not (copy.root / "ignored").exists()
    mutants.control(copy, [FAULT, EQUAL], limit=60)
    caught, survived = copy.find(FAULT, limit=60), copy.find(EQUAL, limit=60)
    assert caught.caught and caught.by == "test_module.py::test_add"
    assert not survived.caught
    assert (copy.root / "module.py").read_text() == (checkout / "module.py").read_text()


def test_a_run_that_takes_too_long_is_caught_only_where_the_fault_says_so(checkout: Path, tmp_path: Path) -> None:
    copy = mutants.Copy(tmp_path / "copy", tmp_path / "nothing compiled")
    assert not copy.find(HANGS, limit=0.3).caught
    assert copy.find(replace(HANGS, hangs=True), limit=0.3).caught


def test_without_a_control_that_passes_nothing_is_found(checkout: Path, tmp_path: Path) -> None:
    (checkout / "module.py").write_text("def add(a, b):\n    return a * b\n")
    copy = mutants.Copy(tmp_path / "copy", tmp_path / "nothing compiled")
    with pytest.raises(FaultError, match="without a fault"):
        mutants.control(copy, [FAULT], limit=60)
    with pytest.raises(FaultError, match="area/wrong: pytest returns"):
        copy.find(replace(FAULT, line="a * b", tests=("test_nothing.py",)), limit=60)


def test_what_is_compiled_of_a_fault_is_gone_with_it(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "seed" / "known").mkdir(parents=True)
    copy = mutants.Copy(tmp_path / "copy", tmp_path / "seed")
    with copy.with_fault(FAULT):
        assert "a - b" in (copy.root / "module.py").read_text()
        (copy.home / "cache" / "new").mkdir()
    assert [folder.name for folder in (copy.home / "cache").iterdir()] == ["known"]


def test_a_result_holds_until_the_fault_its_module_or_its_tests_change(checkout: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    mutants.Results(path, resume=False).add(FAULT.digest(checkout), mutants.Finding(True, "a test", 1.5))
    resumed = mutants.Results(path, resume=True)
    assert resumed.of(FAULT) == mutants.Finding(True, "a test", 1.5)
    assert resumed.of(EQUAL) is None
    assert mutants.Results(path, resume=False).of(FAULT) is None
    (checkout / "test_module.py").write_text(TEST + "\n")
    assert resumed.of(FAULT) is None


def test_the_table_counts_by_area_and_stands_between_its_marks(checkout: Path, tmp_path: Path) -> None:
    results = mutants.Results(tmp_path / "results.json", resume=False)
    results.add(FAULT.digest(checkout), mutants.Finding(True, "a test", 1.0))
    results.add(EQUAL.digest(checkout), mutants.Finding(False, "no test", 1.0))
    shown = mutants.table([FAULT, EQUAL], results)
    assert shown.splitlines()[2:] == ["| area | 2 | 1 |", "| **all** | 2 | 1 |"]
    page = "before\n<!-- mutants -->\nold\n<!-- /mutants -->\nafter\n"
    assert with_section(page, "mutants", shown) == page.replace("old", shown)
    with pytest.raises(ValueError, match="no <!-- mutants -->"):
        with_section("before\n", "mutants", shown)
