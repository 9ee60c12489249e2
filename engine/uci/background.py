"""Long work that is not a search: perft, the bench. Commands of the GUI are still handled while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from merino.inner.core.common.waiting import until_ended

IsStopped = Callable[[], bool]


class BackgroundJobs:
    """Runs background jobs one after the other, each on a thread of its own."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._last: threading.Thread | None = None

    def start(self, work: Callable[[IsStopped], object]) -> None:
        """Run `work` after the background jobs before it; it must return once the function it gets is true."""
        previous, stopped = self._last, self._stopped

        def run() -> None:
            if previous is not None:
                previous.join()
            if not stopped.is_set():
                work(stopped.is_set)

        self._last = threading.Thread(target=run, name="background job", daemon=True)
        self._last.start()

    def stop(self) -> None:
        """Stop every background job so far."""
        self._stopped.set()
        self._stopped = threading.Event()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until every background job has returned, but not longer than this."""
        if self._last is not None:
            until_ended(self._last, seconds)
