"""The size of checkouts: `python -m tools.count_house [FOLDER ...]`.

Each folder is a checkout since 2.0, the present one is the last column. Modules are files but `__init__.py`; lines of
code are those without blanks, comments and docstrings. tests/test_layers.py checks which imports there may be.
"""

import ast
import re
import sys
from pathlib import Path

from tools.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
PAGE_COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)


def counts(checkout: Path) -> dict[str, str]:
    """The rows of the table, by their words."""
    sources, lab = sorted((checkout / "merino").rglob("*.py")), checkout / "merino" / "lab"
    page = checkout / "merino" / "app" / "explorer" / "page"
    scripts = [path for kind in ("js", "css") for path in page.rglob(f"*.{kind}")]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    written = sum(bool(line.strip()) for text in texts for line in text.splitlines())
    return {
        "modules and lines of code": _sizes(sources),
        "without the lab": _sizes([path for path in sources if not path.is_relative_to(lab)]),
        "share of imports in all lines": f"{sum(map(import_lines, texts)) / written:.1%}",
        "lines of the page, JS and CSS": f"{sum(map(page_lines, scripts)):,}",
        "lines of code of the tests": f"{sum(map(lines_of_code, (checkout / 'tests').rglob('*.py'))):,}",
    }


def _sizes(sources: list[Path]) -> str:
    modules = sum(path.name != "__init__.py" for path in sources)
    return f"{modules:,} / {sum(map(lines_of_code, sources)):,}"


def page_lines(path: Path) -> int:
    """The lines of a module or style of the page, without blanks and comments."""
    return sum(bool(line.strip()) for line in PAGE_COMMENT.sub("", path.read_text(encoding="utf-8")).splitlines())


def import_lines(text: str) -> int:
    """The lines that imports take."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)


def lines_of_code(path: Path) -> int:
    """The lines without blanks, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    return sum(bool(line) and not line.startswith("#") and number not in docstrings for number, line in lines)


def main() -> None:
    """Print the table, a column for each folder."""
    houses = [Path(folder).resolve() for folder in (*sys.argv[1:], str(ROOT))]
    columns = [counts(house) for house in houses]
    rows = [(words, *(column[words] for column in columns)) for words in columns[0]]
    print(markdown_table(("", *(house.name for house in houses)), rows))


if __name__ == "__main__":
    main()
