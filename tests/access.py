"""What axe-core, the checker of accessible pages, finds wrong with the explorer's page."""

from __future__ import annotations

from typing import Any

from axe_core_python.selenium import Axe

from tests.browser import Page

RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},  # all that another scheme changes
}


def violations(page: Page, scheme: str, part: list[str] | None) -> list[str]:
    """What is wrong with the whole page or with parts of it, each with the elements it is about."""
    options = {"runOnly": RULES[scheme], "resultTypes": ["violations"]}
    context = part and {"include": [[selector] for selector in part]}
    found: dict[str, Any] = Axe().run(page.driver, context=context, options=options)
    return [
        f"{each['id']}: {node['target'][0]}: {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"][:4]
    ]
