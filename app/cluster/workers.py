"""The state of a cluster's workers, from their events, and sentences about them for the user."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Say = Callable[[str], object]


class Workers:
    """The workers of a session. Events come in one thread, questions from any."""

    def __init__(self, name: str, say: Say) -> None:
        """`name` is that of the resource and topic of the session; `say` gets sentences for the user."""
        self.name, self.is_lost = name, False
        self.ready: dict[str, dict[str, Any]] = {}  # the reports of ready workers, by address
        self.refused: dict[str, str] = {}  # why, by address
        self._say, self._changed = say, threading.Condition()
        self._compiling: set[str] = set()
        self._remarks: set[str] = set()  # said already: all workers of a machine make the same
        self._has_begun = self._is_closing = False

    @property
    def addresses(self) -> list[str]:
        """Those of the ready workers."""
        return list(self.ready)

    @property
    def threads_by_address(self) -> dict[str, int]:
        """The threads of each ready worker."""
        return {address: int(report["threads"]) for address, report in list(self.ready.items())}

    @property
    def threads(self) -> int:
        """The threads of all ready workers."""
        return sum(self.threads_by_address.values())

    def heard(self, event: tuple[float, Any]) -> None:
        """Take the report of a worker."""
        report = event[1]
        address, state = report["worker"], report["state"]
        if state == "remark":
            if report["text"] not in self._remarks:
                self._remarks.add(report["text"])
                self._say(f"{report['text']}.")
            return
        with self._changed:
            if state == "compiling":
                self._compiling.add(address)
            elif state == "ready":
                self.ready[address] = report
            else:
                self.refused[address] = report["fault"]
            self._changed.notify_all()
        if state == "refused":
            self._say(f"Worker {address} {report['fault']}; it gets no work.")
        elif state == "ready":
            if report["remark"]:
                self._say(f"Worker {address} {report['remark']}.")
            if self._has_begun:
                self._say(f"Worker {address} has joined: {self.threads} threads now.")

    def scheduler_reported(self, address: str, event: tuple[float, Any]) -> None:
        """Take the report of the scheduler on a worker: only that it has gone."""
        if event[1].get("action") != "remove-worker" or self._is_closing:
            return
        with self._changed:
            was_ready = self.ready.pop(address, None) is not None
            self._compiling.discard(address)
            self._changed.notify_all()
        if was_ready:
            left = f"{self.threads} threads are left" if self.ready else "no worker is left, waiting for a new one"
            self._say(f"Worker {address} is gone; others repeat its unfinished work: {left}.")

    def scheduler_is_gone(self) -> None:
        """The connection to the scheduler has ended."""
        with self._changed:
            self.is_lost = True
            self._changed.notify_all()

    def wait(self, known: set[str], patience: float, seconds: float) -> bool:
        """Wait until all of `known` have told what they are, or for `patience` once one is ready; at most `seconds`.

        Returns whether that is the case.
        """

        def is_enough() -> bool:
            return self.is_lost or known <= self.ready.keys() | self.refused.keys()

        with self._changed:
            if not self._changed.wait_for(lambda: is_enough() or bool(self.ready), seconds):
                return False
            self._changed.wait_for(is_enough, patience)
            return True

    @property
    def compiling(self) -> int:
        """The number of workers that are still compiling."""
        return len(self._compiling - self.ready.keys())

    def begin(self) -> None:
        """From now on, report to the user when a worker joins."""
        self._has_begun = True

    def close(self) -> None:
        """From now on, do not report to the user when a worker goes."""
        self._is_closing = True
