"""The terminal: standard streams that are closed or cannot be written to, and lines that show how far work is.

Imports nothing heavy.
"""

import errno
import io
import os
import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

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
    """Print a sentence on standard error; if that fails too, only the exit code shows what is wrong."""
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
IN_FILES = 15.0  # seconds for both where lines cannot be rewritten


class LiveLine:
    """One line on `stream` (standard error if None). If that is not a terminal, each text is a line of its own.

    As a context it clears the line at its end.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.rewrites = self._stream.isatty() and (sys.platform == "win32" or os.environ.get("TERM", "") != "dumb")
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wipe()


class LivePrinter(LiveLine):
    """Shows the state of a match: rewritten on a terminal, elsewhere now and then."""

    _count = 0

    def __call__(self, line: str) -> None:
        """Show it."""
        if self.rewrites:
            self.show(shortened(line, self.columns))
        elif self._count % LINE_EVERY == 0:
            self.show(line)
        self._count += 1


def shortened(line: str, columns: int) -> str:
    """A match's line with as many of its parts as fit into the columns; the time left is dropped last."""
    parts = line.split("  ")
    for start in LEFT_OUT:
        if len("  ".join(parts)) > columns:
            parts = [part for part in parts if not part.startswith(start)]
    return "  ".join(parts)


class Progress(LiveLine):
    """Shows the progress of one piece of work after another.

    Nothing is shown in the first second of each. If the stream is not a terminal, a line is added every 15 seconds.
    Call `wipe` before writing other text.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        patience_of_files: float = IN_FILES,
    ) -> None:
        super().__init__(stream)
        self._clock = clock
        self._patience, self._between = (PATIENCE, BETWEEN) if self.rewrites else (patience_of_files, IN_FILES)
        self._what: str | None = None
        self._first = self._done = self._began = self._next = 0.0

    def __call__(self, what: str, done: float | None) -> None:
        """Report that this share of `what`, 0 to 1 or None if unknown, is done; shown if it is time to.

        If it is less than before, the work has started again.
        """
        now = self._clock()
        if what != self._what or (done or 0.0) < self._done:
            self.wipe()
            self._what, self._first, self._began, self._next = what, done or 0.0, now, now + self._patience
        self._done = done or 0.0
        if now < self._next:
            return
        self._next = now + self._between
        if done is None:
            self.show(f"{what} ...")
        else:
            self.show(f"{what}: {min(done, 1):.0%}{time_left(done - self._first, done, now - self._began)}")


def time_left(gained: float, done: float, seconds: float) -> str:
    """The time left when the last share `gained` of the share `done` took this long: ", 5 s left", "" if unknown."""
    if gained <= 0:
        return ""
    left = round(seconds * max(0.0, 1 - done) / gained)
    return f", {left} s left" if left < 100 else f", {left // 60} min {left % 60:02} s left"
