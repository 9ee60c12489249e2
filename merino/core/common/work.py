"""An ordered map of work over an executor: threads of this process, other processes, or other machines.

A unit of work is a function of plain data. Results come in the order of the items, so that what follows from them does
not depend on the number of workers.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from merino.core.common.errors import MerinoError
from merino.core.common.runs import RunName

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_READERS = 8  # threads for the pieces of a file, which one thread cuts and collects


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
    def keep(self, work: Callable[..., Any], *args: Any) -> Any:
        """Like `submit`, but the result stays where it was made; what comes back stands for it as an argument.

        It is made anew where it was lost.
        """

    @abstractmethod
    def stop(self, run: RunName) -> None:
        """End what is under way of this run in all processes, soon; what comes late finds the run ended."""


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(count: int | None = None) -> ThreadPoolExecutor:
    """An executor with this many threads, as many as there are cores for None."""
    return ThreadPoolExecutor(count or cores(), thread_name_prefix="work")


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
    count = min(MAX_READERS, cores())
    with threads(count) as pool:
        try:
            yield from ordered(pool, work, iter(items), ahead=count + 1)
        except BaseException:
            if stop is not None:
                stop()
            raise


# The address of a cluster, read from the text of `--cluster`. Imports nothing heavy.

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
