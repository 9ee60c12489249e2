"""A run of work: the resources that its threads keep from one unit to the next, and how it is stopped.

A unit of work is plain data with the name of its run. In the process that began the run, all threads share one stop
flag, and the end of the run waits for them. In another process, units run to their own end unless somebody calls
`stop_here` there; its resources are closed when a unit of another run comes, or with the process.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.util import Finalize
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import uuid4

import numpy as np

Kept = TypeVar("Kept")

_STARTED = uuid4().hex  # with the process id, names this process, also after a fork
_NUMBERS = count()
_LOCK = threading.Lock()
_RUNS: dict[RunName, Run] = {}  # begun in this process, or with units in it
_STOPPED: deque[RunName] = deque(maxlen=64)  # the last ones that were stopped here from elsewhere
_GUESTS: dict[RunName, Finalize] = {}  # those of other processes, with what ends them here, at the latest at exit


class RunName(NamedTuple):
    """The name of a run, the same in all its processes."""

    process: str  # in which it began
    number: int


class Stoppable(Protocol):
    """A resource that a run stops and closes."""

    def stop(self) -> None:
        """End the current work soon; called from another thread."""

    def close(self) -> None:
        """Release all resources; no work is in progress."""


class Run:
    """A run in one process."""

    def __init__(self) -> None:
        self.stop_flag = np.zeros(1, dtype=np.uint64)  # for compiled code; above 0 when the run has ended
        self._changed = threading.Condition()
        self._busy = 0
        self._kept: dict[Hashable, Any] = {}
        self._watched: list[Stoppable] = []
        self._is_over = False  # nobody waits for the units any more

    @property
    def is_stopped(self) -> bool:
        """Whether the run has ended."""
        return bool(self.stop_flag[0])

    def kept(self, make: Callable[[], Kept]) -> Kept:
        """The resource that this thread keeps for the run, made by `make` the first time; one per thread."""
        thread = threading.get_ident()
        if thread not in self._kept:
            self._kept[thread] = make()
        found: Kept = self._kept[thread]
        return found

    def watch(self, thing: Stoppable) -> None:
        """Stop and close this at the end of the run, at once where it has ended meanwhile."""
        with self._changed:
            self._watched.append(thing)
            is_over = self._is_over
        if self.is_stopped:
            thing.stop()
        if is_over:
            thing.close()

    @contextmanager
    def watching(self, thing: Stoppable) -> Iterator[None]:
        """Stop this if the run ends within the block, and close it after the block."""
        self.watch(thing)
        try:
            yield
        finally:
            with self._changed:
                self._watched.remove(thing)
            thing.close()

    def enter(self) -> None:
        """Note the start of a unit of work."""
        with self._changed:
            self._busy += 1

    def leave(self) -> None:
        """Note the end of a unit of work."""
        with self._changed:
            self._busy -= 1
            self._changed.notify_all()

    @property
    def is_idle(self) -> bool:
        """Whether no unit is running."""
        return not self._busy

    def end(self) -> None:
        """Stop the running units, wait for their end, and close the resources, even if Ctrl-C ends the waiting."""
        self.stop_flag[0] = 1
        with self._changed:
            watched = list(self._watched) if self._busy else []
        for thing in watched:
            thing.stop()
        try:
            with self._changed:
                self._changed.wait_for(lambda: self.is_idle)
        finally:
            with self._changed:
                self._is_over, watched = True, list(self._watched)
            for thing in watched:
                thing.close()
            self._kept.clear()


@contextmanager
def begun() -> Generator[RunName, None, None]:
    """A new run, which ends with the block; its name."""
    name, run = RunName(_this_process(), next(_NUMBERS)), Run()
    with _LOCK:
        _RUNS[name] = run
    try:
        yield name
    finally:
        with _LOCK:
            del _RUNS[name]
        run.end()


@contextmanager
def at_work(name: RunName) -> Iterator[Run | None]:
    """The run of this name for one unit of work; None where it has ended, as far as this process knows."""
    run = _entered(name)
    try:
        yield run
    finally:
        if run is not None:
            run.leave()


def stop_here(name: RunName) -> None:
    """End what is under way here of a run of another process; no unit of it is done here any more."""
    with _LOCK:
        _STOPPED.append(name)
        run, guest = _RUNS.pop(name, None), _GUESTS.pop(name, None)
    if guest is not None:
        guest.cancel()
    if run is not None:
        run.end()


def _this_process() -> str:
    return f"{_STARTED}-{os.getpid()}"


def _entered(name: RunName) -> Run | None:
    """The run, with one more unit running; a run of another process is registered here and replaces idle ones."""
    idle: list[Finalize] = []
    with _LOCK:
        run = _RUNS.get(name)
        if run is None and name.process != _this_process() and name not in _STOPPED:
            for other in [other for other in _GUESTS if _RUNS[other].is_idle]:
                del _RUNS[other]
                idle.append(_GUESTS.pop(other))
            run = _RUNS[name] = Run()
            _GUESTS[name] = Finalize(None, run.end, exitpriority=10)
        if run is not None:
            run.enter()
    for end in idle:
        end()
    return run


def _forget() -> None:
    """Forget the runs copied from the parent process by a fork."""
    global _LOCK  # noqa: PLW0603 (another thread may have held it)
    _LOCK = threading.Lock()
    _RUNS.clear()
    _GUESTS.clear()
    _STOPPED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
