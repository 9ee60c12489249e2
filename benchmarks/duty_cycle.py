"""A process that gets only a share of its time, wherever signals can stop processes: no control groups are needed."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

PERIOD = 0.05  # seconds of one turn of running and standing still


class DutyCycle:
    """Stops and continues a process in turns, so that it runs for `share` of the time. Ends with the block."""

    def __init__(self, pid: int, share: float) -> None:
        """`share`: 0..1; 1 leaves the process alone."""
        self._pid, self._share = pid, share
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"duty cycle of {pid}", daemon=True)

    def __enter__(self) -> DutyCycle:
        if self._share < 1:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._share < 1:
            self._thread.join()

    def _run(self) -> None:
        with suppress(ProcessLookupError):  # it has ended, as processes may at any time
            while not self._ended.is_set():
                os.kill(self._pid, signal.SIGSTOP)
                self._ended.wait(PERIOD * (1 - self._share))
                os.kill(self._pid, signal.SIGCONT)
                self._ended.wait(PERIOD * self._share)
