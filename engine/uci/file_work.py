"""Work on files that may be slow, on a thread of its own: a network disk must not keep the dialogue from `stop`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Found = TypeVar("Found")


class FileWork(Generic[Found]):
    """A call that reads files, begun at once. What it returns or raises is kept until it is asked for."""

    def __init__(self, call: Callable[[], Found]) -> None:
        self._call = call
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._found: list[Found] = []
        self._fault: Exception | None = None
        threading.Thread(target=self._run, name="files", daemon=True).start()

    def is_done(self, seconds: float) -> bool:
        """Whether it has ended, now or before this time since its beginning is over."""
        return self._ended.wait(max(0.0, self._began + seconds - time.monotonic()))

    def result(self) -> Found:
        """What the call has returned, once it is done; raises what it has raised."""
        if self._fault is not None:
            raise self._fault
        return self._found[0]

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except Exception as error:  # noqa: BLE001  (raised again by `result`)
            self._fault = error
        finally:
            self._ended.set()
