"""A search that is shown while it runs, and that Ctrl-C or a request can stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from merino.core.board.game import Position
from merino.engine.search.limits import Limits, Line, SearchResult

if TYPE_CHECKING:
    from merino.engine.search.searcher import Searcher

_POLL_SECONDS = 0.05  # how soon Ctrl-C is noticed


class Display(Protocol):
    """Shows a running search."""

    def show(self, line: Line) -> None:
        """Show a newer line."""

    def finish(self) -> None:
        """Note the end of the search."""


def think(
    searcher: Searcher, position: Position, limits: Limits, display: Display, is_stop_requested: Callable[[], bool]
) -> tuple[SearchResult, bool]:
    """Search and show the lines, until Ctrl-C or `is_stop_requested`. The result, and whether it was stopped."""
    reports: SimpleQueue[Line | SearchResult] = SimpleQueue()
    with _interrupts() as interrupted:
        searcher.start(position, limits, reports.put, reports.put)
        while True:
            if interrupted.is_set() or is_stop_requested():
                interrupted.set()
                searcher.stop()
            try:
                report = reports.get(timeout=_POLL_SECONDS)
            except Empty:
                if not searcher.searching and reports.empty():
                    raise RuntimeError("the search ended without a result") from None
                continue
            if isinstance(report, SearchResult):
                display.finish()
                return report, interrupted.is_set()
            display.show(report)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, instead of raising KeyboardInterrupt, while the block runs.

    Python lets only the main thread handle signals; in another one Ctrl-C has no meaning and nothing changes.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.set()

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
