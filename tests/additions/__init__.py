"""Additions: a change of each kind that CONTRIBUTING describes, kept as a patch that shows what it takes.

A file `NAME.patch` begins with these lines, then an empty one and what `git diff` prints:

Adds: what the change adds
Tests: the test files that it touches, which `make additions` runs compiled
Quick: those of their tests that run with the whole suite too, their kernels as plain Python

A patch holds no generated tables: `tools/doc_tables.py` renews them in the copy that gets the patch.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.fault_lists import ROOT
from tests.mutants import PASSED, Copy

FOLDER = ROOT / "tests" / "additions"
PATCH = "{}.patch"
KEYS = ("Adds", "Tests", "Quick")
LIMIT_SECONDS = 900  # of the tests of one addition
_FILE = re.compile(r"^diff --git a/(\S+) b/(\S+)$", re.MULTILINE)


class AdditionError(Exception):
    """A patch that cannot be read or applied, or whose tests fail; the message says which and why."""


@dataclass(frozen=True)
class Addition:
    """One patch: what it adds, the files that it changes, and the tests that must pass with it."""

    path: Path
    adds: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    quick: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the patch."""
        return self.path.stem

    def apply(self, root: Path, check: bool = False) -> None:
        """Apply it to the checkout or copy at `root`, or only see whether that works; raises AdditionError."""
        words = ["git", "apply", *(["--check"] if check else []), str(self.path)]
        run = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
        if run.returncode:
            raise AdditionError(f"{self.path.name} does not apply any more:\n{run.stderr}")

    def prove(self, folder: Path, compiled: Path, limit: float = LIMIT_SECONDS) -> str:
        """Run its tests in a new copy in `folder`; the last line of pytest. Raises AdditionError.

        The copy begins with the code that lies in `compiled`.
        """
        copy = Copy(folder, compiled)
        self.apply(copy.root)
        renew_tables(copy)
        return passed(copy, self.tests, "compiled", limit, f"with {self.path.name}")


def prove_quickly(additions: Iterable[Addition], folder: Path, limit: float = LIMIT_SECONDS) -> str:
    """Run the quick tests of these additions in one copy that has them all; the last line of pytest.

    Raises AdditionError.
    """
    copy, tests = Copy(folder, folder / "nothing compiled"), []
    for addition in additions:
        addition.apply(copy.root)
        tests += addition.quick
    return passed(copy, tests, "python", limit, "with the additions")


def passed(copy: Copy, tests: Iterable[str], mode: str, limit: float, having: str) -> str:
    """The last line that pytest prints where these tests pass in a copy; raises AdditionError where one does not."""
    code, printed = copy.test(tests, mode, limit)
    if code != PASSED or not re.search(r"\d+ passed", printed):
        raise AdditionError(f"{having} the tests do not pass (pytest returns {code}):\n{printed}")
    return printed.strip().splitlines()[-1]


def renew_tables(copy: Copy) -> None:
    """Make the tables of the pages anew in a copy; raises AdditionError."""
    words = [sys.executable, "tools/doc_tables.py"]
    run = subprocess.run(
        words, cwd=copy.root, env=copy.variables("compiled"), capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise AdditionError(f"tools/doc_tables.py fails:\n{run.stderr}")


def read_addition(path: Path) -> Addition:
    """The addition in a file; raises AdditionError."""
    head, _, patch = path.read_text(encoding="utf-8").partition("\n\n")
    found = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    if tuple(found) != KEYS:
        raise AdditionError(f"{path.name} must begin with lines {', '.join(KEYS)}")
    files = tuple(new for _, new in _FILE.findall(patch))
    return Addition(path, found["Adds"], files, tuple(found["Tests"].split()), tuple(found["Quick"].split()))


def read_additions(folder: Path = FOLDER) -> list[Addition]:
    """All additions by name; raises AdditionError."""
    return [read_addition(path) for path in sorted(folder.glob(PATCH.format("*")))]
