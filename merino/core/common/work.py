"""Work on threads of this process, in other processes or on other machines: an ordered map, and runs.

A unit of work is a function of plain data. Results come in the order of the items, so that what follows from them does
not depend on the number of workers.

A run keeps the resources of its threads from one unit to the next, and can be stopped. In the process that began the
run, all threads share one stop flag, and the end of the run waits for them. In another process, units run to their own
end unless somebody calls `stop_here` there; its resources are closed when a unit of another run comes, or with the
process.
"""

from __future__ import annotations

import os
import re
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.util import Finalize
from queue import Empty, SimpleQueue
from statistics import median
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import uuid4

import numpy as np

from merino.core.common.errors import MerinoError

Item = TypeVar("Item")
Result = TypeVar("Result")
Kept = TypeVar("Kept")

MAX_READERS = 8  # threads for the pieces of a file, which one thread cuts and collects

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


class WorkError(MerinoError):
    """Work that no worker is left to do; the message says why."""


class RemoteExecutor(Executor):
    """An executor whose workers are other processes, on this machine or elsewhere; they may come and go.

    A future raises WorkError where the work cannot be done any more. What is submitted as the same object again and
    again travels to each process once; so put what all items share into the work, not into the items.
    """

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many items can be worked at now, at least 1."""

    @abstractmethod
    def stop(self, run: RunName) -> None:
        """End what is under way of this run in all processes, soon; what comes late finds the run ended."""


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(number: int | None = None) -> ThreadPoolExecutor:
    """An executor with this many threads, as many as there are cores for None."""
    return ThreadPoolExecutor(number or cores(), thread_name_prefix="work")


def ordered(
    executor: Executor,
    work: Callable[[Item], Result],
    items: Iterator[Item],
    ahead: int | Callable[[], int],
    at_once: Callable[[], int] | None = None,
) -> Generator[Result, None, None]:
    """The results of `work` for each item, in the order of the items.

    At most `ahead` items are running or waiting for an earlier one, and at most `at_once` of them are handed out and
    not finished; these are functions where workers come and go. The next item is requested whenever there is room; an
    iterator that has none for now may have more once a result is taken. When the generator is closed, or `work`
    raises, no more items are handed out and running ones are dropped. Raises what `work` raises.
    """
    under_way = _UnderWay[Result]()
    try:
        while True:
            limit = ahead() if callable(ahead) else ahead
            while len(under_way) < limit and (at_once is None or under_way.unfinished < at_once()):
                try:
                    item = next(items)
                except StopIteration:
                    break
                under_way.add(executor.submit(work, item))
            if not len(under_way):
                return
            if at_once is None or under_way.has_next():
                yield under_way.take()
            else:
                under_way.wait()
    finally:
        under_way.drop()


class _UnderWay(Generic[Result]):
    """What is handed out, in order, and how much of it is not finished."""

    def __init__(self) -> None:
        self._futures: deque[Future[Result]] = deque()
        self._finished: SimpleQueue[None] = SimpleQueue()  # one for each that has finished and is not counted yet
        self._unfinished = 0

    def __len__(self) -> int:
        return len(self._futures)

    @property
    def unfinished(self) -> int:
        """How many have not finished."""
        with suppress(Empty):
            while True:
                self._finished.get_nowait()
                self._unfinished -= 1
        return self._unfinished

    def add(self, future: Future[Result]) -> None:
        """One more."""
        self._futures.append(future)
        self._unfinished += 1
        future.add_done_callback(lambda _: self._finished.put(None))

    def has_next(self) -> bool:
        """Whether the next result is there."""
        return self._futures[0].done()

    def take(self) -> Result:
        """The next result, waiting for it; raises what the work raised."""
        result = self._futures[0].result()
        self._futures.popleft()
        return result

    def wait(self) -> None:
        """Wait until one more has finished."""
        self._finished.get()
        self._unfinished -= 1

    def drop(self) -> None:
        """Cancel what is left."""
        for future in self._futures:
            future.cancel()


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], stop: Callable[[], object] | None = None
) -> Iterator[Result]:
    """The same with threads of its own, a few, as for the pieces of a file; only a few items run at a time.

    Where it ends early, running items are waited for: `stop` is called before, to end those that take long.
    """
    number = min(MAX_READERS, cores())
    with threads(number) as pool:
        try:
            yield from ordered(pool, work, iter(items), ahead=number + 1)
        except BaseException:
            if stop is not None:
                stop()
            raise


FORMS = "tcp://HOST:PORT of a Dask scheduler, or local:N for N processes of this machine"
_LOCAL = re.compile(r"local:(\d{1,4})", re.ASCII)
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|ws|wss)://)?(?:\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})", re.ASCII)


@dataclass(frozen=True)
class ClusterAddress:
    """A scheduler, as tcp://HOST:PORT, or a number of `processes` on this machine."""

    scheduler: str = ""
    processes: int = 0

    @classmethod
    def read(cls, text: str) -> ClusterAddress:
        """The address in one of FORMS; raises ValueError."""
        local = _LOCAL.fullmatch(text)
        if local and int(local[1]):
            return cls(processes=int(local[1]))
        found = _ADDRESS.fullmatch(text)
        if local or found is None or text.startswith("local:") or not 0 < int(found[1]) < 1 << 16:
            raise ValueError(f"'{text[:60]}' is not {FORMS}")
        return cls(text if "://" in text else f"tcp://{text}")

    def __str__(self) -> str:
        return self.scheduler or f"local:{self.processes}"


@dataclass(frozen=True)
class Needs:
    """The needs of work on a worker: parts to compile there, and programs that play."""

    parts: tuple[str, ...] = ("match",)
    programs: tuple[str, ...] = ()


# Measuring on a machine that others use too: CPU time instead of the wall clock, and medians of rounds in turns.

Measurement = Callable[[], float]


def cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU time this process spends on `work`."""
    start = time.process_time()
    work()
    return time.process_time() - start


def medians_in_turns(measurements: Sequence[Measurement], rounds: int) -> list[float]:
    """The median of each measurement when all are taken in turns, so that a busy minute hits them alike."""
    results = [[measure() for measure in measurements] for _ in range(rounds)]
    return [median(column) for column in zip(*results, strict=True)]
