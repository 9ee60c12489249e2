"""What axe-core, the checker of accessible pages, finds wrong with the explorer's page."""

from typing import Any

from axe_core_python.base import AXE_SCRIPT

from tests.browser import Page

RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},  # all that another scheme changes
}


ALIKE = "tbody tr:nth-child(n+7)"  # rows of a table that are like those before them
CHECK = """
    const [context, options, alike] = arguments, rows = [...document.querySelectorAll(alike)];
    for (const row of rows) row.style.display = "none";
    return axe.run(context, options).then(({ violations }) => {
        for (const row of rows) row.style.display = "";
        return violations;
    });
"""


def violations(page: Page, *parts: str, scheme: str = "light") -> list[str]:
    """What is wrong with the whole page or with parts of it, each with the elements it is about."""
    if not page.run("return Boolean(window.axe)"):
        page.run(AXE_SCRIPT)
    context = {"include": [[selector] for selector in parts or ("html",)]}
    found: list[dict[str, Any]] = page.run(
        CHECK, context, {"runOnly": RULES[scheme], "resultTypes": ["violations"]}, ALIKE
    )
    return [
        f"{each['id']}: {node['target'][0]}: {node['failureSummary']}" for each in found for node in each["nodes"][:4]
    ]
