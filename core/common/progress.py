"""Progress of long work: one line, rewritten on a terminal, with the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from merino.inner.core.common.live_line import LiveLine

PATIENCE = 1.0  # seconds without output: shorter work needs no progress
BETWEEN = 0.2  # seconds between updates on a terminal
PATIENCE_OF_FILES, BETWEEN_IN_FILES = 15.0, 15.0  # the same where lines cannot be rewritten


class Progress:
    """Shows the progress of `what` on `stream` (standard error if None); a context, whose end clears the line.

    Nothing is shown in the first second. If the stream is not a terminal, a line is added every 15 seconds. Call
    `wipe` before writing other text.
    """

    def __init__(self, what: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._clock = what, clock
        self._line = LiveLine(stream)
        self._began = clock()
        self._done_before: float | None = None  # at the first call: compiling before it would spoil the estimate
        self._next = self._began + (PATIENCE if self._line.rewrites else PATIENCE_OF_FILES)

    def __call__(self, done: float | None) -> None:
        """Report that this share of the work, 0 to 1 or None if unknown, is done; shown if it is time to."""
        now = self._clock()
        if self._done_before is None:
            self._done_before, self._began = done or 0.0, now
        if now < self._next:
            return
        self._next = now + (BETWEEN if self._line.rewrites else BETWEEN_IN_FILES)
        if done is None:
            self._line.show(f"{self._what} ...")
        else:
            left = time_left(done - self._done_before, done, now - self._began)
            self._line.show(f"{self._what}: {min(done, 1):.0%}{left}")

    def wipe(self) -> None:
        """Clear the line; the next call may show it again."""
        self._line.wipe()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wipe()


class ProgressOfMany:
    """Shows the progress of one piece of work after another, each as `Progress` does, on `stream`.

    Call `wipe` before writing other text.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._what, self._done = "", 0.0
        self._progress: Progress | None = None

    def __call__(self, what: str, done: float | None) -> None:
        """Report that this share of `what` is done; if it is less than before, the work has started again."""
        if self._progress is None or what != self._what or (done or 0.0) < self._done:
            self.wipe()
            self._what, self._progress = what, Progress(what, self._stream, self._clock)
        self._done = done or 0.0
        self._progress(done)

    def wipe(self) -> None:
        """Clear the line."""
        if self._progress is not None:
            self._progress.wipe()


def time_left(gained: float, done: float, seconds: float) -> str:
    """The time left when the last share `gained` of the share `done` took this long: ", 5 s left", "" if unknown."""
    if gained <= 0:
        return ""
    left = round(seconds * max(0.0, 1 - done) / gained)
    return f", {left} s left" if left < 100 else f", {left // 60} min {left % 60:02} s left"
