"""An ordered map of work over an executor: threads of this process, other processes, or machines with its face.

A unit of work is a function of plain data. Results come in the order of the items, whoever was faster, so that what is
made of them does not depend on how many hands there were.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_READERS = 8  # threads for the pieces of a file, which one thread cuts and gathers


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(count: int | None = None) -> ThreadPoolExecutor:
    """An executor with this many threads, as many as there are cores for None."""
    return ThreadPoolExecutor(count or cores(), thread_name_prefix="work")


def ordered(
    executor: Executor, work: Callable[[Item], Result], items: Iterator[Item], ahead: int
) -> Generator[Result, None, None]:
    """What `work` makes of each item, in the order of the items.

    At most `ahead` items are under way or wait for an earlier one. `items` is asked for the next whenever there is room
    for one; an iterator that has none for now may have more once a result is taken. When the generator is closed, or
    `work` raises, nothing more is handed out and what is still under way is dropped. Raises what `work` raises.
    """
    under_way: deque[Future[Result]] = deque()
    try:
        while True:
            _fill(executor, work, items, ahead, under_way)
            if not under_way:
                return
            result = under_way[0].result()
            under_way.popleft()
            yield result
    finally:
        for future in under_way:
            future.cancel()


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The same by threads of its own, as many as pieces of a file are worth; only a few items are under way."""
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
    """Hand out items until `ahead` are under way or there is none for now."""
    while len(under_way) < ahead:
        try:
            item = next(items)
        except StopIteration:
            return
        under_way.append(executor.submit(work, item))
