"""The glossary: each place it names is there, the terms are in order, and the usual names of techniques are found."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!Term \|)([^|]+) \| ([^|]+) \| `([\w.]+)(?::([\w.]+))?` \|$", GLOSSARY, re.MULTILINE)
SEARCH = "merino/engine/search/"
WORDS = {  # what a chess programmer greps for, by the file where the thing is
    SEARCH + "alpha_beta.py": ("delta pruning", "stand pat"),
    SEARCH + "history.py": ("continuation history",),
    SEARCH + "iterative_deepening.py": ("aspiration window",),
    SEARCH + "move_picker.py": ("MVV",),
    SEARCH + "pruning.py": (
        *("futility pruning", "history pruning", "internal iterative reduction", "late move pruning", "multi-cut"),
        *("late move reduction", "mate distance pruning", "null move pruning", "probcut", "razoring"),
        *("reverse futility pruning", "singular extension"),
    ),
    SEARCH + "search_run.py": ("lazy SMP",),
    SEARCH + "see.py": ("SEE",),
    SEARCH + "static_eval.py": ("correction history",),
    SEARCH + "transposition.py": ("transposition table",),
    SEARCH + "tree.py": ("principal variation",),
    "merino/eval/outlook.py": ("WDL",),
    "merino/learn/fitting.py": ("Texel tuning",),
    "merino/match/games.py": ("pentanomial",),
    "merino/match/statistics.py": ("normalised Elo",),
}
OTHERS = "aspiration window", "delta pruning", "see pruning", "transposition table cutoff"
TECHNIQUES = [each.replace(" ", "_") for each in (*OTHERS, *WORDS[SEARCH + "pruning.py"]) if each != "multi-cut"]


def names_in(module: str) -> set[str]:
    """What a module defines, members of its classes as `Class.member`."""
    path = ROOT / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = set()
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.Assign):
            found |= {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def test_every_row_of_the_glossary_is_read() -> None:
    rows = [
        line for line in GLOSSARY.splitlines() if line.startswith("| ") and not line.startswith(("| Term", "| ---"))
    ]
    assert len(rows) == len(ROWS) > 80


@pytest.mark.parametrize(("term", "module", "name"), [(term, module, name) for term, _, module, name in ROWS])
def test_a_term_of_the_glossary_is_where_it_says(term: str, module: str, name: str) -> None:
    assert not name or name in names_in(module), term


def test_the_terms_of_each_part_are_in_alphabetical_order() -> None:
    for part in GLOSSARY.split("\n## ")[1:]:
        terms = [row.split(" | ")[0].strip("| ").casefold() for row in part.splitlines() if row.endswith("` |")]
        assert terms and terms == sorted(terms), part.partition("\n")[0]


@pytest.mark.parametrize(("place", "words"), [(place, each) for place, words in WORDS.items() for each in words])
def test_a_word_of_the_field_is_found_in_the_code_where_its_thing_is(place: str, words: str) -> None:
    assert re.search(rf"\b{words.casefold()}\b", (ROOT / place).read_text(encoding="utf-8").casefold())


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_technique_of_the_search_is_one_function_that_says_the_chess_of_it(technique: str) -> None:
    found = [
        node
        for path in sorted((ROOT / "merino" / "engine" / "search").glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == technique
    ]
    assert len(found) == 1
    assert ast.get_docstring(found[0])
    assert f"`merino.engine.search.{path_of(technique)}:{technique}`" in GLOSSARY


def path_of(technique: str) -> str:
    pattern = re.compile(rf"^def {technique}\(", re.MULTILINE)
    return next(
        path.stem for path in (ROOT / "merino" / "engine" / "search").glob("*.py") if pattern.search(path.read_text())
    )
