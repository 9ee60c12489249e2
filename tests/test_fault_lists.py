"""The lists of planted faults: each can still be planted, and the tests that cover it exist."""

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.fault_lists import ROOT, Fault, FaultError, chosen, read_faults

FAULT = Fault("area", "name", "m.py", "x = 1", "x = 2", "why", ("tests/test_fault_lists.py",), "python")
TEXT = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    y = 1\n    return y\n"


@cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_each_fault_of_the_lists_can_be_planted() -> None:
    for fault in read_faults():
        fault.planted((ROOT / fault.file).read_text(encoding="utf-8"))


def test_each_fault_names_tests_that_exist() -> None:
    for fault in read_faults():
        for test in fault.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).is_file(), fault
            assert not name or name.partition("[")[0] in names_in(path), (str(fault), name)


def test_a_fault_changes_its_line_and_no_other() -> None:
    assert FAULT.planted(TEXT) == TEXT.replace("x = 1", "x = 2")
    second = replace(FAULT, after="def g", line="return", fault="return 2 *")
    assert second.planted(TEXT) == TEXT.replace("return y", "return 2 * y")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"line": "z = 1"}, "stands 0 times in m.py"),
        ({"line": "return"}, "stands 2 times in m.py"),
        ({"after": "def h"}, "stands 0 times in m.py"),
        ({"after": "def g"}, "m.py has no 'x = 1'"),
        ({"fault": "x = 1"}, "no change"),
        ({"fault": "x = ("}, "no Python"),
        ({"fault": "x = 2\n    z = 3"}, "one line"),
    ],
)
def test_a_fault_that_cannot_be_planted_says_why(change: dict[str, str], reason: str) -> None:
    with pytest.raises(FaultError, match=f"area/name: .*{reason}"):
        replace(FAULT, **change).planted(TEXT)  # type: ignore[arg-type]


ROW = '[[fault]]\nname = "{}"\nfile = "m.py"\nline = "a"\nfault = "b"\nwhy = "{}"\ntests = ["t.py"]\nmode = "{}"\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ROW.format("a", "why", "python") * 2, "two faults"),
        (ROW.format("a", "why", "fast"), "mode is compiled or python"),
        (ROW.format("a", "", "python"), "why must be named"),
        (ROW.format("a", "why", "python") + 'color = "red"\n', "color"),
        ("[[fault]]\n", "tests"),
        ("[[fault\n", "Expected"),
    ],
)
def test_a_list_that_cannot_be_read_says_why(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(FaultError, match=f"x.*{reason}"):
        read_faults(tmp_path)


def test_faults_are_chosen_by_area_or_name() -> None:
    faults = [FAULT, replace(FAULT, name="other"), replace(FAULT, area="page", name="third")]
    assert chosen(faults, []) == faults
    assert chosen(faults, ["area"]) == faults[:2]
    assert chosen(faults, ["third", "name"]) == [faults[0], faults[2]]
    with pytest.raises(FaultError, match="'nowhere'"):
        chosen(faults, ["nowhere"])
