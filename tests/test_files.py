"""Files written whole: what a killed writer leaves goes with the next write, and nothing else does."""

import bz2
import errno
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO

import pytest

from merino.core.common import files
from merino.eval import evaluation, families
from tests.full_disk import no_room
from tests.pipes import named_pipes

ROOT = Path(__file__).resolve().parent.parent
KILLED = """
import os, signal, sys
from pathlib import Path
from merino.core.common.files import writing_whole
with writing_whole(Path(sys.argv[1])) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
HOLDER = """
import os, signal, sys
from merino.core.common.files import lock
file = open(sys.argv[1], "ab")
lock(file)
os.kill(os.getpid(), signal.SIGSTOP)
"""
posix = pytest.mark.skipif(sys.platform == "win32", reason="locks and signals as POSIX has them")


def killed_while_writing(path: Path) -> None:
    """Kill a process while it writes this file."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL


@posix
def test_what_killed_writers_left_goes_when_the_same_file_is_written(tmp_path):
    path, other = tmp_path / "m.state", tmp_path / "m.state2"
    killed_while_writing(path)
    killed_while_writing(other)
    assert len(list(tmp_path.iterdir())) == 2 and not path.exists()
    theirs = tmp_path / "m.state20260101.new"
    theirs.write_bytes(b"somebody's own")
    files.write_whole(path, b"new")
    assert path.read_bytes() == b"new" and theirs.exists()
    (left,) = set(tmp_path.iterdir()) - {path, theirs}
    assert left.name.startswith("m.state2.")
    files.write_whole(other, b"other")
    assert set(tmp_path.iterdir()) == {path, other, theirs}


@posix
def test_what_a_living_writer_is_writing_stays(tmp_path):
    path = tmp_path / "file"
    with files.writing_whole(path) as slow:
        slow.write(b"slow")
        files.write_whole(path, b"quick")
        assert path.read_bytes() == b"quick" and len(list(tmp_path.iterdir())) == 2
    assert path.read_bytes() == b"slow" and list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(umask, mode, tmp_path):
    path, private = tmp_path / "new", tmp_path / "private"
    private.touch(0o600)
    before = os.umask(umask)
    try:
        files.write_whole(path, b"new")
        with files.writing_whole(private) as file:
            (draft,) = set(tmp_path.iterdir()) - {path, private}
            assert draft.stat().st_mode & 0o777 == 0o600
            file.write(b"changed")
    finally:
        os.umask(before)
    assert (path.stat().st_mode & 0o777, private.stat().st_mode & 0o777) == (mode, 0o600)


@posix
def test_a_pipe_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.check_writable(pipe)
        with files.open_stream(pipe) as stream:
            assert os.get_blocking(stream.fileno())
        files.write_whole(pipe, b"content")
        assert os.read(reader, 100) == b"content" and pipe.is_fifo()
    finally:
        os.close(reader)


@named_pipes
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
def test_what_nobody_can_write_to_is_refused(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    path = Path(kind)
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(kind)
    else:
        (os.mkfifo if kind == "pipe" else os.mkdir)(path)
    ways = [lambda path: files.write_whole(path, b"content"), fill, files.check_writable]
    for write in ways[: 2 if kind == "pipe" else 3]:  # whether a pipe has a reader is not known before
        with pytest.raises(OSError, match=f"it is a {kind}") as caught:
            write(path)
        assert caught.value.filename == kind and [each.name for each in tmp_path.iterdir()] == [kind]


def fill(path: Path) -> None:
    """Write a file as `writing_whole` does."""
    with files.writing_whole(path) as file:
        file.write(b"content" * 3)


@named_pipes
def test_a_pipe_in_the_place_of_a_lock_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "file.lock")
    with pytest.raises(OSError, match="it is a pipe, not a regular file"), files.held(tmp_path / "file"):
        pass


@posix
def test_a_file_that_cannot_be_written_whole_is_named_and_not_its_draft(tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        for path, reason in ((tmp_path / "none" / "file", "No such file"), (tmp_path / "file", "File too large")):
            with pytest.raises(OSError, match=reason) as caught:
                fill(path)
            assert caught.value.filename == str(path) and not list(tmp_path.iterdir())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (Path, "replace")])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(owner, step, tmp_path, monkeypatch):
    path = tmp_path / "file"
    files.write_whole(path, b"old")

    monkeypatch.setattr(owner, step, no_room)
    with pytest.raises(OSError, match="No space left") as caught:
        files.write_whole(path, b"new")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("whole", [True, False])
def test_what_cannot_be_written_is_known_before_and_looking_leaves_no_trace(whole, tmp_path):
    there, new = tmp_path / "there", tmp_path / "new"
    there.write_bytes(b"old")
    for path in (there, new):
        files.check_writable(path, whole)
    assert list(tmp_path.iterdir()) == [there] and there.read_bytes() == b"old"
    for path in (tmp_path, tmp_path / "missing" / "file", there / "file"):
        with pytest.raises(OSError, match=r"\w") as caught:
            files.check_writable(path, whole)
        assert caught.value.filename == str(path)


