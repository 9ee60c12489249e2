"""One thread that does what it is given, in turn: cheaper than a new thread for each search."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue

from merino.inner.core.common.waiting import until_set


class OneThread:
    """Runs calls one after the other in a daemon thread of its own, which ends with this object.

    A call that raises ends its thread, as in `threading.Thread`; the next call gets a new one.
    """

    def __init__(self, name: str) -> None:
        self._queue = _Queue(name)
        weakref.finalize(self, self._queue.calls.put, None)

    def run(self, call: Callable[[], object]) -> None:
        """Do this after all that was given before; returns at once."""
        queue = self._queue
        with queue.lock:
            queue.open += 1
            queue.idle.clear()
            if queue.thread is None:
                queue.start()
        queue.calls.put(call)

    @property
    def is_busy(self) -> bool:
        """Whether there is something to do still."""
        return not self._queue.idle.is_set()

    def wait(self) -> None:
        """Wait until all is done; returns at once in the thread itself."""
        if threading.current_thread() is not self._queue.thread:
            until_set(self._queue.idle)


class _Queue:
    """What the thread knows: not its owner, which may be collected while it waits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = SimpleQueue[Callable[[], object] | None]()
        self.open = 0  # calls not yet done
        self.idle, self.lock = threading.Event(), threading.Lock()
        self.idle.set()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self.thread = threading.Thread(target=self.work, name=self.name, daemon=True)
        self.thread.start()

    def work(self) -> None:
        """Do what comes, until None comes."""
        while (call := self.calls.get()) is not None:
            is_done = False
            try:
                call()
                is_done = True
            finally:
                del call  # what it holds, a searcher perhaps, may go now
                with self.lock:
                    self.open -= 1
                    if not is_done:
                        self.thread = None
                    if not self.open:
                        self.idle.set()
                    elif not is_done:
                        self.start()
