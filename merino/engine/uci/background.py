"""Work that must not keep the dialogue from `stop`: long jobs, such as perft, and files that may be slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from merino.core.common.threads import until_ended

IsStopped = Callable[[], bool]
Found = TypeVar("Found")


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


class FileWork(Generic[Found]):
    """A call that reads files, begun at once. What it returns or raises is kept until it is asked for.

    `prepare` makes something else of what it returns, and may compile for a long time.
    """

    def __init__(self, call: Callable[[], Any], prepare: Callable[[Any], Found] | None = None) -> None:
        self._call, self._prepare = call, prepare
        self._is_read = False
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._found: list[Found] = []
        self._fault: Exception | None = None
        threading.Thread(target=self._run, name="files", daemon=True).start()

    def is_done(self, seconds: float) -> bool:
        """Whether it has ended, now or before this time since its beginning is over."""
        return self._ended.wait(max(0.0, self._began + seconds - time.monotonic()))

    @property
    def is_read(self) -> bool:
        """Whether all files are read; what they hold may still be prepared."""
        return self._is_read

    def is_settled(self, reading: float, seconds: float) -> bool:
        """Whether it has ended or has been reading for longer than `reading`, now or after waiting for `seconds`."""
        return self._ended.wait(seconds) or not self._is_read and time.monotonic() > self._began + reading

    def result(self) -> Found:
        """What the call has returned, once it is done; raises what it has raised."""
        if self._fault is not None:
            raise self._fault
        return self._found[0]

    def _run(self) -> None:
        try:
            found = self._call()
            self._is_read = True
            self._found.append(found if self._prepare is None else self._prepare(found))
        except Exception as error:  # noqa: BLE001  (raised again by `result`)
            self._fault = error
        finally:
            self._ended.set()
