"""The README tells the truth: its tables are those of the registries, its files and commands exist."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_tables_are_up_to_date():
    tables = runpy.run_path(str(ROOT / "tools" / "readme_tables.py"))
    assert tables["renewed"](README) == README, "run python tools/readme_tables.py"


def test_files_it_links_to_exist():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_credits_name_every_weights_file_that_comes_with_merino():
    credits = README.partition("## Licence and credits")[2]
    shipped = {path.relative_to(ROOT).as_posix() for path in (ROOT / "weights").glob("*.txt")}
    assert shipped == set(re.findall(r"weights/[\w-]+\.txt", credits))


def test_make_targets_it_names_exist():
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b`?", " ".join(re.findall(r"`[^`]*`|^    .*$", README, re.MULTILINE))))
    assert named
    assert named <= targets
