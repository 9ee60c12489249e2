"""What README and docs/ say is true: their tables are those of the registries, their files and commands exist."""

import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from itertools import takewhile
from pathlib import Path

import pytest
import yaml

from merino.app.shell.cli import COMMANDS, OWN_TERMS, main
from merino.core.common.about import __version__ as version
from merino.engine.uci.commands import COMMANDS as UCI_COMMANDS
from merino.eval.families import shipped
from tests.browser import HEIGHT, WIDTH, Page, needs_browser

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
RECIPE = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
PAGES = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))}
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
    for mark in (f"<!-- {table} -->", f"<!-- /{table} -->"):
        assert sum(text_of(page).count(mark) for page in PAGES) == 1


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_what_a_page_links_to_exists(page):
    for link in re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        if "://" not in link:
            file, _, anchor = link.partition("#")
            target = (ROOT / page).parent / file if file else ROOT / page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def test_the_readme_is_short_and_links_to_every_page():
    assert len(README.splitlines()) <= 180
    linked = {page for page in PAGES if f"]({page})" in README}
    shelf = Path("docs") / "lab"
    within = {(shelf / name).as_posix() for name in re.findall(r"\]\((\w[\w-]*\.md)\)", text_of(f"{shelf}/README.md"))}
    others = {page for page in PAGES if any(f"]({Path(page).name})" in text_of(other) for other in linked)}
    assert PAGES.keys() - {"README.md"} <= linked | within | others


@pytest.mark.parametrize("page", [page for page in PAGES if page != "README.md"])
def test_a_page_begins_with_whom_it_is_for(page):
    assert re.match(r"# .+\n\nFor \w+ ", text_of(page))


def test_the_credits_name_every_weights_file_that_comes_with_merino():
    credits = README.partition("## Licence and credits")[2]
    shipped = {path.relative_to(ROOT).as_posix() for path in (ROOT / "weights").glob("*.txt")}
    assert shipped == set(re.findall(r"weights/[\w-]+\.txt", credits))


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_a_page_names_exist(page):
    targets = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))
    code = " ".join(re.findall(r"`[^`]*`|^    .*$", text_of(page), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z0-9-]+)\b`?", code)) <= targets


def listings(text: str) -> Iterator[str]:
    """The lines of the code blocks of a page, continued ones as one."""
    blocks = re.findall(r"^(?: {4}.*\n|\n)+|^```\w*\n.*?^```$", text, re.MULTILINE | re.DOTALL)
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        yield line.strip()


def commands(page: str) -> Iterator[list[str]]:
    """The words of each command of ours that a page shows, in a listing or between backticks."""
    text = text_of(page)
    for line in (*listings(text), *re.findall(r"`([^`\n]+)`", text)):
        for part in re.split(r" [|&>]+ | +# ", line.removeprefix("$ ")):
            found = re.match(r"(?:merino|(?:\.venv/bin/)?python3? -m (?:engine|merino)) (?=[\w-])", part)
            if found:
                try:
                    words = shlex.split(part[found.end() :])
                except ValueError:  # half of a command, as in "`merino`'s"
                    raise AssertionError(f"{page}: {line}") from None
                if words := words[2:] if words[0] == OWN_TERMS else words:
                    yield words


@cache
def help_of(command: str, *more: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        main([command, *more, "--help"])
    return out.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_a_page_shows_exist_with_their_options(page):
    for command, *words in commands(page):
        if command.isupper():
            continue  # a placeholder
        assert command in COMMANDS or command in UCI_COMMANDS, f"merino {command}"
        options = [word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)]
        inner = [word for word in words[:1] if command == "spsa" and re.fullmatch("[a-z]+", word)]
        missing = [option for option in options if not re.search(rf"{option}\b", help_of(command, *inner))]
        assert not missing, f"merino {command} knows no {' '.join(missing)}"


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("docs/lab/")])
def test_a_command_with_all_its_options_on_a_page_says_when_it_ends(page):
    for command, *words in commands(page):
        options = {word for word in words if word.startswith("--")}
        if command in {"improve", "night"} and len(options) > 1:
            assert options & {"--hours", "--rounds", "--generations"}, f"merino {command} {' '.join(words)}"


