"""Tests with kernels as plain Python, `make test-python`: a mistake in a kernel ends with its line and its values.

Kernels are some hundred times slower then, so each test gets a few seconds of processor time and each module ten times
as many; what takes longer is skipped, as is what cannot be shown so: other processes, measured times and the compiler.
"""

import contextlib
import inspect
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator

import numba
import pytest

INTERPRETED = bool(numba.config.DISABLE_JIT)
SECONDS = 1.0  # of processor time for a test
TESTS = 10  # such times for a module
WAITING = 10  # such times of the clock on the wall, for tests that wait for a thread
COMPILER = r"^(import|from) numba|\bENTRIES\b|\bpy_func\b"  # in a module of tests
CLOCKS = ("perf_counter", "process_time", "monotonic")


class Budget:
    """A plugin that keeps every test and every module within its time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent: Counter[str] = Counter()  # by module

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Skip what measures time or whose module has had its time; fixtures count like tests."""
        source = inspect.getsource(item.function) if isinstance(item, pytest.Function) else ""
        if any(clock in source for clock in CLOCKS):
            pytest.skip("it measures time")
        if re.search(COMPILER, inspect.getsource(item.module)):  # type: ignore[attr-defined]
            pytest.skip("it is about the compiler")
        if self._spent[item.location[0]] > TESTS * self._seconds:
            pytest.skip("its module has had its time")
        with self._limited(item):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Skip the rest of a test that is too slow."""
        with self._limited(item):
            return (yield)

    @contextlib.contextmanager
    def _limited(self, item: pytest.Item) -> Iterator[None]:
        def give_up(*_: object) -> None:
            pytest.skip(f"it takes more than {self._seconds:g} s without compiling")

        began = time.process_time()
        before = [(number, signal.signal(number, give_up)) for number in (signal.SIGPROF, signal.SIGALRM)]
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        signal.setitimer(signal.ITIMER_REAL, WAITING * self._seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before:
                signal.signal(number, handler)
            self._spent[item.location[0]] += time.process_time() - began


def set_up(config: pytest.Config) -> None:
    """Prepare a run without compiling."""
    config.pluginmanager.register(Budget(config.getoption("seconds")), "budget")
    config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")

    def refuse(*_: object, **__: object) -> None:
        pytest.skip("it starts another process")

    subprocess.Popen.__init__ = refuse  # type: ignore[method-assign]
