"""Options that name files: whatever the name means, the engine says so and goes on as before. Over a pipe."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from merino.engine.uci import options
from merino.eval.linear.weights import SHIPPED
from tests.pipes import named_pipes, put_no_files
from tests.uci_process import ROOT, UciProcess, bestmove

pytestmark = named_pipes

OF_FILES = [option.name for option in options.OPTIONS.values() if option.opens is not None]
# Opening a file "....slow" takes until there is a file "....slow.go", as on a disk of a network that is down.
SLOW_DISK = """
import os, sys, time

def wait(event, arguments):
    if event in ("open", "os.listdir") and str(arguments[0]).endswith(".slow"):
        while not os.path.exists(f"{arguments[0]}.go"):
            time.sleep(0.01)

sys.addaudithook(wait)
if "-m" in sys.orig_argv:
    from merino.engine.uci import session
    session.FILE_SECONDS = 0.5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with things that are no files, and names that mean none."""
    path = tmp_path_factory.mktemp("files")
    put_no_files(path)
    (path / "text").write_text("neither this nor that\n")
    (path / "locked").mkdir()
    (path / "huge").touch()
    os.truncate(path / "huge", 1 << 40)
    return path


@pytest.fixture
def slow_engine(tmp_path: Path) -> Iterator[UciProcess]:
    """An engine for which opening `x.slow` in its folder takes until `x.slow.go` is there."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK)
    with UciProcess(environment={"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}, folder=tmp_path) as engine:
        engine.ask("uci", "isready", until="readyok")
        yield engine


def arrive(path: Path) -> None:
    path.with_name(f"{path.name}.go").touch()


def impossible(folder: Path) -> dict[str, str]:
    """Values that name nothing that could be read, with what is said; "" where it depends on the option."""
    return {
        "~ ~": "there is no home folder",
        "~nosuchuser/x": "there is no home folder",
        str(folder / "pipe"): "it is a pipe",
        str(folder / "socket"): "it is a socket",
        "/dev/zero": "it is a device",
        "/dev/stdin": "it is a pipe",
        str(folder / "circle"): "Too many levels",
        "x" * 10_000: "File name too long",
        "a\0b": "no file can have such a name",
        str(folder / "none" / "x"): "No such file",
        str(folder / "text" / "x"): "Not a directory",
        str(folder / "huge"): "",
        str(folder): "",
    }


def test_the_options_of_files_are_those_whose_values_are_names_of_files():
    assert set(OF_FILES) == {"BookFile", "SyzygyPath", "WeightsFile", "EvalFile", "Debug Log File"}


@pytest.mark.parametrize("option", OF_FILES)
def test_a_name_that_is_no_file_is_one_error_and_nothing_changes(engine, folder, option):
    bestmove(engine, "go depth 1")  # says which weights are in use, if they have changed
    before = engine.ask("eval", "isready", until="readyok")
    for value, reason in impossible(folder).items():
        if option == "Debug Log File" and value.endswith("huge"):
            continue  # it can be written to
        engine.send(f"setoption name {option} value {value}")
        (said,) = engine.sync()
        assert said.startswith(f"info string error: {option}: "), (value[:60], said)
        if len(value) < 400:
            assert said.endswith("; it stays unchanged"), said
            assert (reason in said) or option == "EvalFile" and "there is no net" in said, said
    assert engine.ask("eval", "isready", until="readyok") == before
    assert bestmove(engine, "go depth 1") != "(none)"


@pytest.mark.parametrize("option", ["WeightsFile", "EvalFile", "BookFile"])
def test_a_file_too_large_for_its_kind_is_refused_unread(engine, folder, option):
    began = time.perf_counter()
    engine.send(f"setoption name {option} value {folder / 'huge'}")
    (said,) = engine.sync()
    assert "it has more than" in said and time.perf_counter() - began < 5


def test_the_dialogue_goes_on_while_files_are_slow(slow_engine, tmp_path):
    paths = {option: tmp_path / f"{number}.slow" for number, option in enumerate(OF_FILES)}
    for option, path in paths.items():
        path.mkdir() if option == "SyzygyPath" else path.write_bytes(b"no such thing")
    began = slow_engine.send(*(f"setoption name {option} value {path}" for option, path in paths.items()))
    said = slow_engine.ask("isready", until="readyok")
    assert set(said[:-1]) == {
        f"info string {option}: '{path}' is still being read; until then it stays unchanged"
        for option, path in paths.items()
    }
    slow_engine.send("go infinite", "isready")
    assert slow_engine.read_until("readyok")[-1].at - began < 5
    assert slow_engine.ask("stop", until="bestmove")[-1] != "bestmove (none)"
    for path in paths.values():
        arrive(path)
    time.sleep(0.3)
    faults = slow_engine.sync()
    assert [line.split(": ")[1] for line in faults] == [option for option in OF_FILES if option != "Debug Log File"]
    assert all(line.startswith("info string error: ") for line in faults)
    slow_engine.send("quit")
    assert slow_engine.exit_code() == 0
    assert b">> quit" in paths["Debug Log File"].read_bytes()


@pytest.mark.parametrize("end", ["quit", ""])
def test_a_slow_file_delays_no_end(slow_engine, tmp_path, end):
    (tmp_path / "weights.slow").touch()
    began = slow_engine.send(f"setoption name WeightsFile value {tmp_path / 'weights.slow'}", end)
    slow_engine.end_input()
    assert slow_engine.exit_code() == 0 and time.perf_counter() - began < 3


def test_weights_that_come_late_are_used_from_then_on(slow_engine, tmp_path):
    path = tmp_path / "weights.slow"
    path.write_bytes((SHIPPED / "greko2015-after-training.txt").read_bytes())
    before = slow_engine.ask("eval", "isready", until="readyok")
    slow_engine.send(f"setoption name WeightsFile value {path}", "isready")
    slow_engine.read_until("readyok")
    assert slow_engine.ask("eval", "isready", until="readyok") == before
    arrive(path)
    time.sleep(0.3)
    assert slow_engine.sync() == [f"info string weights: {path}"]
    assert slow_engine.ask("eval", "isready", until="readyok") != before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a name is text")
def test_a_file_whose_name_is_no_text_is_found(engine, tmp_path):
    folder = os.fsencode(tmp_path)
    Path(os.fsdecode(folder + b"/W\xfcste.txt")).write_bytes((SHIPPED / "default.txt").read_bytes())
    engine.send_bytes(b"setoption name WeightsFile value " + folder + b"/W\xfcste.txt\n")
    assert engine.sync() == [rf"info string weights: {tmp_path}/W\udcfcste.txt"]
    engine.send("setoption name WeightsFile value ")
    assert len(engine.sync()) == 1


def test_of_two_files_the_last_one_named_is_used(slow_engine, tmp_path):
    slow, quick = tmp_path / "a.slow", tmp_path / "b.txt"
    slow.write_bytes((SHIPPED / "default.txt").read_bytes())
    quick.write_bytes((SHIPPED / "default.txt").read_bytes())
    slow_engine.send(f"setoption name WeightsFile value {slow}", f"setoption name WeightsFile value {quick}")
    assert slow_engine.sync() == [f"info string weights: {quick}"]
    arrive(slow)
    time.sleep(0.3)
    assert slow_engine.sync() == []
