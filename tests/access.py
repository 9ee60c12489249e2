"""What axe-core, the checker of accessible pages, finds wrong with the explorer's page."""

from __future__ import annotations

from typing import Any

from axe_core_python.base import AXE_SCRIPT

from tests.browser import Page

RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},  # all that another scheme changes
}


def violations_in_all(page: Page, *parts: str) -> list[str]:
    """What is wrong with parts of the page, light and dark, which is light again after that."""
    found = []
    for scheme in RULES:
        page.prefer(scheme)
        found += violations(page, scheme, list(parts))
    page.prefer("light")
    return found


def violations(page: Page, scheme: str, part: list[str] | None) -> list[str]:
    """What is wrong with the whole page or with parts of it, each with the elements it is about."""
    if not page.run("return Boolean(window.axe)"):
        page.run(AXE_SCRIPT)
    script = "return axe.run(arguments[0] ?? document, arguments[1]).then((found) => found.violations)"
    context = part and {"include": [[selector] for selector in part]}
    found: list[dict[str, Any]] = page.run(script, context, {"runOnly": RULES[scheme], "resultTypes": ["violations"]})
    return [
        f"{each['id']}: {node['target'][0]}: {node['failureSummary']}" for each in found for node in each["nodes"][:4]
    ]
