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
PACKAGE, LAB = "merino", "merino.lab"
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


class House:
    """The modules of a checkout: their files by name."""

    def __init__(self, folder: Path) -> None:
        """Read every module of the package."""
        self.folder = folder
        self.sources = {}
        for path in sorted((folder / PACKAGE).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            self.sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path

    def modules(self, lab: bool) -> list[str]:
        """The modules, with those of the lab or without."""
        names = [name for name, path in self.sources.items() if path.name != "__init__.py"]
        return [name for name in names if lab or not name.startswith(f"{LAB}.")]

    def counts(self) -> dict[str, str]:
        """The rows of the table, by their words."""
        code = {name: len(lines_of_code(path)) for name, path in self.sources.items()}
        rows = {}
        for words, lab in (("modules and lines of code", True), ("without the lab", False)):
            lines = sum(code[name] for name in self.sources if lab or not name.startswith(LAB))
            rows[words] = f"{len(self.modules(lab)):,} / {lines:,}"
        texts = [path.read_text(encoding="utf-8") for path in self.sources.values()]
        spent = sum(import_lines(text) for text in texts)
        written = sum(bool(line.strip()) for text in texts for line in text.splitlines())
        tests = sum(len(lines_of_code(path)) for path in (self.folder / "tests").rglob("*.py"))
        return rows | {
            "share of imports in all lines": f"{spent / written:.1%}",
            "lines of the page, JS and CSS": f"{self.page_lines():,}",
            "lines of code of the tests": f"{tests:,}",
        }

    def page_lines(self) -> int:
        """The lines of the page's modules and styles, without blanks and comments."""
        page = self.folder / PACKAGE / "app" / "explorer" / "page"
        texts = [path.read_text(encoding="utf-8") for kind in ("js", "css") for path in page.rglob(f"*.{kind}")]
        lines = [
            line.strip() for text in texts for line in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines()
        ]
        return sum(bool(line) and not line.startswith("//") for line in lines)

    def compiled(self) -> set[str]:
        """The compiled functions, as `path:name`."""
        found = set()
        for path in self.sources.values():
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
                    if {mark.id for mark in marks if isinstance(mark, ast.Name)} & {"kernel", "entry", "term"}:
                        found.add(f"{path}:{node.name}")
        return found

    def walk(self, words: Iterable[str], typed: str) -> str:
        """Modules, stays and returns of a command."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "games.pgn").write_text("".join(GAME.format(r, r) for r in ("1-0", "0-1", "1/2-1/2") * 4))
            (Path(folder) / "game.pgn").write_text(GAME.format("*", "*"))
            (Path(folder) / "w.txt").write_bytes((self.folder / "weights" / "default.txt").read_bytes())
            modules = sorted(str(path) for path in self.sources.values() if path.name != "__init__.py")
            request = {"modules": modules, "compiled": sorted(self.compiled()), "words": list(words)}
            paths = {"PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}", "MERINO_HOME": folder, "NUMBA_DISABLE_JIT": "1"}
            subprocess.run(
                [sys.executable, "-W", "ignore::RuntimeWarning", __file__, "--follow", json.dumps(request)],
                input=typed,
                cwd=folder,
                env={**os.environ, **paths},
                stdout=subprocess.DEVNULL,
                text=True,
                check=True,
            )
            way = (Path(folder) / "way.txt").read_text().split()
        stays = [module for index, module in enumerate(way) if index == 0 or way[index - 1] != module]
        return f"{len(set(stays))}, {len(stays)}, {len(stays) - len(set(stays))}"


def import_lines(text: str) -> int:
    """The lines that imports take."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)


def lines_of_code(path: Path) -> set[int]:
    """The numbers of the lines without blanks, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    return {number for number, line in lines if line and not line.startswith("#")} - docstrings


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
    houses = [House(Path(folder).resolve()) for folder in (*sys.argv[1:], str(ROOT))]
    counts = [house.counts() for house in houses]
    rows = {name: [each[name] for each in counts] for name in counts[0]}
    for name, (words, typed) in WALKS.items():
        rows[f"{name}: modules, stays, returns"] = [house.walk(words, typed) for house in houses]
    names = [house.folder.name for house in houses]
    print(markdown_table(("", *names), [(name, *cells) for name, cells in rows.items()]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        follow(json.loads(sys.argv[2]))
    else:
        main()
