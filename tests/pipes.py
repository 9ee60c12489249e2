"""Pipes to read from, for tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pipe_with(content: bytes) -> Iterator[int]:
    """The end to read from of a pipe into which a thread writes."""
    out, into = os.pipe()

    def write() -> None:
        with os.fdopen(into, "wb") as file:
            file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield out
    finally:
        os.close(out)
        writer.join()
