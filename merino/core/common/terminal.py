"""The terminal: standard streams that are closed or cannot be written to, and lines that show how far work is.

Imports nothing heavy.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

_NAMES = ("stdin", "stdout", "stderr")  # by descriptor
_LOST = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)
_STAND_INS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)


def open_closed_streams() -> None:
    """Give each standard stream that was closed before we started a stand-in, so that no file takes its place.

    Input is at its end, output fails as on a full disk, and errors are dropped.
    """
    for descriptor, (name, mode) in enumerate(zip(_NAMES, _STAND_INS, strict=True)):
        if getattr(sys, name) is None:
            stand_in = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(stand_in, "w" if descriptor else "r", closefd=False))


def escape_unwritable() -> None:
    """Let standard output write characters that its encoding lacks as escapes such as \\u2502, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_lost_output(error: OSError) -> bool:
    """Whether this error means that nobody reads the output, the disk is full or the stream is closed."""
    return error.filename is None and (error.errno in _LOST or has_no_reader(error))


def has_no_reader(error: OSError) -> bool:
    """Whether this error of writing to a stream means that its reader has gone."""
    if sys.platform == "win32" and error.errno == errno.EINVAL:
        return True  # what Windows says of such a pipe
    return isinstance(error, BrokenPipeError)


def lost_output() -> OSError | None:
    """Why standard output cannot be written, if so; unwritten output is then discarded."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        return error
    return None


def complain(text: str) -> None:
    """Print on standard error what is wrong; if that fails too, only the exit code shows it."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Discard unwritten output: the interpreter would try again at its end, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


DEFAULT_COLUMNS = 80  # of a terminal of unknown width
LINE_EVERY = 20  # of the lines that are shown where nobody can see them change
LEFT_OUT = ("[", "LOS", "LLR", "+")  # how those parts of a match's line begin that go first where it is too long
PATIENCE = 1.0  # seconds without output: shorter work needs no progress
BETWEEN = 0.2  # seconds between updates on a terminal
PATIENCE_OF_FILES, BETWEEN_IN_FILES = 15.0, 15.0  # the same where lines cannot be rewritten


class LiveLine:
    """One line on `stream` (standard error if None). If that is not a terminal, each text is a line of its own."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.rewrites = self._stream.isatty()
        self._width = 0

    @property
    def columns(self) -> int:
        """The greatest length of a text: a longer one would wrap into a second line, which cannot be cleared."""
        try:
            width = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):  # of a stream without a file, or a terminal of unknown width
            width = 0
        return (width or DEFAULT_COLUMNS) - 1

    def show(self, text: str) -> None:
        """Replace the last text by this one."""
        if self.rewrites:
            text = text[: self.columns]
            self._stream.write(f"\r{text:<{self._width}}")
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def wipe(self) -> None:
        """Clear the line for other text."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


class LivePrinter:
    """Shows the state of a match on standard error: rewritten on a terminal, elsewhere now and then.

    A context; its end clears the line.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._line = LiveLine(stream)
        self._count = 0

    def __call__(self, line: str) -> None:
        """Show it."""
        if self._line.rewrites:
            self._line.show(shortened(line, self._line.columns))
        elif self._count % LINE_EVERY == 0:
            self._line.show(line)
        self._count += 1

    def end(self) -> None:
        """Clear the line, before other text is shown."""
        self._line.wipe()

    def __enter__(self) -> LivePrinter:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def shortened(line: str, columns: int) -> str:
    """A match's line with as many of its parts as fit into the columns; the time left is dropped last."""
    parts = line.split("  ")
    for start in LEFT_OUT:
        if len("  ".join(parts)) > columns:
            parts = [part for part in parts if not part.startswith(start)]
    return "  ".join(parts)


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

    def __exit__(self, *_: object) -> None:
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
