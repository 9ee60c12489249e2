"""README and docs/ tell the truth: their tables are those of the registries, their files and commands exist."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PAGES = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
TABLES = runpy.run_path(str(ROOT / "tools" / "doc_tables.py"))


def text_of(page: str) -> str:
    return PAGES[page].read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_up_to_date(page):
    assert TABLES["renewed"](text_of(page)) == text_of(page), "run python tools/doc_tables.py"


@pytest.mark.parametrize("table", TABLES["TABLES"])
def test_each_table_stands_in_one_page(table):
    assert sum(text_of(page).count(f"<!-- {table} -->") for page in PAGES) == 1


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_links_to_exists(page):
    for link in re.findall(r"\]\(([^)]+)\)", text_of(page)):
        if "://" not in link:
            file, _, anchor = link.partition("#")
            target = PAGES[page].parent / file if file else PAGES[page]
            assert target.exists(), link
            assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def test_the_readme_is_short_and_links_to_every_page():
    assert len(README.splitlines()) <= 180
    linked = {page for page in PAGES if f"]({page})" in README}
    within = {page for page in PAGES if any(f"]({Path(page).name})" in text_of(other) for other in linked)}
    assert PAGES.keys() - {"README.md"} <= linked | within


@pytest.mark.parametrize("page", [page for page in PAGES if page != "README.md"])
def test_a_page_begins_with_whom_it_is_for(page):
    assert re.match(r"# .+\n\nFor \w+ ", text_of(page))


def test_the_credits_name_every_weights_file_that_comes_with_merino():
    credits = README.partition("## Licence and credits")[2]
    shipped = {path.relative_to(ROOT).as_posix() for path in (ROOT / "weights").glob("*.txt")}
    assert shipped == set(re.findall(r"weights/[\w-]+\.txt", credits))


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_a_page_names_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    code = " ".join(re.findall(r"`[^`]*`|^    .*$", text_of(page), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)\b`?", code)) <= targets