QUICKER = {
    "learn": "--no-match",
    "annotate": "--nodes 20",
    "profile": "--judge terms --positions 100",
    "drill": "--judge terms --list",
}


@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/first-changes.md"])
def test_the_commands_of_a_first_hour_run_one_after_the_other(page, tmp_path):
    """With hundreds of games and nodes as sixty, and without what waits for a person."""
    for name, text in re.findall(r"`(\w+\.(?:py|toml))`.*?```\w+\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(text)
    (tmp_path / "games").mkdir()
    games = (ROOT / "games" / "selfplay.pgn").read_text(encoding="utf-8").split("[Event ")
    for name, count in (("games/selfplay", 25), ("mine", 9), ("game", 2)):
        few = "[Event ".join(games[:count])
        (tmp_path / f"{name}.pgn").write_text(few.replace('White "Merino', 'White "me'))
    environment, ran = os.environ | {"PYTHONPATH": str(ROOT)}, 0
    for line in listings(text_of(page)):
        command = re.sub(r"\b\d{3,}\b", "60", re.sub(r" +#.*", "", line))
        found = re.match(r"merino (?:--own-terms \S+ )?([\w-]+)", command)
        if found and found[1] != "explorer":
            command = f"{sys.executable} -P -m {command} {QUICKER.get(found[1], '')}"
        elif not command.startswith(("printf", "cp ")):
            continue
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)
        ran += 1
    assert ran > 4


OTHER_ENGINES = {"stockfish", "toga2", "ethereal-chess", "glaurung", "stash-bot"}


@pytest.mark.parametrize("page", PAGES)
def test_players_that_a_page_names_exist(page):
    for command, *words in commands(page):
        if command in {"match", "gauntlet", "round-robin"}:
            heads = {word.partition(",")[0] for word in takewhile(lambda word: not word.startswith("-"), words)}
            names = {head for head in heads if re.fullmatch(r"[a-z][\w-]*", head)} - OTHER_ENGINES
            assert all(shipped(name) for name in names), f"merino {command} {' '.join(words)}"


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for path in re.findall(
        r"\b((?:merino|tools|benchmarks|tests|packaging)/[\w/]+\.(?:py|sh|js|toml|yaml|patch))\b", text
    ):
        assert (ROOT / path).is_file(), path


def test_the_changelog_says_each_thing_once() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    begins = Counter(line[:30] for line in lines if len(line) >= 30)
    assert not [begin for begin, times in begins.items() if times > 1], "a line was left next to its newer form"


def test_the_version_is_that_of_changelog_citation_and_recipe():
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[\d.]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released[0] == version
    assert f'  version: "{version}"\n' in RECIPE


def test_a_release_is_tested_before_it_is_published_and_its_tag_names_its_version(tmp_path):
    folder = ROOT / ".github" / "workflows"
    flows = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yml")}
    assert all("concurrency" in flow for flow in flows.values())
    jobs = flows["release"]["jobs"]
    assert (jobs["publish"]["needs"], jobs["tests"]) == (["tests", "build"], {"uses": "./.github/workflows/tests.yml"})
    (compare,) = (step["run"] for step in jobs["build"]["steps"] if step.get("name") == "Compare tag and version")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / f"merino_chess-{version}.tar.gz").touch()
    for tag, status in ((f"v{version}", 0), ("v0.0.9", 1)):
        variables = {"GITHUB_REF_NAME": tag, "PATH": os.environ["PATH"]}
        done = subprocess.run(["sh", "-c", compare], cwd=tmp_path, env=variables, capture_output=True, check=False)
        assert done.returncode == status


