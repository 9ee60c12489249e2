"""Runs commands under trial, each in a folder of its own, and says whether what they leave is as it should be."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from merino.core.compiled.cache import places
from merino.core.compiled.jit import ENTRIES
from merino.engine.search.warmup import warm_up
from tests.chaos.cases import Case
from tests.chaos.materials import MATERIALS, Need
from tests.chaos.readers import fault_of, files_in, format_of, outcome_of

ROOT = Path(__file__).resolve().parents[2]
SPY = Path(__file__).with_name("spy")
PATIENCE = 300.0  # seconds for a command on a slow, busy machine
CODE = "code"  # the folder of compiled code, where a case is about that
HOME = "home"  # the folder of Merino's own files, where a case is about those
PRINT = "print"  # begins the site of what a command prints
FOR_ROOM = ("create", "mkdir", "write")  # kinds of changes that a full disk does not allow
_REPORT = "report"
_TICK = os.sysconf("SC_CLK_TCK")
_TIMES = re.compile(r"\s*[0-9.]+ (m?s\b|games/s)")


def code_in_use() -> list[Path]:
    """The files of compiled code that this process has used; those that every command may need are among them."""
    warm_up()
    files = (each.file(kinds) for each in ENTRIES if each.is_ours for kinds in each.signatures)
    return list(filter(None, dict.fromkeys(files)))  # a set of terms that is read again has the code of the first


class FaultError(Exception):
    """A command did not stand a trial; the message says how."""


class Ended(NamedTuple):
    """A command that has ended: exit code, what it printed, and the seconds of processor time it took."""

    code: int
    out: str
    errors: str
    seconds: float

    def check(self) -> Ended:
        """Itself; raises FaultError unless it ended well."""
        if self.code != 0:
            raise FaultError(f"exit code {self.code}: {_last_line(self.errors or self.out)}")
        return self

    def check_refusal(self) -> None:
        """Raise FaultError unless it failed with a message, and no traceback."""
        if self.code not in (1, 2) or "Traceback" in self.errors or not self.errors.strip():
            raise FaultError(f"exit code {self.code}, and no message but: {_last_line(self.errors)}")


class Change(NamedTuple):
    """The moment before a change to a file: its site, which is what is done and where, comes for the n-th time."""

    site: str
    times: int

    def __str__(self) -> str:
        return f"{self.site.partition(' < ')[0]} for the {self.times}. time"


@dataclass(frozen=True)
class Reference:
    """An uninterrupted run: the files before and after it, what of them is compared, and what it took.

    `sites` are those of the changes to files, one after the other, or of its prints where it changes none. `code` names
    the files of compiled code that it read, from their folder.
    """

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    outcome: Mapping[str, object]
    printed: str
    seconds: float
    sites: tuple[str, ...]
    code: tuple[Path, ...]

    def with_sites_of(self, other: Reference) -> Reference:
        """Itself with the changes that come in both runs, as some come only after a time."""
        left, both = Counter(other.sites), list[str]()
        for site in self.sites:
            if left[site]:
                left[site] -= 1
                both.append(site)
        return replace(self, sites=tuple(both))

    @property
    def changes(self) -> tuple[Change, ...]:
        """All changes."""
        return tuple(Change(site, self.sites[: place + 1].count(site)) for place, site in enumerate(self.sites))

    @property
    def changes_files(self) -> bool:
        """Whether there are changes to files; else the sites are those of prints."""
        return any(not site.startswith(PRINT) for site in self.sites)

    @property
    def takes_room(self) -> tuple[Change, ...]:
        """The first and the last change of each site that needs room on the disk."""
        ends = [
            (Change(site, 1), Change(site, self.sites.count(site)))
            for site in dict.fromkeys(self.sites)
            if site.startswith(FOR_ROOM)
        ]
        return tuple(dict.fromkeys(change for pair in ends for change in pair))


class Running:
    """A command that was started, in a process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, errors: Path) -> None:
        self._process, self._out, self._errors = process, out, errors
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """The processor time that it and what it started have taken so far."""
        self._seconds = max(self._seconds, _seconds_of(self._process.pid))
        return self._seconds

    def reaches(self, seconds: float) -> bool:
        """Wait until it has taken so much processor time; False if it ends before."""
        while self._process.poll() is None:
            if self.seconds >= seconds:
                return True
            time.sleep(0.003)
        return False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command and to all that it started."""
        with suppress(ProcessLookupError):  # it has ended
            os.killpg(self._process.pid, number)

    def end(self, patience: float = PATIENCE) -> Ended:
        """Wait for its end; raises FaultError if that does not come."""
        until = time.monotonic() + patience
        while self._process.poll() is None:
            if time.monotonic() > until:
                self.signal(signal.SIGKILL)
                self._process.wait()
                raise FaultError(f"no end after {patience:.0f} s")
            _ = self.seconds
            time.sleep(0.005)
        out, errors = (path.read_text(encoding="utf-8", errors="replace") for path in (self._out, self._errors))
        return Ended(self._process.returncode, out, errors, self._seconds)


class Trial:
    """One run of a case in a folder of its own, with a home of its own that shares the compiled code."""

    def __init__(
        self, case: Case, place: Path, material: Need, code: Path, random: Random, number: int, attempt: int
    ) -> None:
        """Make the folders; `material` gives the files that cases begin with, `code` is that of compiled code.

        `number` distinguishes the trials of a harm, `attempt` those of one for which the harm came too late.
        """
        self.case, self.place, self.random, self.code = case, place, random, code
        self.number, self.attempt = number, attempt
        self.folder, self.disk = place / "work", place / "disk"
        self._home = (self.folder if case.has_home else place) / HOME
        self._count = 0
        for folder in (self.folder, self._home, self.disk):
            folder.mkdir(parents=True, exist_ok=True)
        for name, of in case.materials.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(material(of), self.folder / name)
        if case.compiles:
            self.use_code(
                [path for path in code.rglob("*.code") if not path.name.startswith(case.compiles)], self.folder
            )
        else:
            (self._home / "cache").symlink_to(code)

    def use_code(self, files: Iterable[Path], place: Path) -> Path:
        """Take copies of these files of compiled code from now on; the path of their folder, which is in `place`."""
        copy = place / CODE
        for path in files:
            target = copy / path.relative_to(self.code)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        link = self._home / "cache"
        link.unlink(missing_ok=True)
        link.symlink_to(copy)
        return copy

    def start(self, harm: str = "", before: Change | None = None, is_watched: bool = False) -> Running:
        """Start the command; one that is watched reports its changes to files.

        Before the one that is named it does itself the `harm`: "kill", or "fill" for the disk.
        """
        self._count += 1
        out, errors = (self.place / f"{name}-{self._count}" for name in ("out", "errors"))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(SPY)] * (is_watched or bool(harm)) + [str(ROOT)]),
            "MERINO_HOME": str(self._home),
            "TMPDIR": str(self.place),
            "CHAOS_FOLDER": str(self.folder),
            "CHAOS_DISK": str(self.disk),
            "CHAOS_HARM": harm,
            "CHAOS_SITE": before.site if before else "",
            "CHAOS_TIMES": str(before.times if before else 0),
            "CHAOS_REPORT": str(self.place / _REPORT),
        }
        with out.open("wb") as to, errors.open("wb") as errors_to:
            process = subprocess.Popen(
                [sys.executable, "-m", self.case.program, *shlex.split(self.case.line)],
                stdin=subprocess.PIPE,
                stdout=to,
                stderr=errors_to,
                cwd=self.folder,
                env=environment,
                start_new_session=True,
            )
        assert process.stdin is not None
        with process.stdin as heard:
            heard.write(self.case.say.encode())
        return Running(process, out, errors)

    def run(self) -> Ended:
        """The command, once it has ended."""
        return self.start().end()

    def refer(self) -> Reference:
        """Run it undisturbed, but watched; raises FaultError if it fails, or does not change what the case says."""
        before, at_first = self.contents(), outcome_of(self.folder)
        ended = self.start(is_watched=True).end().check()
        report = (self.place / _REPORT).read_text(encoding="utf-8").splitlines()
        code = {Path(line.removeprefix("code ")).resolve() for line in report if line.startswith("code ")}
        cache = (self._home / "cache").resolve()
        came = [line for line in report if not line.startswith("code ")]
        changes_files = [site for site in came if not site.startswith(PRINT)]
        self._check_valid()
        outcome, changes = outcome_of(self.folder), self.case.changes
        if changes and outcome.get(changes) == at_first.get(changes):
            raise FaultError(f"'{changes}' is as it was before a whole run")
        return Reference(
            before,
            self.contents(),
            outcome,
            ended.out,
            ended.seconds,
            tuple(changes_files or came),
            tuple(sorted(path.relative_to(cache) for path in code if path.is_relative_to(cache))),
        )

    def contents(self) -> dict[str, bytes]:
        """The files of the folder."""
        return {name: path.read_bytes() for name, path in files_in(self.folder).items()}

    def check_kept(self, reference: Reference) -> None:
        """Raise FaultError unless all files are valid, and those of the user as before, longer, or replaced."""
        self._check_valid()
        now = self.contents()
        for name, content in reference.before.items():
            kept = now.get(name)
            whole = (content, reference.after.get(name))
            grown = format_of(Path(name)).grows and kept is not None and kept.startswith(content)
            if kept is None and name in reference.after:
                raise FaultError(f"'{name}' is gone")
            if kept not in whole and not grown and not self._is_equal(name, reference):
                raise FaultError(f"'{name}' is neither as before nor as after a whole run")

    def check_repeated(self, reference: Reference) -> None:
        """Run the command again; raises FaultError unless it ends like an uninterrupted one.

        One that had already done what cannot be done twice must have done all of it.
        """
        if self.case.changes and self.is_done(reference):
            self.check_outcome(reference)
            return
        self.check_ended(self.run(), reference)

    def check_ended(self, ended: Ended, reference: Reference) -> None:
        """Raise FaultError unless a run ended well and like the uninterrupted one."""
        ended.check()
        if self.case.prints and _results(ended.out) != _results(reference.printed):
            raise FaultError("it prints something else than an uninterrupted run")
        self.check_outcome(reference)

    def check_added_twice(self, reference: Reference) -> None:
        """Raise FaultError unless two runs have both added to the file that the case changes."""
        name = self.case.changes
        compared = format_of(Path(name)).compared or bytes
        before, after = reference.before[name], reference.after[name]
        added = after.removeprefix(before.rstrip())
        if compared(self.contents()[name]) != compared(after.rstrip() + added):
            raise FaultError(f"'{name}' has not what both have added")

    def check_outcome(self, reference: Reference) -> None:
        """Raise FaultError unless the files are those of an uninterrupted run."""
        self._check_valid()
        found = outcome_of(self.folder)
        for name in sorted(found.keys() | reference.outcome.keys()):
            if name not in found:
                raise FaultError(f"'{name}' is missing after the repeated command")
            if name not in reference.outcome and name not in self.case.may_leave:
                raise FaultError(f"'{name}' is left over after the repeated command")
            if name in reference.outcome and found[name] != reference.outcome[name]:
                raise FaultError(f"'{name}' differs from that of an uninterrupted run")

    def is_done(self, reference: Reference) -> bool:
        """Whether the file that the command changes is as after a whole run."""
        return self._is_equal(self.case.changes, reference)

    def _is_equal(self, name: str, reference: Reference) -> bool:
        return outcome_of(self.folder).get(name, self) == reference.outcome.get(name)

    def _check_valid(self) -> None:
        for path in files_in(self.folder).values():
            if fault := fault_of(path):
                raise FaultError(fault)


class Laboratory:
    """The place of all trials, with what they begin with."""

    def __init__(self, place: Path, code: Path, seed: int, materials: Path | None = None) -> None:
        """`code` is the folder of compiled code, `materials` that of what trials begin with; laboratories may share it.

        Without `materials` it is a folder of `place`.
        """
        self._place, self._code, self._seed = place, code.resolve(), seed
        self._materials = materials or place / "materials"
        self._materials.mkdir(parents=True, exist_ok=True)

    def trial(self, case: Case, what: str = "", number: int = 0, attempt: int = 0) -> Trial:
        """A new trial; its random numbers depend on the seed and all of these."""
        name = f"{case.name}-{what}-{number}-{attempt}"
        place = self._place / re.sub(r"[^a-z0-9]+", "-", name.lower())
        code = self._own_code() if case.compiles else self._code
        return Trial(case, place, self._material, code, Random(f"{self._seed} {name}"), number, attempt)

    def _own_code(self) -> Path:
        """A copy of the compiled code of play as it was at first: others may add to that of the user meanwhile."""
        copy = self._place / CODE
        if not copy.exists():
            (copy / places()[0].name).mkdir(parents=True)
            for path in code_in_use():
                shutil.copy(path, copy / path.parent.name)
        return copy

    def _material(self, name: str) -> Path:
        """The path of a material, which is made the first time; the first trial of a case makes all that it needs."""
        path = self._materials / name
        if not path.exists():
            MATERIALS[name](path, self._material)
        return path


def _seconds_of(process: int) -> float:
    """The processor time of a process and of what it started; 0 after its end."""
    here = Path(f"/proc/{process}")
    try:
        fields = (here / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        children = (here / "task" / str(process) / "children").read_text(encoding="utf-8").split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK + sum(_seconds_of(int(child)) for child in children)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "nothing"


def _results(printed: str) -> list[str]:
    """The lines of a result, without times and remarks about what was there."""
    return [_TIMES.sub("", line) for line in printed.splitlines() if line.strip()]
