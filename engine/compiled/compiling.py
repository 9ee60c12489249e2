"""What a person who waits for the compiler is told: that it works, on what, and how far it is.

numba reports every function when it begins and when it has compiled it. Before the first of them, all that it calls
are found by the names in its code. Each counts for its own code, which numba has to understand, and the outermost also
for all that it reaches, which LLVM goes over at the end: so the share grows about evenly with time. On a terminal one
line is rewritten, and wiped at the end; elsewhere a line is added now and then. All goes to standard error. Imports
nothing heavy.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any, TextIO

from engine.common.home import HOME

PATIENCE, BETWEEN = 1.0, 0.2  # seconds of silence before the first line and between two, on a terminal
PATIENCE_OF_FILES, BETWEEN_IN_FILES = 2.0, 15.0  # the same where lines cannot be rewritten
BAR = 16  # columns
TO_UNDERSTAND = 3  # how much longer numba takes over some code than LLVM
FOR_AN_ESTIMATE = 0.05  # of the work must be done before the time left is told


class Watch:
    """Listens to numba and tells of it; `stream` is standard error as it is then, if None."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_silent = False  # whether nobody may be told, as in a dialogue between programs
        self.has_told = False
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
                self._begin(function)
        elif function in self._work and function not in self._compiled:
            self._compiled.add(function)
            self._done += self._work[function]
        is_over = event.is_end and function is self._outermost
        if not self.is_silent:
            self._tell(is_over)
        if is_over:
            self._outermost = None

    @property
    def share(self) -> float:
        """How much of what is being compiled is done, 0 to 1."""
        return self._done / max(1, sum(self._work.values()))

    def _begin(self, function: Any) -> None:
        self._outermost, self._done, self._began = function, 0, self._clock()
        self._next = self._began
        reached = reachable(function)
        self._work = {each: TO_UNDERSTAND * _size(each) for each in reached - self._compiled}
        self._work[function] = self._work.get(function, 0) + sum(map(_size, reached))

    def _tell(self, is_over: bool) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        try:
            if stream is not None and is_over:
                self._wipe(stream)
            elif stream is not None and self._outermost is not None and self._clock() >= self._next:
                self._show(stream)
        except (OSError, ValueError):
            self.is_silent = True  # nobody reads there any more, which is no reason not to compile

    def _show(self, stream: TextIO) -> None:
        now, rewrites = self._clock(), _can_rewrite(stream)
        if now < self._began + (PATIENCE if rewrites else PATIENCE_OF_FILES):
            return
        if not rewrites and now < self._last + BETWEEN_IN_FILES:
            return
        self._next = now + BETWEEN
        what, amount = self._outermost.py_func.__module__.removeprefix(HOME), f"{self.share:.0%}{self._left(now)}"
        if rewrites:
            bar = "#" * int(BAR * self.share)
            line = f"Compiling {what}, once [{bar:.<{BAR}}] {amount}"[: _columns(stream) - 1]
            stream.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self._last = now
            stream.write(f"Compiling {what}, which is done once: {amount}\n")
        stream.flush()
        self.has_told = True

    def _wipe(self, stream: TextIO) -> None:
        if self._width:
            stream.write("\r" + " " * self._width + "\r")
            stream.flush()
        self._width = 0

    def _left(self, now: float) -> str:
        if self.share < FOR_AN_ESTIMATE:
            return ""
        return f", {max(1, round((now - self._began) * (1 - self.share) / self.share))} s left"


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
    """The compiled functions that the code of one names: itself, in a tuple, or in a module."""
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
        return 80  # a terminal that does not tell
