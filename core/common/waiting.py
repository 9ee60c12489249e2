"""Waiting so that Ctrl-C is always heard.

Python notes a signal and acts on it when it next runs code of the main thread. A signal in the moment before a wait
begins does not end that wait, so one without a limit could keep Ctrl-C unheard for good.
"""

from __future__ import annotations

import threading

_MAX_WAIT = 0.2  # seconds until a signal is heard at the latest


def until_set(event: threading.Event) -> None:
    """Wait until the event is set."""
    while not event.wait(_MAX_WAIT):
        pass


def until_ended(thread: threading.Thread, seconds: float | None = None) -> None:
    """Wait until the thread has ended, but not longer than this."""
    if seconds is not None:
        thread.join(seconds)
        return
    while thread.is_alive():
        thread.join(_MAX_WAIT)
