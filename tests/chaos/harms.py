"""The kinds of harm, each a function of a trial and the uninterrupted run; it raises FaultError where a command fails.

`NotPossibleError` says that a harm cannot be done here, or that it does not concern the case.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.chaos.laboratory import FaultError, Reference, Running, Trial

PAGE = 4096  # bytes that a file on a tmpfs takes at least
LOADING = 0.3  # of the time of a run, in which Python loads and nothing can be lost
ROOM = "1g"
STOPPED_SECONDS = 0.5


class NotPossibleError(Exception):
    """A harm that cannot be done; the message says why."""


class TooLateError(Exception):
    """The command had ended before the harm was done: it takes another trial."""


def _begun(trial: Trial, reference: Reference) -> Running:
    """The command at a random moment of its work; raises TooLateError if it ends before."""
    running = trial.start()
    if not running.reaches(reference.seconds * trial.random.uniform(LOADING, 1.0)):
        raise TooLateError
    return running


def kill(trial: Trial, reference: Reference) -> None:
    """SIGKILL at a random moment; then the same command again."""
    running = _begun(trial, reference)
    running.signal(signal.SIGKILL)
    running.end()
    trial.check_kept(reference)
    trial.check_repeated(reference)


def kill_at_write(trial: Trial, reference: Reference) -> None:
    """SIGKILL just before a file is opened for writing, renamed or removed; then the same command again."""
    if not reference.changes:
        raise NotPossibleError("it writes no file")
    trial.start(is_watched=True, dies_before=trial.random.randint(1, reference.changes)).end()
    trial.check_kept(reference)
    trial.check_repeated(reference)


def stop(trial: Trial, reference: Reference) -> None:
    """SIGSTOP at a random moment, and SIGCONT after a while."""
    running = _begun(trial, reference)
    running.signal(signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    running.signal(signal.SIGCONT)
    trial.check_ended(running.end(), reference)


def full_disk(trial: Trial, reference: Reference) -> None:
    """A disk with room for a random number of pages more; then room, and the same command again."""
    used = sum(_pages(content) for content in reference.before.values())
    wanted = sum(_pages(content) for content in reference.after.values())
    largest = max((_pages(content) for content in reference.after.values()), default=0)
    room = trial.random.randint(0, max(1, wanted - used + largest))
    with _mounted(trial, f"size={max(1, used + room) * PAGE}"):
        ended = trial.run()
        if ended.code != 0:
            ended.check_refusal()
        trial.check_kept(reference)
        _mount("-o", f"remount,size={ROOM}", str(trial.folder))
        trial.check_repeated(reference)


def read_only(trial: Trial, reference: Reference) -> None:
    """A folder on a disk mounted read-only; then writable, and the same command again."""
    before = trial.contents()
    with _bound(trial.folder):
        ended = trial.run()
        if trial.case.say:
            ended.check_told("Cannot write")
        elif trial.case.compiles:
            ended.check()  # compiled code finds another place, or is made anew at each start
        elif reference.changes or ended.code != 0:
            ended.check_refusal()
        if trial.contents() != before:
            raise FaultError("files have changed on a disk that is read-only")
    trial.check_repeated(reference)


def damaged_code(trial: Trial, reference: Reference) -> None:
    """Files of compiled code that are cut short, empty, or have other bytes; the command notices and compiles."""
    if not reference.code or trial.case.compiles:
        raise NotPossibleError("it loads no compiled code")
    used = {path.relative_to(trial.code).parts[0] for path in reference.code}  # by what it was compiled from
    copy = trial.use_code([path for name in sorted(used) for path in (trial.code / name).rglob("*.code")], trial.place)
    path = copy / trial.random.choice(reference.code).relative_to(trial.code)
    content = bytearray(path.read_bytes())
    where = trial.random.randrange(len(content))
    damage = trial.random.choice(("cut", "empty", "other"))
    if damage == "other":
        content[where : where + 50] = bytes(255 - byte for byte in content[where : where + 50])
    path.write_bytes({"cut": content[:where], "empty": b"", "other": content}[damage])
    trial.check_ended(trial.run(), reference)


def two_at_once(trial: Trial, reference: Reference) -> None:
    """The same command twice at once: both end well, or one refuses; then once more."""
    if trial.case.say:
        raise NotPossibleError("at the prompt, each run adds a game of its own")
    first = trial.start()
    first.reaches(reference.seconds * trial.random.uniform(0, 0.6))
    second = trial.start()
    ended = [first.end(), second.end()]
    for each in ended:
        if each.code != 0:
            each.check_refusal()
    if all(each.code != 0 for each in ended):
        raise FaultError("both refused")
    if trial.case.holds and not any(each.code for each in ended):
        raise TooLateError  # they ran one after the other
    trial.check_kept(reference)
    trial.check_repeated(reference)


class Harm(NamedTuple):
    """A column of the table: its title, how it is done, and its number of trials for twenty kills."""

    title: str
    do: Callable[[Trial, Reference], None]
    for_twenty: int

    def trials(self, kills: int) -> int:
        """Its number of trials, at least one, where a command is killed so often."""
        return max(1, round(self.for_twenty * kills / 20))


HARMS = {
    "kill": Harm("SIGKILL at a random moment", kill, 20),
    "write": Harm("SIGKILL at a write", kill_at_write, 6),
    "stop": Harm("SIGSTOP, SIGCONT", stop, 2),
    "full": Harm("full disk", full_disk, 5),
    "read-only": Harm("read-only folder", read_only, 1),
    "code": Harm("damaged compiled code", damaged_code, 2),
    "two": Harm("two at once", two_at_once, 2),
}


def _pages(content: bytes) -> int:
    return -(-len(content) // PAGE)


def _mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPossibleError(f"no mount here: {done.stderr.strip()}")


@contextmanager
def _mounted(trial: Trial, options: str) -> Iterator[None]:
    """The folder of a trial on a small disk of its own, with the same files."""
    before = {path: path.read_bytes() for path in trial.folder.rglob("*") if path.is_file()}
    _mount("-t", "tmpfs", "-o", options, "none", str(trial.folder))
    try:
        for path, content in before.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(trial.folder)], check=True)


@contextmanager
def _bound(folder: Path) -> Iterator[None]:
    """The folder, on a disk that is read-only."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
