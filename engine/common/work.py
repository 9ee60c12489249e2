"""An ordered map of work over an executor: threads of this process, other processes, or other machines.

A unit of work is a function of plain data. Results come in the order of the items, so that what follows from them does
not depend on the number of workers.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from engine.common.errors import MerinoError
from engine.common.runs import RunName

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_READERS = 8  # threads for the pieces of a file, which one thread cuts and collects


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
    executor: Executor, work: Callable[[Item], Result], items: Iterator[Item], ahead: int | Callable[[], int]
) -> Generator[Result, None, None]:
    """The results of `work` for each item, in the order of the items.

    At most `ahead` items are running or waiting for an earlier one; it is a function where workers come and go. The
    next item is requested whenever there is room; an iterator that has none for now may have more once a result is
    taken. When the generator is closed, or `work` raises, no more items are handed out and running ones are dropped.
    Raises what `work` raises.
    """
    under_way: deque[Future[Result]] = deque()
    try:
        while True:
            _fill(executor, work, items, ahead() if callable(ahead) else ahead, under_way)
            if not under_way:
                return
            result = under_way[0].result()
            under_way.popleft()
            yield result
    finally:
        for future in under_way:
            future.cancel()


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The same with threads of its own, a few, as for the pieces of a file; only a few items run at a time."""
    count = min(MOST_READERS, cores())
    with threads(count) as pool:
        yield from ordered(pool, work, iter(items), ahead=count + 1)


def _fill(
    executor: Executor,
    work: Callable[[Item], Result],
    items: Iterator[Item],
    ahead: int,
    under_way: deque[Future[Result]],
) -> None:
    """Hand out items until `ahead` are running or there are none for now."""
    while len(under_way) < ahead:
        try:
            item = next(items)
        except StopIteration:
            return
        under_way.append(executor.submit(work, item))
