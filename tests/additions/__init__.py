"""Additions: a change of each kind that CONTRIBUTING describes, kept as a patch that shows what it takes.

A file `NAME.patch` begins with these lines, then an empty one and what `git diff` prints:

Adds: what the change adds
Tables: the pages whose generated tables show it; nothing behind the colon where none does
Tests: the test files that it touches, which `make additions` runs compiled
Quick: those of their tests that run with the whole suite too, their kernels as plain Python

A patch holds no generated tables, so that it does not get stale with them: `tools/doc_tables.py` renews them in the
copy that gets the patch, and the pages that change then must be those that it names.
"""

import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fault_lists import ROOT
from tests.mutants import PASSED, Copy

FOLDER = ROOT / "tests" / "additions"
PATCH = "{}.patch"
KEYS = ("Adds", "Tables", "Tests", "Quick")
LIMIT_SECONDS = 900  # of the tests of one addition
_FILE = re.compile(r"^diff --git a/(\S+) b/(\S+)$", re.MULTILINE)


class AdditionError(Exception):
    """A patch that cannot be read or applied, or whose tests fail; the message says which and why."""


@dataclass(frozen=True)
class Addition:
    """One patch: what it adds, the files that it changes, and the tests that must pass with it.

    `patched` are the files in the patch, `tables` the pages whose generated tables show the addition.
    """

    path: Path
    adds: str
    patched: tuple[str, ...]
    tables: tuple[str, ...]
    tests: tuple[str, ...]
    quick: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the patch."""
        return self.path.stem

    @property
    def files(self) -> tuple[str, ...]:
        """All files that it changes."""
        return tuple(dict.fromkeys(self.patched + self.tables))

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
        renew_tables(copy, self.tables)
        return passed(copy, self.tests, "compiled", limit, f"with {self.path.name}")


def prove_quickly(additions: Sequence[Addition], folder: Path, limit: float = LIMIT_SECONDS) -> str:
    """Run the quick tests of these additions in one copy that has them all; the last line of pytest.

    Raises AdditionError.
    """
    copy, tests = Copy(folder, folder / "nothing compiled"), []
    for addition in additions:
        addition.apply(copy.root)
        tests += addition.quick
    renew_tables(copy, {page for addition in additions for page in addition.tables})
    return passed(copy, tests, "python", limit, "with the additions")


def passed(copy: Copy, tests: Iterable[str], mode: str, limit: float, having: str) -> str:
    """The last line that pytest prints where these tests pass in a copy; raises AdditionError where one does not."""
    code, printed = copy.test(tests, mode, limit)
    if code != PASSED or not re.search(r"\d+ passed", printed):
        raise AdditionError(f"{having} the tests do not pass (pytest returns {code}):\n{printed}")
    return printed.strip().splitlines()[-1]


def renew_tables(copy: Copy, said: Collection[str]) -> None:
    """Renew the tables of the pages in a copy.

    Raises AdditionError where that fails, or changes other pages than the additions said.
    """
    pages = {path: path.read_bytes() for path in (*copy.root.glob("README.md"), *(copy.root / "docs").rglob("*.md"))}
    words = [sys.executable, "tools/doc_tables.py"]
    run = subprocess.run(
        words, cwd=copy.root, env=copy.variables("python"), capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise AdditionError(f"tools/doc_tables.py fails:\n{run.stderr}")
    renewed = {path.relative_to(copy.root).as_posix() for path, text in pages.items() if path.read_bytes() != text}
    if renewed != set(said):
        raise AdditionError(f"tools/doc_tables.py changes {sorted(renewed)}, but the additions say {sorted(said)}")


def read_addition(path: Path) -> Addition:
    """The addition in a file; raises AdditionError."""
    head, _, patch = path.read_text(encoding="utf-8").partition("\n\n")
    found = {key: value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
    if tuple(found) != KEYS:
        raise AdditionError(f"{path.name} must begin with lines {', '.join(KEYS)}")
    patched = tuple(new for _, new in _FILE.findall(patch))
    tables, tests, quick = (tuple(found[key].split()) for key in KEYS[1:])
    return Addition(path, found["Adds"], patched, tables, tests, quick)


def read_additions(folder: Path = FOLDER) -> list[Addition]:
    """All additions by name; raises AdditionError."""
    return [read_addition(path) for path in sorted(folder.glob(PATCH.format("*")))]
