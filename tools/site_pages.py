"""Hooks of MkDocs for `make docs`: README, CHANGELOG and CONTRIBUTING become pages, with working links."""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_NAMED_BY_FILE = re.compile(r"\[(?:[\w-]+/)*([\w-]+\.md)\]\((?P<path>[^)#\s]*\1)")
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie next to docs/."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=within_the_site(text, ROOT, "")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """A page with its links into the rest of the checkout turned into plain text."""
    if page.file.src_uri in PAGES.values():
        return markdown  # see `on_files`
    folder = (DOCS / page.file.src_uri).parent
    return within_the_site(markdown, folder, folder.relative_to(DOCS).as_posix())


def within_the_site(text: str, folder: Path, place: str) -> str:
    """A page of the checkout with the links of the site.

    `folder` is where the page lies, `place` the folder of the site where it is shown. A link that leaves the site goes
    nowhere, and a link that is named by its file gets the title of that page.
    """

    def link(found: re.Match[str]) -> str:
        if "://" in found[0]:
            return found[0]
        target, anchor = Path(os.path.normpath(folder / found[1])), found[2] or ""
        beside = {ROOT / source: DOCS / page for source, page in PAGES.items()}
        if target not in beside and not (target.is_relative_to(DOCS) and target.exists()):
            return f"]({anchor or '#'})"
        shown = os.path.relpath(beside.get(target, target), DOCS / place).replace(os.sep, "/")
        return f"]({shown}{anchor})"

    def title(found: re.Match[str]) -> str:
        page = folder / found["path"]
        words = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") if page.exists() else found[1]
        return f"[{words}]({found['path']}"

    return _LINK.sub(link, _NAMED_BY_FILE.sub(title, text)).replace('src="docs/', 'src="')
