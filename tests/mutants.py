"""Plant the faults of `tests/faults/` one at a time and run the tests that cover them: each must fail some test.

    python -m tests.mutants --only search pgn --workers 2

Nothing is planted in the checkout: each worker has a copy of it, and a MERINO_HOME, that are gone at the end. First the
tests must pass in a copy without a fault. After a run of the whole list, docs/lab/reliability.md gets the table.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from queue import SimpleQueue

from merino.core.common import about, files
from tests.fault_lists import MODES, ROOT, Fault, FaultError, chosen, read_faults
from tests.kept_results import keep_results, known_results
from tools.markdown import markdown_table, with_section

RESULTS = ROOT / "build" / "mutants.json"
PAGE = ROOT / "docs" / "lab" / "reliability.md"
LIMIT_SECONDS = 900  # of the tests of one fault
CONTROL_LIMIT = 4  # such times for all tests without a fault
NICENESS = 5
PASSED, FAILED, BROKEN = 0, 1, 2  # what pytest returns; 2 where a module of tests cannot be imported
WITHOUT_COMPILING = ("-p", "no:threadexception", "-p", "no:unraisableexception", "--seconds", "30")
_FIRST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """What became of a fault: whether it was caught, by which test, after how many seconds."""

    caught: bool
    by: str
    seconds: float

    def __str__(self) -> str:
        return f"{'caught' if self.caught else 'SURVIVED':8} {self.seconds:6.1f} s  {self.by}"


class Copy:
    """A throw-away copy of the files that git knows, with a home of its own for compiled code."""

    def __init__(self, folder: Path, seed: Path) -> None:
        """`seed` is a folder of compiled code to begin with; it stays as it is."""
        self.root, self.home, self.temporary = (folder / name for name in ("code", "home", "temporary"))
        self.temporary.mkdir(parents=True)
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        for bytecode in {(ROOT / name).parent / "__pycache__" for name in names.split("\0")}:  # valid, as times stay
            if bytecode.is_dir():
                shutil.copytree(bytecode, self.root / bytecode.relative_to(ROOT), copy_function=link)
        self._process: subprocess.Popen[str] | None = None
        (self.home / "cache").mkdir(parents=True)
        if seed.is_dir():
            shutil.copytree(seed, self.home / "cache", dirs_exist_ok=True, copy_function=link)

    def test(self, tests: Iterable[str], mode: str, limit: float) -> tuple[int | None, str]:
        """Run tests up to the first failure: what pytest returns, None if it took too long, and what it printed."""
        words = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
        words += [*(WITHOUT_COMPILING if mode == "python" else ()), *tests]
        self._process = process = subprocess.Popen(
            words,
            cwd=self.root,
            env=self.variables(mode),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            self.end()
        return process.returncode, printed

    def variables(self, mode: str) -> dict[str, str]:
        """The environment of a process that runs the copy in this one of MODES."""
        return os.environ | {
            "MERINO_HOME": str(self.home),
            "PYTHONPATH": str(self.root),
            "PYTHONDONTWRITEBYTECODE": "1",  # a fault may be as long as the line, and planted in the same second
            "TMPDIR": str(self.temporary),
            "NUMBA_DISABLE_JIT": "1" if mode == "python" else "0",
        }

    def end(self) -> None:
        """Kill the tests under way, and whatever they have started and left."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """The copy with a fault; afterwards the file is as before, and what was compiled from it is gone."""
        path, compiled = self.root / fault.file, self.home / "cache"
        before, known = path.stat(), set(compiled.iterdir())
        text = path.read_text(encoding="utf-8")
        path.write_text(fault.planted(text), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            for folder in set(compiled.iterdir()) - known:
                shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary.mkdir(exist_ok=True)

    def find(self, fault: Fault, limit: float) -> Finding:
        """Whether the tests that cover a fault catch it; raises FaultError where they cannot be run."""
        began = time.perf_counter()
        with self.with_fault(fault):
            code, printed = self.test(fault.tests, fault.mode, limit)
        seconds = time.perf_counter() - began
        if code is None:
            return Finding(fault.hangs, f"nothing within {limit:g} s", seconds)
        if code == PASSED:
            return Finding(False, "no test", seconds)
        if code not in (FAILED, BROKEN):
            raise FaultError(f"{fault}: pytest returns {code}\n{printed}")
        failure = _FIRST_FAILURE.search(printed)
        return Finding(True, failure[1] if failure else printed.strip().splitlines()[-1], seconds)


class Results:
    """The findings so far, kept in a file after each, so that a run may be resumed."""

    def __init__(self, path: Path, resume: bool) -> None:
        self._path = path
        self._found = {digest: Finding(**row) for digest, row in known_results(path, resume).items()}

    def of(self, fault: Fault) -> Finding | None:
        """What became of this fault, None if it, its module or its tests have changed since."""
        return self._found.get(fault.digest(ROOT))

    def add(self, digest: str, finding: Finding) -> None:
        """Keep a finding by the digest of its fault, which is that of the files before the copy was made."""
        self._found[digest] = finding
        keep_results(self._path, self._found)


def control(copy: Copy, faults: list[Fault], limit: float) -> None:
    """Run the tests of these faults without any; raises FaultError where one fails or none passes."""
    for mode in MODES:
        tests = sorted({test for fault in faults if fault.mode == mode for test in fault.tests})
        if not tests:
            continue
        began = time.perf_counter()
        code, printed = copy.test(tests, mode, CONTROL_LIMIT * limit)
        if code != PASSED or not re.search(r"\d+ passed", printed):
            raise FaultError(f"without a fault the {mode} tests do not pass (pytest returns {code}):\n{printed}")
        print(f"without a fault, {mode}: {printed.strip().splitlines()[-1]}", flush=True)
        print(f"  ({time.perf_counter() - began:.0f} s)", flush=True)


def run(faults: list[Fault], results: Results, workers: int, limit: float) -> None:
    """Find out about those without a result; each finding is printed and kept."""
    waiting = {fault: fault.digest(ROOT) for fault in faults if results.of(fault) is None}
    if not waiting:
        return
    with tempfile.TemporaryDirectory(prefix="merino-mutants-") as folder:
        first = Copy(Path(folder) / "1", files.user_folder("cache"))
        control(first, list(waiting), limit)
        all_copies = [first, *(Copy(Path(folder) / str(n), first.home / "cache") for n in range(2, workers + 1))]
        copies: SimpleQueue[Copy] = SimpleQueue()
        for copy in all_copies:
            copies.put(copy)

        def work(fault: Fault) -> Finding:
            copy = copies.get()
            try:
                return copy.find(fault, limit)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(workers) as pool:
            jobs = {pool.submit(work, fault): fault for fault in waiting}
            try:
                for job in as_completed(jobs):
                    results.add(waiting[jobs[job]], job.result())
                    print(f"{job.result()}  {jobs[job]}", flush=True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for copy in all_copies:
                    copy.end()
                raise


def table(faults: list[Fault], results: Results) -> str:
    """The table of the page: faults and how many of them were caught, by area."""
    rows = []
    for area in dict.fromkeys(fault.area for fault in faults):
        found = [results.of(fault) for fault in faults if fault.area == area]
        rows.append((area, str(len(found)), str(sum(each is not None and each.caught for each in found))))
    rows.append(("**all**", *(str(sum(int(row[column]) for row in rows)) for column in (1, 2))))
    return markdown_table(("Area", "Faults", "Caught"), rows, right_aligned=(1, 2))


def link(source: str, target: str) -> None:
    """A second name of a file, which is only ever replaced; a copy where the disk is another."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def main() -> int:
    """Run, print the table, and return 1 where a fault survives, 2 where something stands in the way."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Plant faults that tests must catch.")
    parser.add_argument("--only", nargs="+", default=[], metavar="AREA|NAME", help="only these faults")
    parser.add_argument("--resume", action="store_true", help="keep the results of the last run that still hold")
    parser.add_argument("--workers", type=int, default=1, help="how many faults are tried at once (1)")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds for one fault (%(default)s)")
    arguments = parser.parse_args()
    os.nice(NICENESS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    began = time.perf_counter()
    try:
        every = read_faults()
        faults, results = chosen(every, arguments.only), Results(RESULTS, arguments.resume)
        for fault in faults:
            fault.planted((ROOT / fault.file).read_text(encoding="utf-8"))
        run(faults, results, arguments.workers, arguments.limit)
        print(shown := table(faults, results))
        print(f"{time.perf_counter() - began:.0f} s")
        if len(faults) == len(every):
            said = f"Version {about.__version__}, {date.today():%d %B %Y}:\n\n{shown}"
            files.write_whole(PAGE, with_section(PAGE.read_text(encoding="utf-8"), "mutants", said).encode())
    except FaultError as error:
        print(error, file=sys.stderr)
        return 2
    return not all((found := results.of(fault)) and found.caught for fault in faults)


if __name__ == "__main__":
    sys.exit(main())
