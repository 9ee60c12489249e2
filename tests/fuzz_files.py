"""`make fuzz-files`: changed files of every kind through every reader, each kind in a process of its own.

A reader gives data or refuses the file in words that name it. A death, a hang, any other error and memory out of
proportion end the kind, and the file is kept.
"""

import argparse
import faulthandler
import logging
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.file_kinds import KINDS, REFUSALS, FileKind
from tests.mutations import damaged

EXAMPLES = 2000  # files of a kind
SECONDS = 10.0  # of processor time for one file, on any machine
MAX_MEMORY = 1 << 30  # bytes more than before
HANG_SECONDS = 120.0  # for one file


class FuzzFault(AssertionError):
    """A reader did neither read nor refuse a file; says which."""


@dataclass
class Totals:
    """What a run has come to."""

    files: int = 0
    readings: int = 0
    refusals: int = 0


def check(kind: FileKind, folder: Path, content: bytes, totals: Totals, seconds: float = SECONDS) -> None:
    """Let all readers of a kind read a file within this processor time; raises FuzzFault."""
    totals.files += 1
    path = folder / f"fuzzed{kind.ending}"
    for name, read in kind.readers.items():
        path.write_bytes(content)  # some readers mend their files
        began = time.process_time()
        totals.readings += 1
        try:
            with _limited_memory():
                read(path)
        except REFUSALS as error:
            totals.refusals += 1
            if path.stem not in str(error):
                raise FuzzFault(f"{kind.name}, {name}: '{error}' does not name the file") from error
        except (Exception, SystemExit) as error:
            raise FuzzFault(f"{kind.name}, {name}: {type(error).__name__}: {error}") from error
        if time.process_time() - began > seconds:
            raise FuzzFault(f"{kind.name}, {name}: {time.process_time() - began:.0f} s of processor time")


def run(kind: FileKind, folder: Path, examples: int, draw: int | None = None) -> Totals:
    """Check that many changed files of a kind, the same ones each time, or those of a seed; raises FuzzFault."""
    valid = Totals()
    for content in kind.contents():
        check(kind, folder, content, valid, math.inf)  # with the time for compiling
    if valid.refusals == valid.readings:
        raise FuzzFault(f"{kind.name}: valid files are refused")
    totals = Totals()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=draw is None,
        phases=(Phase.generate,) if draw is None else (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(content=damaged(kind))
    def each(content: bytes) -> None:
        if draw is not None:
            faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        check(kind, folder, content, totals)

    if draw is not None:
        each = seed(draw)(each)
    each()
    faulthandler.cancel_dump_traceback_later()
    return totals


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Limit the memory to MAX_MEMORY."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MAX_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def main() -> int:
    """Run, print a row of a table for each kind, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_files", description="Let Merino read faulty files.")
    parser.add_argument("--examples", type=int, default=EXAMPLES, help=f"files of each kind ({EXAMPLES})")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other files (1)")
    sentence = "this kind only; may be given more than once"
    parser.add_argument("--kind", action="append", choices=[kind.name for kind in KINDS], help=sentence)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if kind.name in (arguments.kind or [kind.name])]
    if arguments.here:
        return _run_here(kinds[0], arguments.examples, arguments.seed)
    print("| Kind | Readers | Files | Readings | Refused |\n| --- | --- | ---: | ---: | ---: |", flush=True)
    return max([_run_apart(kind, arguments.examples, arguments.seed) for kind in kinds], default=0)


def _run_apart(kind: FileKind, examples: int, draw: int) -> int:
    command = [sys.executable, "-m", "tests.fuzz_files", "--here", "--kind", kind.name]
    done = subprocess.run([*command, "--examples", str(examples), "--seed", str(draw)], check=False)
    if done.returncode:
        print(f"| {kind.name} | {', '.join(kind.readers)} | FAULT, code {done.returncode} | | |", flush=True)
    return int(done.returncode != 0)


def _run_here(kind: FileKind, examples: int, draw: int) -> int:
    logging.disable()
    faulthandler.enable()
    folder = Path(tempfile.mkdtemp(prefix="fuzz_files_"))
    try:
        found = run(kind, folder, examples, draw)
    except FuzzFault as fault:
        print(f"{fault}\nthe file is in {folder}", flush=True)
        raise
    shutil.rmtree(folder)
    counts = " | ".join(f"{count:,}" for count in (found.files, found.readings, found.refusals))
    print(f"| {kind.name} | {', '.join(kind.readers)} | {counts} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
