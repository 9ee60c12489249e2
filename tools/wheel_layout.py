"""How the wheel is laid out: everything below the one name `merino`. Called by setuptools, see pyproject.toml.

In a checkout the packages lie at the top, so that `engine/board/fen.py` is `engine.board.fen`. Names such as `engine`,
`match` or `weights` would be in the way of others in a user's environment, so the wheel has them in `merino/inner/`,
and each import of one of them is renamed while the wheel is built: `from merino.inner.engine.board.fen import ...`.
Nothing else of a source changes, and no line moves. An editable install takes the checkout as it is.
"""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

TOP, INNER = "merino", "merino.inner"
_DOCSTRING = '"""Merino\'s own packages. What `import merino` offers is promised to stay; what is here is not."""\n'


class BuildPy(build_py):
    """Copies the sources, then moves all packages but the face below it."""

    def run(self) -> None:
        """Build; in an editable install nothing is moved."""
        super().run()
        if not self.editable_mode:
            move_below(Path(self.build_lib), {name.partition(".")[0] for name in self.packages} - {TOP})


class EggInfo(egg_info):
    """Tells installers the one name that the wheel takes."""

    def run(self) -> None:
        """Write the metadata."""
        super().run()
        Path(self.egg_info, "top_level.txt").write_text(f"{TOP}\n", encoding="utf-8")


def move_below(folder: Path, packages: set[str]) -> None:
    """Move `packages` of a build folder below the face, and rename their imports in all sources there."""
    home = folder / INNER.replace(".", "/")
    if home.exists():
        shutil.rmtree(home)  # of an earlier build
    home.mkdir()
    (home / "__init__.py").write_text(_DOCSTRING, encoding="utf-8")
    for package in sorted(packages):
        (folder / package).rename(home / package)
    for path in sorted((folder / TOP).rglob("*.py")):
        path.write_text(renamed(path.read_text(encoding="utf-8"), packages), encoding="utf-8")


def renamed(source: str, packages: set[str]) -> str:
    """A source whose imports of `packages` name them below INNER.

    Raises ValueError where `import package.module` is used by that name, which would then be another.
    """
    tree, lines = ast.parse(source), source.encode().splitlines(keepends=True)
    places: list[tuple[int, int]] = []
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in packages:
            start = re.compile(rb"from\s+").match(lines[node.lineno - 1], node.col_offset)
            assert start is not None, f"line {node.lineno}: an import that is not on the line of its 'from'"
            places.append((node.lineno, start.end()))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.partition(".")[0]
                if package in packages:
                    if alias.asname is None and package in used:
                        raise ValueError(f"line {node.lineno}: 'import {alias.name}' is used by that name")
                    places.append((alias.lineno, alias.col_offset))
    for line, column in sorted(places, reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + f"{INNER}.".encode() + text[column:]
    return b"".join(lines).decode()
