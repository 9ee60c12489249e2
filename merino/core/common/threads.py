"""Threads that are kept for calls, now or at a time, and waits that leave Ctrl-C heard.

A new thread for each call costs more than a search to depth 1; every search needs one, and the clock of every move.
A fork copies no threads but that which forks: the new process begins without calls, and with threads of its own.

Python notes a signal and acts on it when it next runs code of the main thread. A signal in the moment before a wait
begins does not end that wait, so one without a limit could keep Ctrl-C unheard for good.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
import weakref
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue

_MAX_WAIT = 0.2  # seconds until a signal is heard at the latest


def until_set(event: threading.Event, seconds: float | None = None) -> None:
    """Wait until the event is set, but not longer than this."""
    if seconds is not None:
        event.wait(seconds)
        return
    while not event.wait(_MAX_WAIT):
        pass


def until_ended(thread: threading.Thread, seconds: float | None = None) -> None:
    """Wait until the thread has ended, but not longer than this."""
    if seconds is not None:
        thread.join(seconds)
        return
    while thread.is_alive():
        thread.join(_MAX_WAIT)


class OneThread:
    """Runs calls one after the other in a daemon thread of its own, which ends with this object.

    A call that raises ends its thread, as in `threading.Thread`; the next call gets a new one.
    """

    def __init__(self, name: str) -> None:
        self._queue = _Queue(name)
        weakref.finalize(self, self._queue.end)

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

    @property
    def is_current(self) -> bool:
        """Whether this is asked in the thread itself, by one of its calls."""
        return threading.current_thread() is self._queue.thread

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all is done, but not longer than this; returns at once in the thread itself."""
        if not self.is_current:
            until_set(self._queue.idle, seconds)


class _Queue:
    """What the thread knows: not its owner, which may be collected while it waits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.begin()
        _queues.add(self)

    def begin(self) -> None:
        """Have nothing to do, and no thread."""
        self.calls = SimpleQueue[Callable[[], object] | None]()
        self.open = 0  # calls not yet done
        self.idle, self.lock = threading.Event(), threading.Lock()
        self.idle.set()
        self.thread: threading.Thread | None = None

    def end(self) -> None:
        """Let the thread end after all that was given."""
        self.calls.put(None)

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


class Alarm:
    """A call to come; `cancel` takes it back."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call: Callable[[], object] | None = call

    def cancel(self) -> None:
        """Do not call, unless the call has begun. Harmless afterwards."""
        self._call = None

    def ring(self) -> None:
        """Call now, once."""
        call, self._call = self._call, None
        if call is not None:
            call()


class _AlarmThread:
    """The thread and the alarms it waits for."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Wait for no alarm, and have no thread."""
        self._alarms: list[tuple[float, int, Alarm]] = []  # a heap by time; cancelled ones stay until it
        self._numbers = count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, at: float, alarm: Alarm) -> None:
        """Ring at this time of `time.monotonic`."""
        with self._changed:
            heapq.heappush(self._alarms, (at, next(self._numbers), alarm))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="alarms", daemon=True)
                self._thread.start()
            elif self._alarms[0][2] is alarm:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            self._next().ring()

    def _next(self) -> Alarm:
        """The next alarm, when its time has come."""
        with self._changed:
            while True:
                if not self._alarms:
                    self._changed.wait()
                elif (left := self._alarms[0][0] - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    return heapq.heappop(self._alarms)[2]


_queues = weakref.WeakSet[_Queue]()
_alarms = _AlarmThread()


def _begin_anew() -> None:
    """Forget the threads of the parent process after a fork."""
    _alarms.begin()
    for queue in list(_queues):
        queue.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def call_after(seconds: float, call: Callable[[], object]) -> Alarm:
    """Call this after so many seconds, from another thread; it must return at once and raise nothing."""
    alarm = Alarm(call)
    _alarms.add(time.monotonic() + seconds, alarm)
    return alarm
