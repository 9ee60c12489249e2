"""Progress of the compiler, for the user who waits: what is compiled, what share is done, and the time left.

numba reports the beginning and the end of each function that it compiles. When the outermost one begins, all functions
that it calls are found by the names in its code. Each counts by the size of its code, which numba analyses; the
outermost also counts by the size of all, which LLVM optimises at the end. So the share grows evenly with time. On a
terminal one line is rewritten and erased at the end; elsewhere a line is added from time to time. All goes to standard
error. Imports nothing heavy.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any, TextIO

PATIENCE, BETWEEN = 1.0, 0.2  # seconds of silence before the first line and between two, on a terminal
PATIENCE_OF_FILES, BETWEEN_IN_FILES = 2.0, 15.0  # the same if lines cannot be rewritten
BAR = 16  # columns
NUMBA_SHARE = 3  # the time that numba takes for some code, in units of LLVM's
FOR_AN_ESTIMATE = 0.05  # share of the work before the time left is shown


@dataclass(frozen=True)
class CompilerProgress:
    """The share of the work that is done, 0 to 1, and the seconds left; None where it is too early to say."""

    share: float
    seconds_left: int | None


class Watch:
    """Receives events of numba and shows progress on `stream`; None for standard error."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_silent = False  # whether to show nothing, as in a dialogue between programs
        self.has_shown = False
        self.on_begin: Callable[[], object] = lambda: None  # called when the compiler begins
        self._stream, self._clock = stream, clock
        self._outermost: Any = None
        self._compiled: set[Any] = set()
        self._work: dict[Any, int] = {}  # the work on each function that the outermost needs
        self._done = 0
        self._began = self._next = 0.0
        self._last = float("-inf")  # when a line was last added to a file
        self._width = 0

    def notify(self, event: Any) -> None:
        """Take an event of numba's kind "numba:compile"; these come nested, from one thread at a time."""
        function = event.data["dispatcher"]
        if event.is_start:
            if self._outermost is None:
                self.on_begin()
                self._begin(function)
        elif function in self._work and function not in self._compiled:
            self._compiled.add(function)
            self._done += self._work[function]
        is_over = event.is_end and function is self._outermost
        if not self.is_silent:
            self._show_progress(is_over)
        if is_over:
            self._outermost = None

    @property
    def share(self) -> float:
        """The share of the present work that is done, 0 to 1."""
        return self._done / max(1, sum(self._work.values()))

    @property
    def progress(self) -> CompilerProgress | None:
        """How far the compiler is, from any thread; None while it compiles nothing."""
        return None if self._outermost is None else CompilerProgress(self.share, self._seconds_left(self._clock()))

    def _begin(self, function: Any) -> None:
        reached = reachable(function)
        work = {each: NUMBA_SHARE * _size(each) for each in reached - self._compiled}
        work[function] = work.get(function, 0) + sum(map(_size, reached))
        self._work, self._done, self._began = work, 0, self._clock()
        self._outermost, self._next = function, self._began

    def _show_progress(self, is_over: bool) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        try:
            if stream is not None and is_over:
                self._wipe(stream)
            elif stream is not None and self._outermost is not None and self._clock() >= self._next:
                self._show(stream)
        except (OSError, ValueError):
            self.is_silent = True  # nobody reads it any more; go on compiling

    def _show(self, stream: TextIO) -> None:
        now, rewrites = self._clock(), _can_rewrite(stream)
        if now < self._began + (PATIENCE if rewrites else PATIENCE_OF_FILES):
            return
        if not rewrites and now < self._last + BETWEEN_IN_FILES:
            return
        self._next = now + BETWEEN
        what, amount = (
            self._outermost.py_func.__module__.removeprefix("merino."),
            f"{self.share:.0%}{self._left(now)}",
        )
        if rewrites:
            bar = "#" * int(BAR * self.share)
            line = f"Compiling {what}, once [{bar:.<{BAR}}] {amount}"[: _columns(stream) - 1]
            stream.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self._last = now
            stream.write(f"Compiling {what}, which is done once: {amount}\n")
        stream.flush()
        self.has_shown = True

    def _wipe(self, stream: TextIO) -> None:
        if self._width:
            stream.write("\r" + " " * self._width + "\r")
            stream.flush()
        self._width = 0

    def _left(self, now: float) -> str:
        seconds = self._seconds_left(now)
        return "" if seconds is None else f", {seconds} s left"

    def _seconds_left(self, now: float) -> int | None:
        share = self.share
        return None if share < FOR_AN_ESTIMATE else max(1, round((now - self._began) * (1 - share) / share))


class NoCollections:
    """Receives the same events: no garbage is collected while numba compiles, which saves a twelfth of its time."""

    def __init__(self) -> None:
        self._depth = 0
        self._were_on = False

    def notify(self, event: Any) -> None:
        """Take an event."""
        if event.is_start:
            if not self._depth:
                self._were_on = gc.isenabled()
                gc.disable()
            self._depth += 1
        else:
            self._depth -= 1
            if not self._depth and self._were_on:
                gc.enable()


WATCH = Watch()


def _size(function: Any) -> int:
    """The code of a function, in bytes."""
    return len(function.py_func.__code__.co_code)


def reachable(function: Any) -> set[Any]:
    """A compiled function and all that it calls, directly or not."""
    found, waiting = {function}, [function]
    while waiting:
        new = set(_called(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def _called(function: Any) -> Iterator[Any]:
    """The compiled functions that the code of one names: directly, in a tuple, or in a module."""
    names = set(_names(function.py_func.__code__))
    for name in names:
        yield from _functions_in(function.py_func.__globals__.get(name), names)
    for cell in function.py_func.__closure__ or ():
        yield from _functions_in(cell.cell_contents, names)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _functions_in(value: object, names: set[str]) -> Iterator[Any]:
    if hasattr(value, "py_func"):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _functions_in(each, names)
    elif isinstance(value, ModuleType):
        for name in names:
            yield from (each for each in [getattr(value, name, None)] if hasattr(each, "py_func"))


def _can_rewrite(stream: TextIO) -> bool:
    return stream.isatty() and (sys.platform == "win32" or os.environ.get("TERM", "") not in ("", "dumb"))


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80  # the terminal does not report its width
