"""Pipes for tests: to read from, and a mark for tests of those that have a name."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

named_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")


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
