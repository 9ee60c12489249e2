"""The size of checkouts, and the walks through them: `python -m tools.count_house [FOLDER ...]`.

Each folder is a checkout since 2.0, the present one is the last column. Modules are files but `__init__.py`; lines of
code are those without blanks, comments and docstrings. tests/test_layers.py checks which imports there may be.

A walk is a command run with kernels as plain Python. Control stays in a module until a function of another one is
called, each function counted when it is called first; a return is a stay in a module that has been left before.
Functions that are compiled do not count, nor what is called while modules are loaded.
"""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

from tools.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
FEN = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
GAME = '[Result "{}"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 {}\n\n'
WALKS = {  # the words of the command, and what it reads
    "UCI: `position` and `go depth 1`": (("uci",), f"position fen {FEN}\ngo depth 1\n"),
    "a move typed at the console": (("console",), "st 0.1\nforce\ne4\nquit\n"),
    "PGN to weights": (("learn", "games.pgn", "--weights", "w.txt", "--no-match", "--quiet"), ""),
    "position to report": (("explain", FEN, "--json", "--static"), ""),
    "two players to a result": (
        ("match", "default", "VAL_Q=900", "--games", "2", "--depth", "1", "--maxmoves", "3", "--quiet"),
        "",
    ),
    "games to annotated games": (("annotate", "game.pgn", "--out", "out.pgn", "--depth", "1", "--quiet"), ""),
}


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


def modules_of(checkout: Path) -> list[str]:
    """The files of its modules."""
    return sorted(str(path) for path in (checkout / "merino").rglob("*.py") if path.name != "__init__.py")


def compiled(modules: Iterable[str]) -> list[str]:
    """The compiled functions of these, as `path:name`."""
    found = list[str]()
    for path in modules:
        for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
                names = {mark.id for mark in marks if isinstance(mark, ast.Name)}
                found += [f"{path}:{node.name}"] if names & {"kernel", "entry", "term"} else []
    return found


def walk(checkout: Path, words: Iterable[str], typed: str) -> str:
    """Modules, stays and returns of a command."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "games.pgn").write_text("".join(GAME.format(r, r) for r in ("1-0", "0-1", "1/2-1/2") * 4))
        (Path(folder) / "game.pgn").write_text(GAME.format("*", "*"))
        (Path(folder) / "w.txt").write_bytes((checkout / "weights" / "default.txt").read_bytes())
        modules = modules_of(checkout)
        request = {"modules": modules, "compiled": compiled(modules), "words": list(words)}
        paths = {"PYTHONPATH": f"{checkout}{os.pathsep}{ROOT}", "MERINO_HOME": folder, "NUMBA_DISABLE_JIT": "1"}
        command = [sys.executable, "-W", "ignore::RuntimeWarning", __file__, "--follow", json.dumps(request)]
        environment, nowhere = {**os.environ, **paths}, subprocess.DEVNULL
        subprocess.run(command, input=typed, cwd=folder, env=environment, stdout=nowhere, text=True, check=True)
        way = (Path(folder) / "way.txt").read_text().split()
    stays = [module for index, module in enumerate(way) if index == 0 or way[index - 1] != module]
    return f"{len(set(stays))}, {len(stays)}, {len(stays) - len(set(stays))}"


def follow(request: dict[str, list[str]]) -> None:
    """Run a command of the checkout in the path, and write its way, a module a line, to `way.txt`."""
    modules, compiled = set(request["modules"]), set(request["compiled"])
    way = Path("way.txt").open("w", buffering=1)  # noqa: SIM115  (UCI ends the process at once)
    seen: set[tuple[str, str]] = set()
    aside = threading.local()  # how many compiled functions and modules that are being loaded are under way

    def note(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event not in ("call", "return") or code.co_filename not in modules:
            return
        name, depth = f"{code.co_filename}:{code.co_name}", getattr(aside, "depth", 0)
        if code.co_name == "<module>" and not code.co_filename.endswith("__main__.py") or name in compiled:
            aside.depth = depth + (1 if event == "call" else -1)
        elif (
            event == "call" and depth == 0 and code.co_name[0] != "<" and (key := (name, code.co_qualname)) not in seen
        ):
            seen.add(key)
            way.write(f"{code.co_filename}\n")

    sys.argv = ["merino", *request["words"]]
    threading.setprofile(note)
    sys.setprofile(note)
    runpy.run_module("merino", run_name="__main__")


def main() -> None:
    """Print the table, a column for each folder."""
    houses = [Path(folder).resolve() for folder in (*sys.argv[1:], str(ROOT))]
    columns = [counts(house) for house in houses]
    rows = [(words, *(column[words] for column in columns)) for words in columns[0]]
    for name, (words, typed) in WALKS.items():
        rows.append((f"{name}: modules, stays, returns", *(walk(house, words, typed) for house in houses)))
    print(markdown_table(("", *(house.name for house in houses)), rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        follow(json.loads(sys.argv[2]))
    else:
        main()
