"""Alarms: functions called at a time, all from one thread that this process keeps for them.

A thread of its own for each alarm costs more than a search to depth 1; the clock of every move needs one.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from itertools import count


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


_alarms = _AlarmThread()


def call_after(seconds: float, call: Callable[[], object]) -> Alarm:
    """Call this after so many seconds, from another thread; it must return at once and raise nothing."""
    alarm = Alarm(call)
    _alarms.add(time.monotonic() + seconds, alarm)
    return alarm
