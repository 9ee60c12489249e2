"""Work that lasts: what it tells while it goes on, and how it is asked to end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from merino.core.common.errors import MerinoError

Message = Mapping[str, Any]
Say = Callable[[Message], None]

# Errors of work that cannot be done; ValueError is that of moves.
FAULTS = (MerinoError, ValueError, OSError, MemoryError)
INTERNAL_ERROR = "an internal error, of which the window of 'merino explorer' says more; please report it"


def reason_of(fault: Exception) -> str:
    """Why work cannot be done, in words; `fault` is one of FAULTS."""
    if isinstance(fault, MemoryError):
        return str(fault) or "there is not enough memory"
    if not isinstance(fault, OSError) or fault.strerror is None:
        return str(fault)
    return f"'{fault.filename}': {fault.strerror}" if fault.filename else fault.strerror


class Stop:
    """Asks work to end. `calling` is for work that does not check by itself.

    `is_left`: nobody will hear the end, for the tab has closed or has asked for other work.
    """

    def __init__(self) -> None:
        self.is_left = False
        self._event = threading.Event()
        self._actions: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def is_set(self) -> bool:
        """Whether the work is to end."""
        return self._event.is_set()

    def leave(self) -> None:
        """Ask the work to end, which nobody hears any more."""
        self.is_left = True
        self.set()

    def set(self) -> None:
        """Ask the work to end."""
        with self._lock:
            self._event.set()
            for action in self._actions:
                action()

    @contextmanager
    def calling(self, action: Callable[[], object]) -> Iterator[None]:
        """Within this block, call `action` when the work is to end, at once if it is already."""
        with self._lock:
            self._actions.append(action)
            if self._event.is_set():
                action()
        try:
            yield
        finally:
            with self._lock:
                self._actions.remove(action)
