"""The one door for files that a user names."""

import bz2
import copy
import errno
import os
import pickle
import socket
import threading
from pathlib import Path

import pytest

from merino.core.common.files import (
    GAMES,
    NET,
    STATE,
    WEIGHTS,
    UserFileError,
    first_there,
    is_folder,
    is_there,
    open_stream,
    open_to_append,
    open_to_extend,
    open_user_file,
    read_user_file,
    read_user_text,
    user_path,
)
from merino.eval.evaluation import EvaluationError
from merino.eval.families import load_evaluation
from tests.pipes import named_pipes

EVERY_WAY_IN = (
    lambda path: read_user_file(path, WEIGHTS),
    lambda path: read_user_file(path, lambda head: NET if b"\0" in head else WEIGHTS),
    lambda path: read_user_text(path, WEIGHTS),
    lambda path: open_user_file(path, GAMES),
    open_to_append,
    open_to_extend,
)
# Each with what the error says.
IMPOSSIBLE_NAMES = {
    "a\0b": "no file can have such a name",
    "\ud800": "no file can have such a name",
    "x" * 10_000: "File name too long",
    "/".join(["x" * 200] * 50): "File name too long",
}


def reason(path: Path, way_in=EVERY_WAY_IN[0]) -> str:
    with pytest.raises(OSError) as caught:
        way_in(path)
    assert caught.value.filename == str(path)
    return str(caught.value.strerror)


def non_files(folder: Path) -> dict[Path, str]:
    """Paths of what is no file, with what it is."""
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(folder)  # the name of a socket has to be short
        listening.bind("socket")
    return {
        folder: "a folder",
        folder / "pipe": "a pipe",
        folder / "socket": "a socket",
        Path("/dev/zero"): "a device",
        Path("/dev/null"): "a device",
    }


@named_pipes
@pytest.mark.parametrize("way_in", EVERY_WAY_IN)
def test_what_is_no_file_is_refused_by_what_it_is_and_never_waited_for(tmp_path, monkeypatch, way_in):
    monkeypatch.chdir(tmp_path)
    for path, name in non_files(tmp_path).items():
        assert reason(path, way_in) == f"it is {name}, not a regular file"


@pytest.mark.parametrize("way_in", EVERY_WAY_IN)
def test_a_name_that_no_file_can_have_is_an_error_of_the_system(tmp_path, way_in):
    for name, said in IMPOSSIBLE_NAMES.items():
        assert reason(Path(name), way_in) == said
        assert not is_there(Path(name)) and not is_folder(Path(name)) and first_there([Path(name)]) is None


def test_a_home_folder_that_is_not_there_is_an_error_that_names_it():
    with pytest.raises(OSError) as caught:
        user_path("~ ~/weights.txt")
    assert caught.value.strerror == "there is no home folder ~ ~"
    for name in ("~\0", "a\0b", "\ud800"):
        with pytest.raises(OSError) as caught:
            user_path(name)
        assert caught.value.strerror == "no file can have such a name"
    assert user_path("~") == Path.home() and user_path("\udcff") == Path("\udcff")


def test_a_file_larger_than_its_kind_may_be_is_refused_unread(tmp_path):
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, WEIGHTS.limit + 1)  # takes no room on the disk
    assert reason(path) == "it has more than 16 MiB, too much for a weights file"
    os.truncate(path, WEIGHTS.limit)
    assert len(read_user_file(path, WEIGHTS)) == WEIGHTS.limit


def test_the_kind_seen_in_the_head_sets_the_limit(tmp_path):
    path = tmp_path / "net"
    path.write_bytes(b"\0")
    os.truncate(path, WEIGHTS.limit + 1)
    by_head = EVERY_WAY_IN[1]
    by_head(path)
    with path.open("r+b") as file:
        file.write(b"#" * 2000)
    assert reason(path, by_head) == "it has more than 16 MiB, too much for a weights file"


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
    with open_user_file(named, GAMES) as file:
        assert file.read() == b"x" * 100_000
    os.close(out)


def test_what_is_read_is_what_is_there(tmp_path):
    path = tmp_path / "text"
    content = "\ufeffA 1\r\nB 2\rC \u00e9\n".encode() * 5000
    path.write_bytes(content)
    assert read_user_file(path, WEIGHTS) == content
    assert read_user_text(path, WEIGHTS).startswith("A 1\nB 2\nC \u00e9\n")
    with open_user_file(path, GAMES) as file:
        assert (file.read(3), file.seek(5), file.read()) == (content[:3], 5, content[5:])
        assert file.name == str(path)
    path.write_bytes(bz2.compress(content))
    with open_user_file(path, GAMES) as file, bz2.BZ2File(file) as text:
        assert text.read() == content
    assert reason(path, lambda path: read_user_text(path, STATE)) == "it is not UTF-8 text"
    assert read_user_text(path, STATE, errors="replace")


@named_pipes
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_called_that(tmp_path, encoding):
    path = tmp_path / "text.txt"
    path.write_text("# a comment\nVAL_P 100\n", encoding=encoding)
    assert reason(path, lambda path: read_user_text(path, WEIGHTS)) == "it is UTF-16 text: save it as UTF-8"
    with pytest.raises(EvaluationError, match="it is UTF-16 text: save it as UTF-8"):
        load_evaluation(path)


def test_a_stream_is_written_to_only_if_somebody_reads_it_or_it_is_a_device(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    others = non_files(tmp_path)
    assert reason(tmp_path / "pipe", open_stream) == "it is a pipe that nobody reads"
    for path in (tmp_path, tmp_path / "socket"):
        assert reason(path, open_stream) == f"it is {others[path]}, not a regular file"
    open_stream(Path("/dev/null")).close()
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open_stream(tmp_path / "pipe") as file:
        assert os.get_blocking(file.fileno())
        file.write(b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_fault_of_writing_names_the_file():
    with open_stream(Path("/dev/full")) as file, pytest.raises(OSError, match="No space left") as caught:
        file.write(b"content")
    assert caught.value.filename == "/dev/full"


def test_a_fault_of_a_file_comes_out_of_another_process(tmp_path):
    with pytest.raises(UserFileError) as caught:
        open_to_append(tmp_path)
    for again in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert type(again) is UserFileError and str(again) == str(caught.value)
        assert (again.errno, again.strerror, again.filename) == (errno.EINVAL, caught.value.strerror, str(tmp_path))


def test_a_log_is_appended_to_and_made_where_there_is_none(tmp_path):
    path = tmp_path / "log"
    for line in (b"one\n", b"two\n"):
        with open_to_append(path) as file:
            file.write(line)
            assert file.name == str(path)
    assert path.read_bytes() == b"one\ntwo\n"
    assert reason(tmp_path / "none" / "log", open_to_append) == os.strerror(2)