@posix
def test_a_lock_that_a_stopped_process_holds_is_waited_for_no_longer_than_asked(tmp_path):
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], cwd=ROOT) as holder:
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
        with path.open("ab") as file:
            assert not files.lock(file, 0.3)
            holder.kill()
            assert files.lock(file, 30)


HOLDING = """
import os, signal, sys
from pathlib import Path
from merino.core.common.files import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_a_file_is_held_by_one_process_at_a_time_and_after_a_kill_by_the_next(tmp_path):
    path = tmp_path / "m.state"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(files.FileInUseError, match=r"another run of Merino works on .*m\.state'"), files.held(path):
            pass
        other.stdin.close()
        assert other.wait() == -signal.SIGKILL
    assert [file.name for file in tmp_path.iterdir()] == ["m.state.lock"]  # which holds nobody off
    with files.held(path):
        path.write_bytes(b"mine")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_the_user_that_is_named_like_a_lock_stays(tmp_path):
    theirs = tmp_path / "m.state.lock"
    theirs.write_bytes(b"somebody's own")
    with files.held(tmp_path / "m.state"):
        pass
    assert theirs.read_bytes() == b"somebody's own"


class FakeLocks:
    """Locks of bytes of files as Windows has them, by the file and the place of its descriptor."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self._held: dict[tuple[int, int, int], int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        key = (*_file_of(descriptor), os.lseek(descriptor, 0, os.SEEK_CUR))
        assert key[-1] > 1 << 30, "a lock on Windows keeps others from reading what it covers"
        holder = self._held.get(key)
        if holder is not None and holder != descriptor and _file_of(holder) == key[:2]:
            raise PermissionError(errno.EACCES, "Permission denied")
        self._held[key] = descriptor


