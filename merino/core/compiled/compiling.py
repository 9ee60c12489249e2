"""Progress of the compiler, for the user who waits: what is compiled, what share is done, and the time left.

numba reports the beginning and the end of each function that it compiles. When the outermost one begins, all functions
that it calls are found by the names in its code. Each counts by the size of its code, which numba analyses; the
outermost also counts by the size of all, which LLVM optimises at the end. So the share grows evenly with time. What is
compiled together has one bar. All goes to standard error. Imports nothing heavy.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, ModuleType
from typing import Any, TextIO

from merino.core.common.terminal import Progress

PATIENCE_OF_FILES = 2.0  # seconds of silence before the first line where lines cannot be rewritten
NUMBA_SHARE = 3  # the time that numba takes for some code, in units of LLVM's
FOR_AN_ESTIMATE = 0.05  # share of the work before the time left is shown


class Watch:
    """Receives events of numba and shows progress on `stream`; None for standard error.

    No garbage is collected while numba compiles, which saves a twelfth of its time.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_silent = False  # whether to show nothing, as in a dialogue between programs
        self.on_begin: Callable[[], object] = lambda: None  # called when something must be compiled
        self._stream, self._clock = stream, clock
        self._line: Progress | None = None
        self._outermost: Any = None
        self._collects = False  # whether garbage was collected before
        self._compiled: set[Any] = set()
        self._work: dict[Any, dict[Any, int]] = {}  # by outermost function: on each that it adds
        self._to_come: list[Any] | None = None  # in `together`: functions that are not yet in `_work`
        self._share = self._began = 0.0

    @contextmanager
    def together(self, to_come: Iterable[Any]) -> Iterator[None]:
        """Show one bar for what is compiled in this block, with these functions to come; it may be nested."""
        if self._to_come is not None:
            self._to_come += to_come
            yield
            return
        self._to_come = [*to_come]
        try:
            yield
        finally:
            self._to_come, self._work = None, {}

    def notify(self, event: Any) -> None:
        """Take an event of numba's kind "numba:compile"; these come nested, from one thread at a time."""
        function = event.data["dispatcher"]
        function = getattr(function, "kernel", function)  # of which numba has made it
        if event.is_start:
            if self._outermost is None:
                self._begin(function)
        else:
            self._compiled.add(function)
        is_over = event.is_end and function is self._outermost
        if not self.is_silent:
            self._show(is_over)
        if is_over:
            self._outermost = None
            if self._collects:
                gc.enable()

    @property
    def share(self) -> float:
        """The share of the present work that is done, 0 to 1; what was found in a file counts as done."""
        done = total = 0
        for outermost, parts in self._work.items():
            is_there = bool(getattr(outermost, "signatures", ())) and outermost is not self._outermost
            done += sum(size for each, size in parts.items() if is_there or each in self._compiled)
            total += sum(parts.values())
        self._share = max(self._share, done / max(1, total))  # it never shrinks where more work is found
        return self._share

    @property
    def progress(self) -> dict[str, float | None] | None:
        """How far the compiler is, from any thread: the share of the work that is done, 0 to 1, and the seconds left.

        They are None where it is too early to say; all is None while nothing is compiled.
        """
        if self._outermost is None:
            return None
        share, seconds = self.share, self._clock() - self._began
        left = None if share < FOR_AN_ESTIMATE else max(1, round(seconds * (1 - share) / share))
        return {"share": share, "seconds_left": left}

    def _begin(self, function: Any) -> None:
        self._collects, self._outermost = gc.isenabled(), function
        gc.disable()
        if self._to_come is None or not self._work:
            self._work, self._line, self._share, self._began = {}, None, 0.0, self._clock()
        for each in (*(self._to_come or ()), function):
            if each not in self._work:
                self._add(each)
        if self._to_come:
            self._to_come.clear()

    def _add(self, function: Any) -> None:
        reached = reachable(function)
        known = self._compiled.union(*self._work.values())
        work = {each: NUMBA_SHARE * _size(each) for each in reached - known}
        work[function] = work.get(function, 0) + sum(map(_size, reached))
        self._work[function] = work

    def _show(self, is_over: bool) -> None:
        stream = sys.stderr if self._stream is None else self._stream
        try:
            if self._line is None and stream is not None:
                self._line = Progress(stream, self._clock, PATIENCE_OF_FILES)
            if self._line is not None and is_over:
                self._line.wipe()
            elif self._line is not None and self._outermost is not None:
                module = self._outermost.py_func.__module__.removeprefix("merino.")
                self._line(f"Compiling {module if self._to_come is None else 'Merino'}, once", self.share)
        except (OSError, ValueError):
            self.is_silent = True  # nobody reads it any more; go on compiling


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
