"""The list of UCI rules names tests that exist."""

from __future__ import annotations

import re

from tests.uci_process import ROOT


def test_every_rule_names_a_test_and_every_test_named_exists() -> None:
    modules = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py")]
    exist = {name for module in modules for name in re.findall(r"^ *def (test_\w+)\(", module, re.MULTILINE)}
    page = (ROOT / "docs" / "gui.md").read_text(encoding="utf-8").partition("## The rules of UCI\n")[2]
    rows = re.findall(r"^\| (.*) \| (.*) \|$", page, re.MULTILINE)
    rules = {rule: re.findall(r"`(test_\w+)`", tests) for rule, tests in rows if rule not in ("Rule", "---")}
    assert len(rules) > 50
    assert [rule for rule, tests in rules.items() if not tests] == []
    assert {test for tests in rules.values() for test in tests} - exist == set()
