"""Planted faults: lines of the program that a list makes wrong, to see whether the tests notice.

The lists are the files `tests/faults/AREA.toml`, for anyone to lengthen. Each `[[fault]]` names one:

name    what it is called, unlike all others
file    the module, from the root of the checkout
after   where `line` stands more than once: a fragment of the module that stands once; the first `line` behind it counts
line    a fragment of one line as it is
fault   what stands there instead
why     what is wrong then
tests   the test files that cover it, or single tests as pytest names them
mode    "compiled" as users run it, or "python" with kernels as plain Python, for tests that are quick enough so
hangs   true where a run that takes too long is what the fault causes, so that it counts as caught
"""

import ast
import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = ROOT / "tests" / "faults"
MODES = ("compiled", "python")


class FaultError(Exception):
    """A fault that cannot be planted, or a list that cannot be read; the message says which and why."""


@dataclass(frozen=True)
class Fault:
    """One line of a list; see above."""

    area: str
    name: str
    file: str
    line: str
    fault: str
    why: str
    tests: tuple[str, ...]
    mode: str
    after: str = ""
    hangs: bool = False

    def __str__(self) -> str:
        return f"{self.area}/{self.name}"

    def planted(self, text: str) -> str:
        """The text of the module with the fault in it; raises FaultError."""
        start = 0
        if self.after:
            start = self._only(text, self.after) + len(self.after)
            if self.line not in text[start:]:
                raise FaultError(f"{self}: behind {self.after!r}, {self.file} has no {self.line!r}")
        place = text.index(self.line, start) if self.after else self._only(text, self.line)
        wrong = text[:place] + self.fault + text[place + len(self.line) :]
        if "\n" in self.line + self.fault:
            raise FaultError(f"{self}: a fault changes one line")
        if wrong == text:
            raise FaultError(f"{self}: the fault is no change")
        if self.file.endswith(".py"):
            begin, end = wrong.rfind("\n\n\n", 0, place) + 3, wrong.find("\n\n\n", place)
            try:
                ast.parse(wrong[begin if begin > 2 else 0 : end])  # two blank lines stand around it and its block
            except SyntaxError as error:
                raise FaultError(f"{self}: the fault is no Python: {error}") from None
        return wrong

    def digest(self, root: Path) -> str:
        """Of the fault, its module and its tests: a result holds as long as it stays the same."""
        known = hashlib.sha256(repr(sorted(asdict(self).items())).encode())
        for path in sorted({self.file, *(test.partition("::")[0] for test in self.tests)}):
            known.update((root / path).read_bytes())
        return known.hexdigest()[:16]

    def _only(self, text: str, fragment: str) -> int:
        found = text.count(fragment)
        if found != 1:
            raise FaultError(f"{self}: {fragment!r} stands {found} times in {self.file}, not once")
        return text.index(fragment)


def read_faults(folder: Path = LISTS) -> list[Fault]:
    """All faults of the lists, by area; raises FaultError."""
    found: list[Fault] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            rows = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
            found += [Fault(path.stem, **{**row, "tests": tuple(row["tests"])}) for row in rows]
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise FaultError(f"{path.name}: {error}") from None
    check(found)
    return found


def check(faults: Iterable[Fault]) -> None:
    """Raise FaultError where two have one name, or one names no mode or no tests."""
    names: set[str] = set()
    for fault in faults:
        if fault.name in names:
            raise FaultError(f"{fault}: two faults have this name")
        names.add(fault.name)
        if fault.mode not in MODES:
            raise FaultError(f"{fault}: the mode is {' or '.join(MODES)}, not {fault.mode!r}")
        if not fault.tests or not fault.why:
            raise FaultError(f"{fault}: tests and why must be named")


def chosen(faults: list[Fault], wanted: list[str]) -> list[Fault]:
    """Those whose area or name is wanted, all if none is; raises FaultError for a word that is neither."""
    for word in wanted:
        if not any(word in (fault.area, fault.name) for fault in faults):
            raise FaultError(f"no area and no fault is called {word!r}")
    return [fault for fault in faults if not wanted or {fault.area, fault.name} & set(wanted)]
