"""Runs of work: what threads keep for them, how they end, and what is left in other processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from merino.core.common import work as runs
from merino.core.common.work import RunName, at_work, begun, ordered, threads


class Tool:
    """What notes how it ends."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self.let_go = threading.Event()

    def stop(self) -> None:
        self.notes.append("stop")
        self.let_go.set()

    def close(self) -> None:
        self.notes.append("close")


@pytest.fixture
def notes() -> Iterator[list[str]]:
    found: list[str] = []
    yield found


def test_a_thread_keeps_one_thing_for_a_run() -> None:
    made: list[int] = []

    def work(task: tuple[RunName, int]) -> int:
        with at_work(task[0]) as run:
            assert run is not None
            return run.kept(lambda: made.append(task[1]) or threading.get_ident())

    with begun() as name, threads(2) as executor:
        found = list(ordered(executor, work, ((name, number) for number in range(20)), 4))
        assert len(made) == len(set(found)) <= 2
    with begun() as name:
        work((name, 20))
    assert made[-1] == 20  # another run, another thing


def test_the_end_of_a_run_stops_what_is_under_way_waits_for_it_and_closes_it(notes: list[str]) -> None:
    begins = threading.Event()

    def work(name: RunName) -> None:
        with at_work(name) as run:
            assert run is not None
            tool = Tool(notes)
            run.watch(tool)
            begins.set()
            assert tool.let_go.wait(10)
            notes.append(f"stopped: {run.is_stopped}")

    with threads(1) as executor:
        with begun() as name:
            executor.submit(work, name)
            assert begins.wait(10)
        assert notes == ["stop", "stopped: True", "close"]


def test_what_is_idle_at_the_end_is_closed_and_not_stopped(notes: list[str]) -> None:
    with begun() as name, at_work(name) as run:
        assert run is not None
        run.watch(Tool(notes))
        with run.watching(Tool(notes)):
            pass
        assert notes == ["close"]
    assert notes == ["close", "close"]


def test_what_comes_after_the_end_of_its_run_is_stopped_and_closed(notes: list[str]) -> None:
    run = runs.Run()
    run.end()
    with run.watching(Tool(notes)):
        assert notes == ["stop", "close"]


def test_a_second_ctrl_c_closes_what_the_first_one_stopped(notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    run = runs.Run()
    run.enter()
    run.watch(Tool(notes))
    monkeypatch.setattr(run._changed, "wait_for", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.end()
    assert notes == ["stop", "close"]


def test_a_unit_that_comes_after_the_end_of_its_run_finds_none() -> None:
    with begun() as name:
        pass
    with at_work(name) as run:
        assert run is None
    assert name not in runs._RUNS


def test_the_run_of_another_process_gives_way_to_the_next(notes: list[str]) -> None:
    for number in (1, 2):
        with at_work(RunName("elsewhere", number)) as run:
            assert run is not None and not run.is_stopped
            run.watch(Tool(notes))
            with at_work(RunName("elsewhere", number)) as again:
                assert again is run
    assert notes == ["close"]
    with at_work(RunName("elsewhere", 3)):
        assert notes == ["close", "close"]
    with at_work(RunName("elsewhere", 4)):
        assert len(runs._GUESTS) == 1


class Note:
    """A file that tells what was closed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def stop(self) -> None:
        self._path.write_text("stopped")

    def close(self) -> None:
        self._path.write_text("closed")


def keep_a_note(task: tuple[RunName, Path]) -> bool:
    with at_work(task[0]) as run:
        assert run is not None
        run.watch(Note(task[1]))
        return run.kept(lambda: task[1]) == task[1]


def test_what_a_process_of_a_pool_keeps_is_closed_when_it_ends(tmp_path: Path) -> None:
    with begun() as name, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        assert executor.submit(keep_a_note, (name, tmp_path / "note")).result()
        assert not (tmp_path / "note").exists()
    assert (tmp_path / "note").read_text() == "closed"
