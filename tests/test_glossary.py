"""The glossary: each place it names is there, the terms are in order, and the usual names of techniques are found."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!Term \|)([^|]+) \| ([^|]+) \| `([\w.]+)(?::([\w.]+))?` \|$", GLOSSARY, re.MULTILINE)
TECHNIQUES = (
    "aspiration_window",
    "delta_pruning",
    "futility_pruning",
    "history_pruning",
    "internal_iterative_reduction",
    "late_move_pruning",
    "late_move_reduction",
    "mate_distance_pruning",
    "null_move_pruning",
    "probcut",
    "razoring",
    "reverse_futility_pruning",
    "see_pruning",
    "singular_extension",
    "transposition_table_cutoff",
)
WORDS = {  # what a chess programmer greps for, and the file where the thing is
    "aspiration window": "merino/engine/search/iterative_deepening.py",
    "continuation history": "merino/engine/search/history.py",
    "correction history": "merino/engine/search/static_eval.py",
    "delta pruning": "merino/engine/search/alpha_beta.py",
    "futility pruning": "merino/engine/search/pruning.py",
    "history pruning": "merino/engine/search/pruning.py",
    "internal iterative reduction": "merino/engine/search/pruning.py",
    "late move pruning": "merino/engine/search/pruning.py",
    "late move reduction": "merino/engine/search/pruning.py",
    "lazy SMP": "merino/engine/search/search_run.py",
    "mate distance pruning": "merino/engine/search/pruning.py",
    "multi-cut": "merino/engine/search/pruning.py",
    "MVV": "merino/engine/search/move_picker.py",
    "normalised Elo": "merino/match/statistics.py",
    "null move pruning": "merino/engine/search/pruning.py",
    "pentanomial": "merino/match/games.py",
    "principal variation": "merino/engine/search/tree.py",
    "probcut": "merino/engine/search/pruning.py",
    "razoring": "merino/engine/search/pruning.py",
    "reverse futility pruning": "merino/engine/search/pruning.py",
    "SEE": "merino/engine/search/see.py",
    "singular extension": "merino/engine/search/pruning.py",
    "stand pat": "merino/engine/search/alpha_beta.py",
    "Texel tuning": "merino/learn/fitting.py",
    "transposition table": "merino/engine/search/transposition.py",
    "WDL": "merino/eval/outlook.py",
}


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


@pytest.mark.parametrize(("words", "place"), WORDS.items())
def test_a_word_of_the_field_is_found_in_the_code_where_its_thing_is(words: str, place: str) -> None:
    source = (ROOT / place).read_text(encoding="utf-8").casefold()
    assert re.search(rf"\b{words.casefold()}\b", source)


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
