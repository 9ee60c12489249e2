"""`make chaos`: hurts every command that writes in every way, and prints a table of trials and faults."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from textwrap import fill

from merino.core.common import files, work
from merino.core.common.about import NAME, __version__
from tests.chaos.cases import CASES, Case
from tests.chaos.harms import HARMS, Harm, NotPossibleError, TooLateError
from tests.chaos.laboratory import ROOT, FaultError, Laboratory, Reference
from tests.chaos.results import Cell, Results, Row
from tools.markdown import markdown_table, with_section

PAGE = ROOT / "docs" / "commands.md"
RESULTS = ROOT / "build" / "chaos.json"
ATTEMPTS = 8  # at a trial, until the harm comes in time
KILLS = 20
_INSIDE = "MERINO_CHAOS_MAY_MOUNT"


class Examination:
    """Examines cases with a seed and a number of kills."""

    def __init__(self, laboratory: Laboratory, seed: int, kills: int, at_a_time: int) -> None:
        self._laboratory, self._seed, self._kills, self._at_a_time = laboratory, seed, kills, at_a_time

    def examine(self, case: Case, harms: Mapping[str, Harm]) -> Row:
        """All trials of a case, after a run to compare them with and one that must be equal to it."""
        began, row = time.monotonic(), Row(_commit(), self._seed, self._kills)
        try:
            reference = self._reference(case)
        except FaultError as error:
            _note(row, f"{case.name}: undisturbed runs fail or differ, so there is nothing to compare with: {error}")
            return row
        trials = [(name, number) for name, harm in harms.items() for number in harm.trials(self._kills, reference)]
        row.writes = len(reference.takes_room)
        row.tried_writes = sum(name == "full" and number < row.writes for name, number in trials)
        with ThreadPoolExecutor(self._at_a_time) as pool:
            outcomes = list(pool.map(lambda trial: self._outcome(case, reference, *trial), trials))
        for (name, number), outcome in zip(trials, outcomes, strict=True):
            cell = row.cells.setdefault(name, Cell())
            if isinstance(outcome, NotPossibleError):
                cell.not_possible = str(outcome)
                continue
            cell.trials += 1
            if outcome is not None:
                cell.faults += 1
                _note(row, f"{case.name}, {harms[name].title}, trial {number}: {outcome}")
        row.seconds = time.monotonic() - began
        said = ", ".join(f"{name} {cell}" for name, cell in row.cells.items())
        _say(f"{case.name}: {said}; {row.seconds:.0f} s")
        return row

    def _reference(self, case: Case) -> Reference:
        """An undisturbed run, and the time of another, which must be equal; raises FaultError."""
        again = self._laboratory.trial(case, "again").refer()
        reference = self._laboratory.trial(case, "reference").refer().with_sites_of(again)
        control = self._laboratory.trial(case, "control")
        ended = control.run()
        control.check_ended(ended, reference)
        return replace(reference, seconds=ended.seconds)  # watching takes its time, too

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
    cases = [case for case in CASES if not args.only or {case.name, case.command} & set(args.only)]
    harms = {name: harm for name, harm in HARMS.items() if not args.harms or name in args.harms}
    place, results = Path(tempfile.mkdtemp(prefix="merino-chaos-")), Results(args.results, args.resume)
    laboratory = Laboratory(place, files.user_folder("cache"), args.seed)
    examination = Examination(laboratory, args.seed, args.trials, args.at_a_time)
    done = {name for name, row in results.rows.items() if row.serves(args.seed, args.trials, harms)}
    try:
        for case in cases:
            if case.name not in done:
                results.add(case.name, examination.examine(case, harms))
                done.add(case.name)
    except KeyboardInterrupt:
        _say("Interrupted; the table has the commands that were examined, and --resume goes on with the others.")
    rows = {case.name: results.rows[case.name] for case in cases if case.name in done}
    text = _report(rows, harms)
    print(text)
    if args.write:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), "chaos", text.rstrip()), encoding="utf-8")
    if any(row.faults for row in rows.values()):
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
    add("--at-a-time", type=int, default=work.cores(), metavar="N", help="trials at a time (default: one per core)")
    add("--resume", action="store_true", help="keep the rows without a fault of the last run")
    add(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="FILE",
        help=f"where rows are kept (default: {RESULTS.relative_to(ROOT)})",
    )
    add("--write", action="store_true", help=f"write the table to {PAGE.relative_to(ROOT)}")
    return parser


def _enter_namespace() -> None:
    """Start again where mounts are ours alone and end with us, if the system allows; else some harms cannot be done."""
    if _INSIDE in os.environ or shutil.which("unshare") is None:
        return
    for words in (["--mount"], ["--user", "--map-root-user", "--mount"]):
        command = ["unshare", *words]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            os.environ[_INSIDE] = "1"
            os.execvp(command[0], [*command, sys.executable, "-m", "tests.chaos", *sys.argv[1:]])


def _report(rows: Mapping[str, Row], harms: Mapping[str, Harm]) -> str:
    """The table, and what it is of."""
    examined = {name: row for name, row in rows.items() if row.cells.keys() == harms.keys()}
    lines = [(f"`{name}`", *(str(row.cells[harm]) for harm in harms)) for name, row in examined.items()]
    table = markdown_table(("Command", *(harm.title for harm in harms.values())), lines, range(1, len(harms) + 1))
    cells = [cell for row in examined.values() for cell in row.cells.values()]
    faults = sum(len(row.faults) for row in rows.values())
    commits = dict.fromkeys(f"`{row.commit}`" for row in rows.values())
    seeds = ", ".join(dict.fromkeys(str(row.seed) for row in rows.values()))
    notes = "".join(f"- {reason}\n" for reason in sorted({cell.not_possible for cell in cells if cell.not_possible}))
    about = (
        f"{NAME} {__version__} at {', '.join(commits)}, {date.today():%Y-%m-%d}, seed {seeds}: "
        f"{sum(cell.trials for cell in cells):,} trials, {faults or 'none'} with a fault, "
        f"in {sum(row.seconds for row in rows.values()) / 60:.0f} minutes on {work.cores()} shared cores. "
        + (f"The disk was full at {_share(rows.values())} writes. " if "full" in harms else "")
    )
    return f"{fill(about, 120)}\n\n{table}\n" + (f"\nNot tried (-):\n\n{notes}" if notes else "")


def _share(rows: Collection[Row]) -> str:
    """At how many of the writes there are the disk was full."""
    tried, there = sum(row.tried_writes for row in rows), sum(row.writes for row in rows)
    return f"each of {there:,}" if tried == there else f"{tried:,} of {there:,}"


def _commit() -> str:
    """The commit that is checked out."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "an unknown commit"


def _note(row: Row, fault: str) -> None:
    row.faults.append(fault)
    _say(f"  {fault}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
