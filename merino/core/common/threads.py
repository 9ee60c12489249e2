"""A thread that is kept for calls, calls at a time, and waits that leave Ctrl-C heard.

A new thread for each call costs more than a search to depth 1; every search needs one.
A fork copies no threads but that which forks: the new process begins without calls, and with threads of its own.

Python notes a signal and acts on it when it next runs code of the main thread. A signal in the moment before a wait
begins does not end that wait, and on Windows none does; so one without a limit could keep Ctrl-C unheard for good.
"""

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from queue import SimpleQueue

_MAX_WAIT = 0.2  # seconds until a signal is heard at the latest
_STEP = time.get_clock_info("monotonic").resolution  # by which a wait may be late: on Windows 16 ms


def until(wait: Callable[[float], object]) -> None:
    """Wait by a function that waits so many seconds at most and says whether that was enough."""
    while not wait(_MAX_WAIT):
        pass


def until_set(event: threading.Event, seconds: float | None = None) -> None:
    """Wait until the event is set, but not longer than this."""
    if seconds is None:
        until(event.wait)
    else:
        event.wait(seconds)


class OneThread:
    """Runs calls one after the other in a daemon thread of its own, which ends with this object."""

    def __init__(self, name: str) -> None:
        self._calls = _Calls(name)
        weakref.finalize(self, lambda calls: calls.waiting.put(None), self._calls)

    def run(self, call: Callable[[], object]) -> None:
        """Do this after all that was given before; returns at once. A call that raises hinders no other."""
        self._calls.add(call)

    @property
    def is_busy(self) -> bool:
        """Whether there is something to do still."""
        return not self._calls.idle.is_set()

    @property
    def is_current(self) -> bool:
        """Whether this is asked in the thread itself, by one of its calls."""
        return threading.current_thread() is self._calls.thread

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all is done, but not longer than this; returns at once in the thread itself."""
        if not self.is_current:
            until_set(self._calls.idle, seconds)


class _Calls:
    """The calls to do and the thread that does them; not its owner, which may be collected while it waits."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.begin()
        _all_calls.add(self)

    def begin(self) -> None:
        """Have nothing to do, and no thread."""
        self.waiting = SimpleQueue[Callable[[], object] | None]()
        self._open, self._lock = 0, threading.Lock()  # calls not yet done
        self.idle = threading.Event()
        self.idle.set()
        self.thread: threading.Thread | None = None

    def add(self, call: Callable[[], object]) -> None:
        """Do this after the others."""
        with self._lock:
            self._open += 1
            self.idle.clear()
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self.thread.start()
        self.waiting.put(call)

    def _work(self) -> None:
        """Do what comes, until None comes; a fault is reported as that of a thread."""
        while (call := self.waiting.get()) is not None:
            try:
                call()
            except Exception:  # noqa: BLE001
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                del call  # what it holds, a searcher perhaps, may go now
                with self._lock:
                    self._open -= 1
                    if not self._open:
                        self.idle.set()


def call_after(seconds: float, call: Callable[[], object]) -> threading.Timer:
    """Call this after so many seconds, from another thread, unless the timer is cancelled; it must raise nothing.

    Where the clock of waits has coarse steps, it is rather early than late.
    """
    timer = threading.Timer(max(0.0, seconds - _STEP), call)
    timer.daemon = True
    timer.start()
    return timer


_all_calls = weakref.WeakSet[_Calls]()


def _forget_parent() -> None:
    """Forget the threads of the parent process after a fork."""
    for calls in list(_all_calls):
        calls.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
