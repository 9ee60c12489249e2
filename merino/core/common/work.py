"""Work on threads of this process, in other processes or on other machines: an ordered map, and runs.

A unit of work is a function of plain data. Results come in the order of the items, so that what follows from them does
not depend on the number of workers.

A run keeps the resources of its threads from one unit to the next, and can be stopped. In the process that began the
run, all threads share one stop flag, and the end of the run waits for them. In another process, units run to their own
end unless somebody calls `stop_here` there; its resources are closed when a unit of another run comes, or with the
process.
"""

import os
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing.util import Finalize
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import uuid4

import numpy as np

from merino.core.common.errors import MerinoError
from merino.core.common.threads import until

Item = TypeVar("Item")
Result = TypeVar("Result")
Kept = TypeVar("Kept")

MAX_READERS = 8  # threads for the pieces of a file, which one thread cuts and collects


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
    """A run in one process. A guest began in another process; it ends here with this process at the latest."""

    def __init__(self, is_guest: bool = False) -> None:
        self.stop_flag = np.zeros(1, dtype=np.uint64)  # for compiled code; above 0 when the run has ended
        self.busy = 0  # units of work under way
        self.at_exit = Finalize(None, self.end, exitpriority=10) if is_guest else None
        self._changed = threading.Condition()
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

    def count(self, units: int) -> None:
        """Note that so many more units, 1 or -1, are under way."""
        with self._changed:
            self.busy += units
            self._changed.notify_all()

    def end(self) -> None:
        """Stop the running units, wait for their end, and close the resources, even if Ctrl-C ends the waiting."""
        self.stop_flag[0] = 1
        with self._changed:
            watched = list(self._watched) if self.busy else []
        for thing in watched:
            thing.stop()
        try:
            with self._changed:
                until(lambda seconds: self._changed.wait_for(lambda: not self.busy, seconds))
        finally:
            with self._changed:
                self._is_over, watched = True, list(self._watched)
            for thing in watched:
                thing.close()
            self._kept.clear()


class _Process:
    """What this process knows of runs."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Know of none, as after a fork."""
        self.name = uuid4().hex
        self.numbers = count()
        self.lock = threading.Lock()
        self.runs: dict[RunName, Run] = {}  # begun here, or with units here
        self.stopped = deque[RunName](maxlen=64)  # the last ones that were stopped here from elsewhere


_here = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_here.begin)


@contextmanager
def begun() -> Generator[RunName, None, None]:
    """A new run, which ends with the block; its name."""
    name, run = RunName(_here.name, next(_here.numbers)), Run()
    with _here.lock:
        _here.runs[name] = run
    try:
        yield name
    finally:
        with _here.lock:
            del _here.runs[name]
        run.end()


@contextmanager
def at_work(name: RunName) -> Iterator[Run | None]:
    """The run of this name for one unit of work; None where it has ended, as far as this process knows.

    A run of another process is registered here, and idle guests end.
    """
    over: list[Run] = []
    with _here.lock:
        run = _here.runs.get(name)
        if run is None and name.process != _here.name and name not in _here.stopped:
            idle = [other for other, guest in _here.runs.items() if guest.at_exit and not guest.busy]
            over = [_here.runs.pop(other) for other in idle]
            run = _here.runs[name] = Run(is_guest=True)
        if run is not None:
            run.count(1)
    try:
        for guest in over:
            _end_guest(guest)
        yield run
    finally:
        if run is not None:
            run.count(-1)


def stop_here(name: RunName) -> None:
    """End what is under way here of a run of another process; no unit of it is done here any more."""
    with _here.lock:
        _here.stopped.append(name)
        run = _here.runs.pop(name, None)
    if run is not None:
        _end_guest(run)


def _end_guest(run: Run) -> None:
    if run.at_exit is not None:
        run.at_exit()


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
    raises, no further items are handed out and running ones are dropped. Raises what `work` raises.
    """
    futures = deque[Future[Result]]()
    try:
        while True:
            limit, unfinished = ahead() if callable(ahead) else ahead, list[Future[Result]]()
            while len(futures) < limit:
                if at_once is not None:
                    unfinished = [future for future in futures if not future.done()]
                    if len(unfinished) >= at_once():
                        break
                try:
                    item = next(items)
                except StopIteration:
                    break
                futures.append(executor.submit(work, item))
            if not futures:
                return
            are_all_handed_out = at_once is not None and unfinished and unfinished[0] is futures[0]
            awaited = unfinished if are_all_handed_out else [futures[0]]
            until(partial(_one_has_ended, awaited))
            if not are_all_handed_out:
                yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()


def _one_has_ended(futures: list[Future[Result]], seconds: float) -> bool:
    return bool(wait(futures, seconds, FIRST_COMPLETED).done)


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


@dataclass(frozen=True)
class Needs:
    """The needs of work on a worker: parts to compile there, and programs that play."""

    parts: tuple[str, ...] = ("match",)
    programs: tuple[str, ...] = ()
