"""Progress of work that takes a while: one line, rewritten on a terminal, with the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

PATIENCE = 1.0  # seconds of silence: what takes no longer needs no progress
BETWEEN = 0.2  # seconds from one showing to the next on a terminal
PATIENCE_OF_FILES, BETWEEN_IN_FILES = 15.0, 15.0  # the same where lines cannot be rewritten


class Progress:
    """Shows how far `what` has come, on `stream` (standard error if None); a context, at whose end the line is wiped.

    Nothing is shown in the first second. Where the stream is no terminal a line is added every 15 seconds.
    """

    def __init__(self, what: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._clock = what, clock
        self._stream = sys.stderr if stream is None else stream
        self._rewrites = self._stream.isatty()
        self._began = clock()
        self._done_before: float | None = None  # at the first call: what is compiled first would spoil the estimate
        self._next = self._began + (PATIENCE if self._rewrites else PATIENCE_OF_FILES)
        self._width = 0

    def __call__(self, done: float) -> None:
        """Show that this share of the work, 0 to 1, is done, if it is time to show something."""
        now = self._clock()
        if self._done_before is None:
            self._done_before, self._began = done, now
        if now < self._next:
            return
        self._next = now + (BETWEEN if self._rewrites else BETWEEN_IN_FILES)
        line = f"{self._what}: {min(done, 1):.0%}{time_left(done - self._done_before, done, now - self._began)}"
        if self._rewrites:
            self._stream.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


def time_left(gained: float, done: float, seconds: float) -> str:
    """The time left when the last share `gained` of all that is `done` took so long: ", 5 s left", "" if unknown."""
    if gained <= 0:
        return ""
    left = round(seconds * max(0.0, 1 - done) / gained)
    return f", {left} s left" if left < 100 else f", {left // 60} min {left % 60:02} s left"