def test_the_recipe_for_conda_needs_what_the_wheel_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    _, _, needs = RECIPE.partition("  run:\n")
    needed = re.findall(r"^    - (?:python-)?(\S+) (\S+)$", needs.partition("\n\n")[0], re.MULTILINE)
    assert sorted(map("".join, needed)) == sorted([*project["dependencies"], f"python{project['requires-python']}"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, as `make docs` builds it: any warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_site_has_every_page_the_library_and_a_search(site):
    built = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    assert {page[5:-3].replace("README", "index") for page in PAGES if page != "README.md"} <= built
    reference = (site / "library.html").read_text(encoding="utf-8")
    assert 'id="merino.play_match"' in reference and "Play a match in pairs of one opening" in reference
    assert "quiescence" in (site / "search" / "search_index.json").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader(site, tmp_path_factory):
    """A browser for the site."""
    with Page(site.as_uri(), tmp_path_factory.mktemp("downloads")) as page:
        yield page


@needs_browser
def test_the_search_of_the_site_works_from_the_disk_without_a_network(site, reader):
    scripts = re.findall(r'<script[^>]* src="([^"]*)"', (site / "index.html").read_text(encoding="utf-8"))
    assert scripts and not [script for script in scripts if "//" in script]
    reader.resize(WIDTH, HEIGHT)
    reader.driver.get((site / "index.html").as_uri())
    reader.run("document.querySelector('[data-md-toggle=search]').click()")
    reader.press(".md-search__input", "quiescence")
    reader.until(lambda: reader.all(".md-search-result__item"))


@needs_browser
def test_no_page_of_the_site_is_wider_than_a_phone(site, reader):
    reader.resize(360, 740, touch=True)
    for name in ("index", "library", "search", "lab/experiments", "commands"):  # pictures, signatures, wide tables
        reader.driver.get((site / f"{name}.html").as_uri())
        assert reader.run("return document.documentElement.scrollWidth") <= 360, name


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_no_line_of_prose_is_wider_than_a_line_of_code(page):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    prose = [line for line in text.splitlines() if not line.startswith(("|", "    ", "<"))]
    assert not [line for line in prose if len(line) > 120]


def test_each_net_that_a_page_names_comes_with_merino_or_lies_in_its_history():
    notebook = text_of("docs/lab/README.md")
    row = r"^\| ((?:`gen\d+`(?:, )?)+) \| (\w+) \|$"
    found = {
        net: commit for nets, commit in re.findall(row, notebook, re.MULTILINE) for net in re.findall(r"gen\d+", nets)
    }
    shipped = {path.stem for path in (ROOT / "weights").glob("gen*.net")}
    named = {net for page in PAGES for net in re.findall(r"`(gen\d+)(?:\.net)?`", text_of(page))}
    not_kept = set(re.findall(r"`(gen\d+)` and\s+the nets without a name", notebook))
    assert named == found.keys() | shipped | not_kept
    assert not found.keys() & shipped
    history = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    if history(["git", "rev-parse", "--is-shallow-repository"]).stdout.strip() == "false":  # neither sdist nor shallow
        for net, commit in found.items():
            assert history(["git", "cat-file", "-e", f"{commit}:weights/{net}.net"]).returncode == 0, net


def sentences(text: str) -> set[str]:
    prose = re.sub(r"```.*?```|^\|.*$|^    .*$", "", text, flags=re.DOTALL | re.MULTILINE)
    return {part for part in re.split(r"(?<=[.:!?])\s", re.sub(r"\s+", " ", prose)) if len(part) > 50}


def test_no_sentence_stands_in_two_pages():
    homes: dict[str, list[str]] = {}
    for page in PAGES:
        for sentence in sentences(text_of(page)):
            homes.setdefault(sentence, []).append(page)
    assert not {sentence: pages for sentence, pages in homes.items() if len(pages) > 1}
