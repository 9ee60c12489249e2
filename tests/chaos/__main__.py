"""`make chaos`: hurts every command that writes in every way, and prints a table of trials and faults."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from textwrap import fill

from benchmarks.markdown import markdown_table, with_section
from merino.inner.core.common.about import NAME, __version__
from merino.inner.core.common.user_files import user_folder
from merino.inner.core.common.work import cores
from tests.chaos.cases import CASES, Case
from tests.chaos.harms import HARMS, Harm, NotPossibleError, TooLateError
from tests.chaos.laboratory import ROOT, FaultError, Laboratory, Reference

PAGE = ROOT / "docs" / "commands.md"
ATTEMPTS = 8  # at a trial, until the harm comes in time
KILLS = 20
_INSIDE = "MERINO_CHAOS_MAY_MOUNT"


@dataclass
class Cell:
    """The trials of one case with one harm."""

    trials: int = 0
    faults: int = 0
    not_possible: str = ""

    def __str__(self) -> str:
        if self.not_possible:
            return "-"
        return f"{self.trials}, **{self.faults} faulty**" if self.faults else str(self.trials)


class Examination:
    """The trials of a run, and what they have come to."""

    def __init__(self, laboratory: Laboratory, kills: int, at_a_time: int) -> None:
        self._laboratory, self._kills, self._at_a_time = laboratory, kills, at_a_time
        self.cells: dict[tuple[str, str], Cell] = {}
        self.writes: dict[str, int] = {}  # of each case, those at which a disk can be full
        self.tried_writes: dict[str, int] = {}  # and those at which it was
        self.faults: list[str] = []

    def examine(self, case: Case, harms: Mapping[str, Harm]) -> None:
        """All trials of a case, after a run to compare them with and one that must be equal to it."""
        began = time.monotonic()
        try:
            reference = self._reference(case)
        except FaultError as error:
            self._note(f"{case.name}: undisturbed runs fail or differ, so there is nothing to compare with: {error}")
            return
        trials = [(name, number) for name, harm in harms.items() for number in harm.trials(self._kills, reference)]
        writes = self.writes[case.name] = len(reference.takes_room)
        self.tried_writes[case.name] = sum(name == "full" and number < writes for name, number in trials)
        with ThreadPoolExecutor(self._at_a_time) as pool:
            outcomes = list(pool.map(lambda trial: self._outcome(case, reference, *trial), trials))
        for (name, number), outcome in zip(trials, outcomes, strict=True):
            cell = self.cells.setdefault((case.name, name), Cell())
            if isinstance(outcome, NotPossibleError):
                cell.not_possible = str(outcome)
                continue
            cell.trials += 1
            if outcome is not None:
                cell.faults += 1
                self._note(f"{case.name}, {harms[name].title}, trial {number}: {outcome}")
        row = ", ".join(f"{name} {self.cells[case.name, name]}" for name in harms)
        _say(f"{case.name}: {row}; {time.monotonic() - began:.0f} s")

    def _reference(self, case: Case) -> Reference:
        """An undisturbed run, and the time of another, which must be equal; raises FaultError."""
        again = self._laboratory.trial(case, "again").refer()
        reference = self._laboratory.trial(case, "reference").refer().with_sites_of(again)
        control = self._laboratory.trial(case, "control")
        ended = control.run()
        control.check_ended(ended, reference)
        return replace(reference, seconds=ended.seconds)  # watching takes its time, too

    def _note(self, fault: str) -> None:
        self.faults.append(fault)
        _say(f"  {fault}")

    def _outcome(
        self, case: Case, reference: Reference, name: str, number: int
    ) -> NotPossibleError | FaultError | None:
        """What a trial has come to: None if there is no fault."""
        for attempt in range(ATTEMPTS):
            trial = self._laboratory.trial(case, name, number, attempt)
            try:
                HARMS[name].do(trial, reference)
            except TooLateError:
                shutil.rmtree(trial.place)
                continue
            except (NotPossibleError, FaultError) as error:
                return error
            shutil.rmtree(trial.place)
            return None
        return FaultError(f"it always ended too soon, {ATTEMPTS} times")


def main() -> int:
    """Run the trials and print the table; 1 if there is a fault."""
    args = _parser().parse_args()
    _enter_namespace()
    began = time.monotonic()
    cases = [case for case in CASES if not args.only or {case.name, case.command} & set(args.only)]
    harms = {name: harm for name, harm in HARMS.items() if not args.harms or name in args.harms}
    place = Path(tempfile.mkdtemp(prefix="merino-chaos-"))
    examination = Examination(Laboratory(place, user_folder("cache"), args.seed), args.trials, args.at_a_time)
    try:
        for case in cases:
            examination.examine(case, harms)
    except KeyboardInterrupt:
        _say("Interrupted; the table has the commands that were examined.")
    text = _report(examination, cases, harms, args.seed, time.monotonic() - began)
    print(text)
    if args.write:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), "chaos", text.rstrip()), encoding="utf-8")
    if examination.faults:
        _say(f"The folders of the faulty trials are in '{place}'.")
        return 1
    shutil.rmtree(place)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    names = sorted({name for case in CASES for name in (case.name, case.command)})
    add = parser.add_argument
    add("--only", nargs="+", metavar="COMMAND", choices=names, help=f"only these of {', '.join(names)}")
    add("--harms", nargs="+", choices=HARMS, help="only these kinds of harm")
    add("--trials", type=int, default=KILLS, metavar="N", help="kills of each command (default: %(default)s)")
    add("--seed", type=int, default=1, metavar="N", help="seed of all random moments (default: %(default)s)")
    add("--at-a-time", type=int, default=cores(), metavar="N", help="trials at a time (default: one per core)")
    add("--write", action="store_true", help=f"write the table to {PAGE.relative_to(ROOT)}")
    return parser


def _enter_namespace() -> None:
    """Start anew where mounts are ours alone and end with us, if the system allows; else some harms cannot be done."""
    if _INSIDE in os.environ or shutil.which("unshare") is None:
        return
    for words in (["--mount"], ["--user", "--map-root-user", "--mount"]):
        command = ["unshare", *words]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            os.environ[_INSIDE] = "1"
            os.execvp(command[0], [*command, sys.executable, "-m", "tests.chaos", *sys.argv[1:]])


def _report(
    examination: Examination, cases: Iterable[Case], harms: Mapping[str, Harm], seed: int, seconds: float
) -> str:
    """The table, and what it is of."""
    cells = examination.cells
    examined = [case for case in cases if all((case.name, name) in cells for name in harms)]
    rows = [(f"`{case.name}`", *(str(cells[case.name, name]) for name in harms)) for case in examined]
    table = markdown_table(("Command", *(harm.title for harm in harms.values())), rows, range(1, len(harms) + 1))
    trials, faults = sum(cell.trials for cell in cells.values()), len(examination.faults)
    why = sorted({cell.not_possible for cell in cells.values() if cell.not_possible})
    notes = "".join(f"- {reason}\n" for reason in why)
    about = (
        f"{NAME} {__version__} at `{_commit()}`, {date.today():%Y-%m-%d}, seed {seed}: {trials:,} trials, "
        f"{faults or 'none'} with a fault, in {seconds / 60:.0f} minutes on {cores()} shared cores. "
        + (f"The disk was full at {_share(examination)} writes. " if "full" in harms else "")
    )
    return f"{fill(about, 120)}\n\n{table}\n" + (f"\nNot tried (-):\n\n{notes}" if why else "")


def _share(examination: Examination) -> str:
    """At how many of the writes there are the disk was full."""
    tried, there = sum(examination.tried_writes.values()), sum(examination.writes.values())
    return f"each of {there:,}" if tried == there else f"{tried:,} of {there:,}"


def _commit() -> str:
    """The commit that is checked out."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "an unknown commit"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
