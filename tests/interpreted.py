"""Tests with kernels as plain Python, `make test-python`: a mistake in a kernel ends with its line and its values.

Kernels are some hundred times slower then, so each test gets a few seconds of processor time and each module ten times
as many; what takes longer is skipped, as is what cannot be shown so: other processes, measured times and the compiler.
The tests of what has changed since the last commit get all the time that they need.
"""

import contextlib
import ctypes
import inspect
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Set
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

import numba
import pytest

from tests.fault_lists import ROOT, read_faults

INTERPRETED = bool(numba.config.DISABLE_JIT)
SECONDS = 1.0  # of processor time for a test
TESTS = 10  # such times for a module
WAITING = 10  # such times of the clock on the wall, for tests that wait for a thread
COMPILER = r"^(import|from) (numba|engine\.compiled\.program)|\bENTRIES\b|\bpy_func\b"  # in a module of tests
AGAIN = 0.2  # seconds after which a test that still waits, for its threads say, is broken off once more
CLOCKS = ("perf_counter", "process_time", "monotonic")


class NoProcessError(OSError):
    """What a test gets instead of another process."""


class Budget:
    """A plugin that keeps every test and every module within its time."""

    def __init__(self, seconds: float, unlimited: Set[str]) -> None:
        self._seconds, self._unlimited = seconds, unlimited
        self._spent: Counter[str] = Counter()  # by module
        self._broken: set[str] = set()  # modules in which threads were stopped
        self._refused = False  # whether the test has asked for a process

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Skip what measures time or whose module has had its time; fixtures count like tests."""
        source = inspect.getsource(item.function) if isinstance(item, pytest.Function) else ""
        if any(clock in source for clock in CLOCKS):
            pytest.skip("it measures time")
        if re.search(COMPILER, inspect.getsource(item.module), re.MULTILINE):  # type: ignore[attr-defined]
            pytest.skip("it is about the compiler")
        if item.location[0] in self._broken and _shares(item):
            pytest.skip("it shares a fixture with a test whose threads took too long and were stopped")
        if self._spent[item.location[0]] > TESTS * self._seconds:
            pytest.skip("its module has had its time")
        self._refused = False
        with self._limited(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Skip the rest of a test that is too slow."""
        with self._limited(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Wait no longer for the end of a test than for the test."""
        with self._limited(item):
            return (yield)

    def refuse(self, *_: object, **__: object) -> None:
        """Start no process: it would compile, or wait for one that does."""
        self._refused = True
        raise NoProcessError("no processes are started without compiling")

    @contextlib.contextmanager
    def _limited(self, item: pytest.Item) -> Iterator[None]:
        """Skip what takes too long or fails because there is no process; stop the threads that it has begun."""
        seconds = 0 if item.location[0] in self._unlimited else self._seconds  # which sets no alarm
        before = set(threading.enumerate())
        is_inside, slow = True, f"it takes more than {self._seconds:g} s without compiling"
        is_slow = False

        def give_up(*_: object) -> None:
            nonlocal is_slow
            if is_inside:
                is_slow = True
                if _stop(set(threading.enumerate()) - before):
                    self._broken.add(item.location[0])
                pytest.skip(slow)

        began = time.process_time()
        handlers = [(signal.SIGINT, signal.getsignal(signal.SIGINT))]  # a test that is broken off may leave its own
        handlers += [(number, signal.signal(number, give_up)) for number in (signal.SIGPROF, signal.SIGALRM)]
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
        signal.setitimer(signal.ITIMER_REAL, WAITING * seconds, AGAIN)
        try:
            yield
        except Exception as error:
            if is_slow:  # what it was doing has been cut short
                pytest.skip(slow)
            if self._refused or isinstance(error, NoProcessError):  # a fixture fails again without asking again
                pytest.skip("it starts another process")
            raise
        finally:
            is_inside = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in handlers:
                signal.signal(number, handler)
            self._spent[item.location[0]] += time.process_time() - began if seconds else 0.0
            if item.location[0] in self._broken and _shares(item):
                _stop(set(threading.enumerate()) - before)


def _shares(item: pytest.Item) -> bool:
    """Whether a test uses what other tests of its module use, too: a session for instance, which may wait for ever."""
    fixtures = [each[-1] for each in item._fixtureinfo.name2fixturedefs.values()]  # type: ignore[attr-defined]
    return any(each.scope != "function" and each.func.__module__.startswith("tests") for each in fixtures)


def _stop(threads: Set[threading.Thread]) -> bool:
    """Raise Skipped in those threads that are at work, so that nobody waits minutes for them; whether there are any."""
    frames = sys._current_frames()
    at_work = [each.ident for each in threads if each.ident in frames and not _waits(frames[each.ident])]
    for ident in at_work:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(pytest.skip.Exception))
    return bool(at_work)


def _waits(frame: FrameType) -> bool:
    """Whether a thread waits for a lock, for work, or for input."""
    return Path(frame.f_code.co_filename).name in ("threading.py", "thread.py", "queue.py", "selectors.py")


def tests_of_changes() -> set[str]:
    """The test files that changed since the last commit, or that planted faults name for a file that did."""
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    changed = {line[3:] for line in said.splitlines()}
    return changed | {test.partition("::")[0] for each in read_faults() if each.file in changed for test in each.tests}


def set_up(config: pytest.Config) -> None:
    """Prepare a run without compiling."""
    budget = Budget(config.getoption("seconds"), tests_of_changes())
    config.pluginmanager.register(budget, "budget")
    config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")
    for warning in ("PytestUnhandledThreadExceptionWarning", "PytestUnraisableExceptionWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::pytest.{warning}")  # of threads that were stopped
    if not config.getoption("numprocesses", default=None):  # else this process only starts those that run the tests
        import_module("matplotlib.figure")  # ahead: a package whose import is broken off stays broken
        subprocess.Popen.__init__ = budget.refuse  # type: ignore[method-assign]
        BaseProcess.start = budget.refuse  # type: ignore[method-assign]
