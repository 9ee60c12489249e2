"""Calls at a time, and the thread that does what it is given in turn."""

import gc
import os
import signal
import sys
import threading
import time

import pytest

from merino.core.common import threads
from merino.core.common.threads import OneThread, call_after, until_set

PATIENCE = 30.0


def test_alarms_ring_in_the_order_of_their_times_and_no_earlier_unless_cancelled() -> None:
    heard, rung, began = list[str](), threading.Event(), time.monotonic()
    call_after(0.06, lambda: (heard.append("late"), rung.set()))
    call_after(0.02, lambda: heard.append("early"))
    call_after(0.01, lambda: heard.append("cancelled")).cancel()
    assert rung.wait(PATIENCE)
    assert heard == ["early", "late"] and time.monotonic() - began >= 0.06


def test_an_alarm_is_set_early_where_the_clock_of_waits_has_coarse_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_STEP", 0.016)  # as on Windows
    alarms = [call_after(seconds, lambda: None) for seconds in (10.0, 0.01)]
    assert [alarm.interval for alarm in alarms] == pytest.approx([9.984, 0.0])
    for alarm in alarms:
        alarm.cancel()


def test_one_thread_does_calls_in_turn_and_waits_for_all() -> None:
    thread, done = OneThread("turns"), list[tuple[int, int | None]]()
    for number in range(20):
        thread.run(lambda number=number: done.append((number, threading.get_ident())))
    thread.wait()
    assert [number for number, _ in done] == list(range(20))
    assert len({ident for _, ident in done}) == 1
    assert not thread.is_busy


def test_waiting_in_the_thread_itself_returns_at_once() -> None:
    thread, passed = OneThread("itself"), threading.Event()
    thread.run(lambda: (thread.wait(), passed.set()))
    assert passed.wait(PATIENCE)


def test_a_call_that_raises_hinders_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[type[BaseException] | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_type))
    thread, gate, done = OneThread("raises"), threading.Event(), threading.Event()

    def fail() -> None:
        gate.wait(PATIENCE)
        raise ZeroDivisionError

    thread.run(fail)
    thread.run(done.set)
    gate.set()
    assert done.wait(PATIENCE)
    thread.wait()
    assert raised == [ZeroDivisionError]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    thread, gate, rung = OneThread("forks"), threading.Event(), threading.Event()
    call_after(0, rung.set)
    assert rung.wait(PATIENCE)
    thread.run(gate.wait)
    child = os.fork()
    if not child:
        done, rung, is_idle = threading.Event(), threading.Event(), not thread.is_busy
        thread.run(done.set)
        call_after(0.01, rung.set)
        os._exit(0 if is_idle and done.wait(PATIENCE) and rung.wait(PATIENCE) else 1)
    gate.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.wait()


def test_the_thread_ends_with_its_owner() -> None:
    thread = OneThread("owned and left")
    thread.run(lambda: None)
    thread.wait()
    del thread
    gc.collect()
    deadline = time.monotonic() + PATIENCE
    while any(one.name == "owned and left" for one in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Ctrl-C ends a wait without a limit, even if the signal alone does not wake the main thread.


class HeardError(Exception):
    """Ctrl-C was heard."""


def hear(number: int, frame: object) -> None:
    raise HeardError


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signal to a thread")
def test_a_signal_to_another_thread_ends_a_wait() -> None:
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
            until_set(never)
        assert not never.is_set()
    finally:
        signal.signal(signal.SIGINT, previous)
        giving_up.cancel()
        never.set()
