"""Hooks of MkDocs for `make docs`: README, CHANGELOG and CONTRIBUTING become pages, with working links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from tools.check_types import link

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_NAMED_BY_FILE = re.compile(r"\[(?:docs/)?([\w-]+\.md)\]\((?=\S*\1)")
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_startup(**_: Any) -> None:
    """Let the reader of docstrings find the packages by their names."""
    link()


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie beside docs/."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=within_the_site(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page with its links into the rest of the checkout turned into plain text."""
    return within_the_site(markdown)


def within_the_site(text: str) -> str:
    """A page of the checkout's root or of docs/ with the links of the site; one that leaves it goes nowhere."""

    def link(found: re.Match[str]) -> str:
        target, anchor = found[1].removeprefix("../"), found[2] or ""
        if "://" in target:
            return found[0]
        inside = PAGES.get(target, target.removeprefix("docs/"))
        is_there = inside in PAGES.values() or (ROOT / "docs" / inside).exists()
        return f"]({inside}{anchor})" if is_there else "](#)" if not anchor else f"]({anchor})"

    def title(found: re.Match[str]) -> str:
        page = next((path for path in (ROOT / "docs" / found[1], ROOT / found[1]) if path.exists()), None)
        words = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") if page else found[1]
        return f"[{words}]("

    return _LINK.sub(link, _NAMED_BY_FILE.sub(title, text)).replace('src="docs/', 'src="')
