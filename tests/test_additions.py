"""What CONTRIBUTING says of additions: each patch still applies, changes so many files, and passes its quick tests."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import mutants
from tests.additions import Addition, AdditionError, prove_quickly, read_addition, read_additions
from tests.fault_lists import ROOT

ADDITIONS = read_additions()
PATCH = """Adds: a line
Tables: docs/table.md
Tests: test_module.py
Quick: test_module.py

diff --git a/module.py b/module.py
--- a/module.py
+++ b/module.py
@@ -1 +1,2 @@
 first = 1
+second = 2
"""

each_addition = pytest.mark.parametrize("addition", ADDITIONS, ids=lambda addition: addition.name)
in_a_checkout = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None, reason="patches are for a checkout with git"
)


@each_addition
def test_contributing_says_how_many_files_an_addition_changes(addition: Addition) -> None:
    page = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    said = re.findall(rf"`tests/additions/{addition.name}\.patch`[^.]*? (\d+) files", page)
    assert said == [str(len(addition.files))], f"it changes {', '.join(addition.files)}"


@each_addition
def test_an_addition_comes_with_a_test_and_names_tests_that_exist(addition: Addition) -> None:
    assert any(re.fullmatch(r"tests/(test_|naive)\w*\.(py|txt)", name) for name in addition.files)
    for test in (*addition.tests, *addition.quick):
        assert (ROOT / test.partition("::")[0]).is_file(), test


@in_a_checkout
@each_addition
def test_an_addition_still_applies(addition: Addition) -> None:
    addition.apply(ROOT, check=True)


@in_a_checkout
def test_the_quick_tests_pass_with_all_additions_at_once(tmp_path: Path) -> None:
    prove_quickly(ADDITIONS, tmp_path)


@in_a_checkout
def test_an_addition_that_fails_or_does_not_apply_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, path = tmp_path / "checkout", tmp_path / "line.patch"
    root.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    (root / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--seconds')\n")
    (root / "module.py").write_text("first = 1\n")
    (root / "test_module.py").write_text("import module\n\n\ndef test_second():\n    assert module.second == 2\n")
    (root / "docs").mkdir()
    (root / "docs" / "table.md").write_text("first = 1\n")
    (root / "tools").mkdir()
    (root / "tools" / "doc_tables.py").write_text("import shutil\n\nshutil.copy('module.py', 'docs/table.md')\n")
    path.write_text(PATCH)
    monkeypatch.setattr(mutants, "ROOT", root)
    assert "1 passed" in prove_quickly([read_addition(path)], tmp_path / "right")
    path.write_text(PATCH.replace("Tables: docs/table.md", "Tables:"))
    with pytest.raises(AdditionError, match=r"changes \['docs/table\.md'\], but the additions say \[\]"):
        prove_quickly([read_addition(path)], tmp_path / "silent")
    path.write_text(PATCH.replace("+second = 2", "+second = 3"))
    with pytest.raises(AdditionError, match=r"the tests do not pass \(pytest returns 1\)"):
        prove_quickly([read_addition(path)], tmp_path / "wrong")
    (root / "module.py").write_text("else = 1\n")
    with pytest.raises(AdditionError, match=r"line\.patch does not apply any more"):
        prove_quickly([read_addition(path)], tmp_path / "moved")


def test_a_patch_says_what_it_adds_and_which_tests_it_touches(tmp_path: Path) -> None:
    path = tmp_path / "line.patch"
    path.write_text(PATCH)
    found = read_addition(path)
    assert (found.name, found.adds, found.files) == ("line", "a line", ("module.py", "docs/table.md"))
    path.write_text(PATCH.replace("Tables: docs/table.md", "Tables:"))
    assert read_addition(path).files == ("module.py",)
    path.write_text(PATCH.replace("Tests: test_module.py\n", ""))
    with pytest.raises(AdditionError, match=r"line\.patch must begin with lines Adds, Tables, Tests, Quick"):
        read_addition(path)
