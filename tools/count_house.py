"""Count the modules of checkouts, and follow journeys through them: `python -m tools.count_house [FOLDER ...]`.

Each folder is a checkout, of any version since 1.0.0; the present one is the last column. A journey is a command run
with kernels as plain Python. Control stays in a module until a function of another one is called, each function counted
when it is called first. A return is a stay in a module that has been left before; so it is stays less modules.
Functions that are compiled do not count, nor what is called while modules are loaded.
"""

from __future__ import annotations

import ast
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import COMMENT, NL, TokenError, generate_tokens

from tools.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
BESIDE = {"tests", "tools", "benchmarks", "docs", "build"}
INNER = "merino."
FEN = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
GAME = '[Result "{}"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 {}\n\n'
JOURNEYS = {  # the words of the command, and what it reads
    "UCI: `position` and `go depth 1`": (("uci",), f"position fen {FEN}\ngo depth 1\n"),
    "a move typed at the console": (("console",), "st 0.1\nforce\ne4\nquit\n"),
    "PGN to weights": (("learn", "games.pgn", "--weights", "w.txt", "--no-match", "--no-cache", "--quiet"), ""),
    "position to report": (("explain", FEN, "--report", "--static"), ""),
    "two players to a result": (
        ("match", "default", "VAL_Q=900", "--games", "2", "--depth", "1", "--maxmoves", "3", "--quiet"),
        "",
    ),
    "games to annotated games": (("annotate", "game.pgn", "--out", "out.pgn", "--depth", "1", "--quiet"), ""),
}


@dataclass
class House:
    """The modules of a checkout by name, with the modules that each imports, and their lines of code."""

    folder: Path
    sources: dict[str, Path] = field(default_factory=dict)
    imports: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> House:
        """Every package at the top, but for tests and tools."""
        packages = {path.parent.name for path in folder.glob("*/__init__.py")} - BESIDE
        house = cls(folder)
        for path in sorted(path for package in packages for path in (folder / package).rglob("*.py")):
            if path.name != "__init__.py":
                house.sources[".".join(path.relative_to(folder).with_suffix("").parts)] = path
        for module, path in house.sources.items():
            named = {name.removeprefix(INNER) for name in _imported(ast.parse(path.read_text(encoding="utf-8")))}
            house.imports[module] = (named & house.sources.keys()) - {module}
        return house

    def counts(self) -> dict[str, str]:
        """What the table shows, by its words."""
        importers = [name for names in self.imports.values() for name in names]
        rooms = [(room_of(module), room_of(name)) for module, names in self.imports.items() for name in names]
        lines = self.lines_by_room()
        largest = max(lines, key=lambda room: lines[room])
        pairs = {pair for pair in rooms if pair[0] < pair[1] and pair[::-1] in rooms}
        return {
            "modules": f"{len(self.sources):,}",
            "of these with one importer": f"{sum(importers.count(module) == 1 for module in self.sources):,}",
            "lines of code, without blanks, comments and docstrings": f"{sum(lines.values()):,}",
            "folders at the top that import each other": f"{len(pairs)} pairs",
            "the largest folder at the top": f"`{largest}/`, {lines[largest] / sum(lines.values()):.0%}",
        }

    def lines_by_room(self) -> dict[str, int]:
        """The lines of code of each folder at the top."""
        lines: Counter[str] = Counter()
        for module, path in self.sources.items():
            lines[room_of(module)] += _lines_of_code(path)
        return lines

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

    def journey(self, words: Iterable[str], typed: str) -> str:
        """Modules, stays and returns of a command."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "games.pgn").write_text("".join(GAME.format(r, r) for r in ("1-0", "0-1", "1/2-1/2") * 4))
            (Path(folder) / "game.pgn").write_text(GAME.format("*", "*"))
            (Path(folder) / "w.txt").write_bytes((self.folder / "weights" / "default.txt").read_bytes())
            modules = sorted(map(str, self.sources.values()))
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


def _imported(tree: ast.Module) -> set[str]:
    """The names of modules in the imports of a module, or of what they offer."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def room_of(module: str) -> str:
    """The folder at the top that a module lies in."""
    return module.split(".", maxsplit=1)[0]


def _lines_of_code(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    code: set[int] = set()
    try:
        for token in generate_tokens(iter(text.splitlines(keepends=True)).__next__):
            if token.type not in (COMMENT, NL) and token.string.strip():
                code |= set(range(token.start[0], token.end[0] + 1))
    except TokenError as error:
        raise ValueError(f"{path}: {error}") from error
    return len(code - docstrings)


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
    houses = [House.read(Path(folder).resolve()) for folder in (*sys.argv[1:], str(ROOT))]
    rows = {name: [house.counts()[name] for house in houses] for name in houses[0].counts()}
    for name, (words, typed) in JOURNEYS.items():
        rows[f"{name}: modules, stays, returns"] = [house.journey(words, typed) for house in houses]
    names = [house.folder.name for house in houses]
    print(markdown_table(("", *names), [(name, *cells) for name, cells in rows.items()]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        follow(json.loads(sys.argv[2]))
    else:
        main()
