"""Warming up: every part is compiled ahead, and the command says which."""

import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from merino.core.compiled.cache import CACHE_GROUPS
from merino.core.compiled.jit import ENTRIES, CompiledEntry
from merino.engine.search import warmup
from merino.engine.search.warmup import PLAY, parts


@pytest.mark.parametrize("part", [PLAY, *CACHE_GROUPS[1:]])
def test_warming_a_part_up_compiles_every_entry_of_its_room(part: str) -> None:
    parts()[part]()
    rooms = (CACHE_GROUPS[0] if part == PLAY else part).split()
    own = [each for each in ENTRIES if each.is_ours and each.py_func.__module__.split(".")[1] in rooms]
    assert len(own) > 1
    # One that is made for each set of terms is there once a set: tests before this one made it for sets of their own.
    assert {_name(each) for each in own} - {_name(each) for each in own if each.signatures} == set()


def test_studies_warm_up_the_set_full_for_which_the_first_start_need_not_wait() -> None:
    parts()["study"]()
    of_full = [each.signatures for each in ENTRIES if each.is_ours and each.name.endswith(".full")]
    assert all(of_full) and len(of_full) > 1


def _name(compiled: Any) -> str:
    return f"{compiled.py_func.__module__}.{compiled.py_func.__qualname__}"


def test_warmup_shows_each_part_with_its_seconds(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "parts", lambda: dict.fromkeys([PLAY, *CACHE_GROUPS[1:]], lambda: None))
    rows = [line.split() for line in shell("warmup").splitlines()]
    assert [row[0] for row in rows[:-1]] == [PLAY, *CACHE_GROUPS[1:]]
    assert all(float(row[1]) >= 0 and row[2] == "s" for row in rows[:-1])
    assert [line.split()[0] for line in shell("warmup", PLAY).splitlines()] == [PLAY, "ready;"]


def test_warmup_of_an_unknown_part_names_those_there_are(shell) -> None:
    errors = shell("warmup", "everything", status=2)
    assert "'everything'" in errors and ", ".join([PLAY, *CACHE_GROUPS[1:]]) in errors


def test_warmup_for_others_compiles_for_a_level_into_a_folder(shell, monkeypatch, tmp_path: Path) -> None:
    codes, seen = [0, -4], list[Any]()

    def run(words: list[str], env: dict[str, str], check: bool) -> subprocess.CompletedProcess[bytes]:
        seen.append((words[-2:], env["MERINO_HOME"], env["NUMBA_CPU_NAME"]))
        return subprocess.CompletedProcess(words, codes[len(seen) - 1])

    monkeypatch.setattr(subprocess, "run", run)
    words = ["warmup", PLAY, "--level", "x86-64-v2"]
    shell(*words, "--into", tmp_path)
    assert seen == [(["warmup", PLAY], str(tmp_path), "x86-64-v2")]
    assert "does not run code for x86-64-v2" in shell(*words, "--into", tmp_path, status=1)
    assert "needs --into" in shell(*words, status=2)


@pytest.fixture
def second_processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Those started for a search that has to be compiled, as it seems, on a machine of two cores."""
    found: list[subprocess.Popen[bytes]] = []

    class Watched(subprocess.Popen):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            found.append(self)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    monkeypatch.setattr(CompiledEntry, "must_compile", lambda *_: True)
    monkeypatch.setattr(warmup, "cores", lambda: 2)
    return found


@pytest.mark.parametrize(("cores", "codes"), [(1, []), (2, [0])])
def test_a_second_process_compiles_the_rest_on_a_second_core(cores, codes, second_processes, monkeypatch) -> None:
    monkeypatch.setattr(warmup, "cores", lambda: cores)
    warmup.warm_up()
    assert [process.returncode for process in second_processes] == codes


def test_the_second_process_runs_nothing_of_the_folder_that_one_is_in(
    second_processes: list[subprocess.Popen[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("chess", "random", "numpy"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(77)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)  # Merino need not be installed
    with warmup._on_another_core():
        pass
    assert [process.returncode for process in second_processes] == [0]


def test_the_second_process_ends_with_the_first(second_processes: list[subprocess.Popen[bytes]]) -> None:
    with pytest.raises(KeyboardInterrupt), warmup._on_another_core():
        raise KeyboardInterrupt
    (process,) = second_processes
    process.wait(60)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped on this system")
def test_a_second_process_that_is_stopped_is_not_waited_for_for_ever(
    second_processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(warmup, "MIN_PATIENCE", 0.2)
    with warmup._on_another_core():
        (process,) = second_processes
        process.send_signal(signal.SIGSTOP)
    assert process.returncode == -signal.SIGKILL
    assert "compiling the rest here" in caplog.text


def test_parts_are_compiled_in_parallel(
    second_processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    names, begun = [PLAY, "formats", "match", "study", "lab"], list[str]()
    monkeypatch.setattr(warmup, "parts", lambda: dict.fromkeys(names, lambda: None))
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    assert [name for name, _ in warmup.warm_up_parts(names)] == names
    assert [process.args[4:] for process in second_processes] == [["formats"], ["study", "lab"]]
    monkeypatch.setattr(warmup, "parts", lambda: {name: partial(begun.append, name) for name in names})
    monkeypatch.setattr(warmup, "_end_with_the_first_process", lambda: None)
    warmup._be_second(["formats", "lab"])
    assert begun == ["formats", "lab"]