def _file_of(descriptor: int) -> tuple[int, int] | None:
    """What file is open there, None if it has been closed."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def refused_while_open(change: Callable[..., Path]) -> Callable[..., Path]:
    """A change of a file that fails while it is open in this process, as on Windows."""

    def careful(path: Path, *rest: object, **more: object) -> Path:
        if path.exists():
            place = path.stat()
            for descriptor in (int(each.name) for each in Path("/proc/self/fd").iterdir()):
                if _file_of(descriptor) == (place.st_dev, place.st_ino):
                    raise PermissionError(errno.EACCES, "used by another process", str(path))
        return change(path, *rest, **more)

    return careful


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of files as Windows would load it: its locks, and files that cannot be removed while they are open."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("open files cannot be listed")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", FakeLocks())  # type: ignore[misc]
    for name in ("unlink", "replace"):
        monkeypatch.setattr(Path, name, refused_while_open(getattr(Path, name)))
    spec = importlib.util.spec_from_file_location("files_on_windows", files.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not hasattr(module, "fcntl")
    return module


def test_on_windows_a_file_is_held_by_one_run_at_a_time(on_windows: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "m.state"
    with on_windows.held(path):
        with pytest.raises(on_windows.FileInUseError), on_windows.held(path):
            pass
        path.write_bytes(b"mine")
    assert list(tmp_path.iterdir()) == [path]
    with on_windows.held(path):
        assert path.read_bytes() == b"mine"


def test_on_windows_a_lock_waits_and_keeps_nobody_from_reading(on_windows: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    with path.open("ab", buffering=0) as mine, path.open("ab") as theirs:
        mine.write(b"1. e4")
        on_windows.lock(mine)
        assert not on_windows.lock(theirs, 0) and not on_windows.lock(theirs, 0.2)
        mine.write(b" *")
        assert path.read_bytes() == b"1. e4 *"
        mine.close()
        assert on_windows.lock(theirs, 0.2)


def test_on_windows_only_leftovers_of_killed_writers_go(on_windows: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "weights.txt"
    killed = tmp_path / "weights.txt.merino-abc.new"
    killed.write_bytes(b"half")
    os.utime(killed, (0, 0))
    with on_windows.writing_whole(path) as slow:
        assert not killed.exists()
        slow.write(b"slow")
        on_windows.write_whole(path, b"quick")
        assert path.read_bytes() == b"quick"
    assert path.read_bytes() == b"slow" and list(tmp_path.iterdir()) == [path]


def test_on_windows_another_writer_leaves_a_file_that_is_closed_to_be_moved(
    on_windows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, move = tmp_path / "weights.txt", Path.replace

    def move_late(draft: Path, target: Path) -> Path:
        on_windows._remove_leftovers(target)
        return move(draft, target)

    monkeypatch.setattr(Path, "replace", move_late)
    on_windows.write_whole(path, b"whole")
    assert path.read_bytes() == b"whole"


@posix
def test_a_lock_that_its_holder_removes_is_made_again(tmp_path, monkeypatch):
    path, place, real = tmp_path / "file", tmp_path / "file.lock", files.lock

    def removed_before_it_is_locked(file: IO[bytes], seconds: float) -> bool:
        monkeypatch.setattr(files, "lock", real)
        place.unlink()
        return real(file, seconds)

    monkeypatch.setattr(files, "lock", removed_before_it_is_locked)
    with files.held(path):
        assert place.exists()
        with pytest.raises(files.FileInUseError), files.held(path):
            pass
    assert not place.exists()


@posix
def test_what_is_no_regular_file_is_not_held(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with files.held(pipe), files.held(pipe):
        assert list(tmp_path.iterdir()) == [pipe]


# The one door for files that a user names.

EVERY_WAY_IN = (
    lambda path: files.read_user_file(path, files.WEIGHTS),
    lambda path: files.read_user_file(path, lambda head: files.NET if b"\0" in head else files.WEIGHTS),
    lambda path: files.read_user_text(path, files.WEIGHTS),
    lambda path: files.open_user_file(path, files.GAMES),
    files.open_to_append,
    files.open_to_extend,
)


# Each with what the error says.
def reason(path: Path, way_in=EVERY_WAY_IN[0]) -> str:
    with pytest.raises(OSError) as caught:
        way_in(path)
    assert caught.value.filename == str(path)
    return str(caught.value.strerror)


def test_a_home_folder_that_is_not_there_is_an_error_that_names_it():
    with pytest.raises(OSError) as caught:
        files.user_path("~ ~/weights.txt")
    assert caught.value.strerror == "there is no home folder ~ ~"
    for name in ("~\0", "a\0b", "\ud800"):
        with pytest.raises(OSError) as caught:
            files.user_path(name)
        assert caught.value.strerror == "no file can have such a name"
    assert files.user_path("~") == Path.home() and files.user_path("\udcff") == Path("\udcff")


def test_a_file_larger_than_its_kind_may_be_is_refused_unread(tmp_path):
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, files.WEIGHTS.limit + 1)  # takes no room on the disk
    assert reason(path) == "it has more than 16 MiB, too much for a weights file"
    os.truncate(path, files.WEIGHTS.limit)
    assert len(files.read_user_file(path, files.WEIGHTS)) == files.WEIGHTS.limit
    os.truncate(path, files.WEIGHTS.limit + 1)
    EVERY_WAY_IN[1](path)  # whose kind follows from how it begins
    with path.open("r+b") as file:
        file.write(b"#" * 2000)
    assert reason(path, EVERY_WAY_IN[1]) == "it has more than 16 MiB, too much for a weights file"


def test_a_file_without_a_size_that_never_ends_is_stopped_at_the_limit():
    path = Path("/proc/self/pagemap")  # a regular file of size 0 for `stat`
    if not path.exists():
        pytest.skip("no such file here")
    assert reason(path).startswith("it has more than 16 MiB")


def test_a_file_that_vanishes_behind_the_look_is_an_error(tmp_path, monkeypatch):
    regular = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda self, **_: regular)
    assert reason(tmp_path / "gone") == os.strerror(2)


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="pipes have no names here")
def test_a_pipe_that_the_shell_opened_serves_only_what_is_read_as_a_stream():
    into, out = os.pipe()[::-1]
    named = Path(f"/dev/fd/{out}")
    threading.Thread(target=lambda: (os.write(into, b"x" * 100_000), os.close(into)), daemon=True).start()
    for way_in in EVERY_WAY_IN[:3]:
        assert reason(named, way_in) == "it is a pipe, not a regular file"
    assert reason(Path("/dev/stdin") if Path("/dev/stdin").is_fifo() else named) == "it is a pipe, not a regular file"
    with files.open_user_file(named, files.GAMES) as file:
        assert file.read() == b"x" * 100_000
    os.close(out)


def test_what_is_read_is_what_is_there(tmp_path):
    path = tmp_path / "text"
    content = "\ufeffA 1\r\nB 2\rC \u00e9\n".encode() * 5000
    path.write_bytes(content)
    assert files.read_user_file(path, files.WEIGHTS) == content
    assert files.read_user_text(path, files.WEIGHTS).startswith("A 1\nB 2\nC \u00e9\n")
    with files.open_user_file(path, files.GAMES) as file:
        assert (file.read(3), file.seek(5), file.read()) == (content[:3], 5, content[5:])
        assert file.name == str(path)
    path.write_bytes(bz2.compress(content))
    with files.open_user_file(path, files.GAMES) as file, bz2.BZ2File(file) as text:
        assert text.read() == content
    assert reason(path, lambda path: files.read_user_text(path, files.STATE)) == "it is not UTF-8 text"
    assert files.read_user_text(path, files.STATE, errors="replace")


@named_pipes
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_called_that(tmp_path, encoding):
    path = tmp_path / "text.txt"
    path.write_text("# a comment\nVAL_P 100\n", encoding=encoding)
    assert reason(path, lambda path: files.read_user_text(path, files.WEIGHTS)) == "it is UTF-16 text: save it as UTF-8"
    with pytest.raises(evaluation.EvaluationError, match="it is UTF-16 text: save it as UTF-8"):
        families.load_evaluation(path)
