"""Work that takes long and is no search: counting, the bench. While it runs the GUI is still heard."""

from __future__ import annotations

import threading
from collections.abc import Callable

IsStopped = Callable[[], bool]


class BackgroundJobs:
    """Runs one background job after the other, on threads of their own."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._last: threading.Thread | None = None

    def start(self, work: Callable[[IsStopped], object]) -> None:
        """Run `work` after the background jobs before it; it returns soon once the function it gets says so."""
        previous, stopped = self._last, self._stopped

        def run() -> None:
            if previous is not None:
                previous.join()
            if not stopped.is_set():
                work(stopped.is_set)

        self._last = threading.Thread(target=run, name="background job", daemon=True)
        self._last.start()

    def stop(self) -> None:
        """Let every background job so far return now."""
        self._stopped.set()
        self._stopped = threading.Event()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until every background job has returned, but only so long."""
        if self._last is not None:
            self._last.join(seconds)
