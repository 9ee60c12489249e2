"""The kinds of harm, each a function of a trial and the uninterrupted run; it raises FaultError where a command fails.

`NotPossibleError` says that a harm cannot be done here, or that it does not concern the case.
"""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.chaos.laboratory import CODE, Ended, FaultError, Reference, Running, Trial, code_in_use

PAGE = 4096  # bytes that a file on a tmpfs takes at least
LOADING = 0.3  # of the time of a run, in which Python loads and nothing can be lost
ROOM = "1g"
STOPPED_SECONDS = 0.5
MAX_WRITES = 60  # at which the disk of a command is full
MORE_PAGES = 1024  # for what is on the disk only meanwhile
MAX_NAMES = 300  # of files and folders that come


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
    """SIGKILL just before a file is opened for writing, written, renamed or removed; then the same command again.

    A command that changes no file is killed as it prints.
    """
    trial.start("kill", trial.random.choice(reference.changes)).end()
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
    """A disk that fills up just before a write; then room, and the same command again.

    The number of the trial says before which of the writes that take room. Beyond those, it is a disk that has room for
    a random number of pages, and what is written ends in the midst.
    """
    writes = reference.takes_room
    used = sum(_pages(content) for content in reference.before.values())
    wanted = sum(_pages(content) for content in reference.after.values())
    largest = max((_pages(content) for content in reference.after.values()), default=0)
    if trial.number < len(writes):
        write = writes[trial.number]
        with _mounted(trial, used + wanted + largest + MORE_PAGES, f",nr_inodes={len(reference.before) + MAX_NAMES}"):
            ended = trial.start("fill", write).end()
            _make_room(trial)
            _check_starved(trial, reference, ended, f"full before '{write}', {write.site}")
        return
    room = trial.random.randint(0, max(1, wanted - used + largest))
    with _mounted(trial, max(1, used + room)):
        ended = trial.run()
        _mount("-o", f"remount,size={ROOM}", str(trial.disk))
        _check_starved(trial, reference, ended, f"with room for {room} pages")


def _check_starved(trial: Trial, reference: Reference, ended: Ended, how: str) -> None:
    """Raise FaultError unless a command that ended with a full disk lost nothing, and with room ends as ever."""
    try:
        if ended.code != 0:
            ended.check_refusal()
        trial.check_kept(reference)
        trial.check_repeated(reference)
    except FaultError as error:
        raise FaultError(f"{how}: {error}") from error


def _make_room(trial: Trial) -> None:
    """Remove what fills the disk; raises TooLateError if nothing does."""
    filler = trial.disk / "filler"
    if not filler.exists():
        raise TooLateError
    for path in (filler, *trial.disk.glob("name-*")):
        path.unlink()


def read_only(trial: Trial, reference: Reference) -> None:
    """A folder on a disk mounted read-only; then writable, and the same command again."""
    before = trial.contents()
    with _bound(trial.folder):
        ended = trial.run()
        if trial.case.say:
            if "Cannot write" not in ended.check().out:
                raise FaultError("it does not say that it cannot write")
        elif trial.case.compiles:
            ended.check()  # compiled code finds another place, or is compiled at each start
        elif reference.changes_files or ended.code != 0:
            ended.check_refusal()
        if trial.contents() != before:
            raise FaultError("files have changed on a disk that is read-only")
    trial.check_repeated(reference)


def damaged_code(trial: Trial, reference: Reference) -> None:
    """Files of compiled code that are cut short, empty, or have other bytes; the command notices and compiles."""
    if trial.case.compiles:
        copy = trial.folder / CODE
    else:
        copy = trial.use_code([trial.code / path for path in reference.code] or code_in_use(), trial.place)
    choice = reference.code or sorted(path.relative_to(copy) for path in copy.rglob("*.code"))  # it reads none, or any
    path = copy / trial.random.choice(choice)
    content = bytearray(path.read_bytes())
    where = trial.random.randrange(len(content))
    damage = trial.random.choice(("cut", "empty", "other"))
    if damage == "other":
        content[where : where + 50] = bytes(255 - byte for byte in content[where : where + 50])
    path.write_bytes({"cut": content[:where], "empty": b"", "other": content}[damage])
    trial.check_ended(trial.run(), reference)


def two_at_once(trial: Trial, reference: Reference) -> None:
    """The same command twice at once: both end well, or one refuses; then once more, unless each of them adds."""
    first = trial.start()
    first.reaches(reference.seconds * trial.random.uniform(0, 0.6) / 2**trial.attempt)
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
    if trial.case.say:
        trial.check_added_twice(reference)
    else:
        trial.check_repeated(reference)


class Harm(NamedTuple):
    """A column of the table: its title, how it is done, and its number of trials for twenty kills.

    With `at_each_write` there are more: one for each of the writes that take room, at most MAX_WRITES.
    """

    title: str
    do: Callable[[Trial, Reference], None]
    for_twenty: int
    at_each_write: bool = False

    def trials(self, kills: int, reference: Reference) -> list[int]:
        """The numbers of its trials, at least one, where a command is killed so often."""
        first = len(reference.takes_room) if self.at_each_write else 0
        most = max(1, round(MAX_WRITES * kills / 20))
        writes = range(first) if first <= most else [place * first // most for place in range(most)]
        return [*writes, *range(first, first + max(1, round(self.for_twenty * kills / 20)))]


HARMS = {
    "kill": Harm("SIGKILL at a random moment", kill, 20),
    "write": Harm("SIGKILL at a write", kill_at_write, 6),
    "stop": Harm("SIGSTOP, SIGCONT", stop, 2),
    "full": Harm("full disk", full_disk, 2, at_each_write=True),
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
def _mounted(trial: Trial, pages: int, more: str = "") -> Iterator[None]:
    """The folder of a trial on a small disk, with the same files, next to what fills the disk."""
    _mount("-t", "tmpfs", "-o", f"size={pages * PAGE}{more}", "none", str(trial.disk))
    with ExitStack() as mounted:
        mounted.callback(_unmount, trial.disk)
        there = trial.disk / trial.folder.name
        shutil.copytree(trial.folder, there, symlinks=True)
        _mount("--bind", str(there), str(trial.folder))
        mounted.callback(_unmount, trial.folder)
        yield


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def _bound(folder: Path) -> Iterator[None]:
    """The folder, on a disk that is read-only."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        _unmount(folder)
