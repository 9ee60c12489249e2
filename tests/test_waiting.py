"""Ctrl-C ends a wait without a limit, even if the signal alone does not wake the main thread."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable

import pytest

from merino.core.common.threads import until_ended, until_set


class HeardError(Exception):
    """Ctrl-C was heard."""


def hear(number: int, frame: object) -> None:
    raise HeardError


def wait_for_event(never: threading.Event) -> None:
    until_set(never)


def wait_for_thread(never: threading.Event) -> None:
    thread = threading.Thread(target=never.wait, daemon=True)
    thread.start()
    until_ended(thread)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signal to a thread")
@pytest.mark.parametrize("wait", [wait_for_event, wait_for_thread])
def test_a_signal_to_another_thread_ends_a_wait(wait: Callable[[threading.Event], None]) -> None:
    never = threading.Event()
    giving_up = threading.Timer(20, never.set)

    def interrupt() -> None:
        time.sleep(0.05)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    previous = signal.signal(signal.SIGINT, hear)
    giving_up.start()
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(HeardError):
            wait(never)
        assert not never.is_set()
    finally:
        signal.signal(signal.SIGINT, previous)
        giving_up.cancel()
        never.set()


def test_waits_end_with_what_they_wait_for() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.set)
    thread.start()
    until_set(done)
    until_ended(thread)
    assert not thread.is_alive()
