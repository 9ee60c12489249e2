"""Pipes for tests: to read from, with a name among what is no file, and a mark for tests of those."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

named_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")


def put_no_files(folder: Path) -> None:
    """Put into a folder what is there and no file: a `pipe`, a `socket`, and a `circle`, a link to itself."""
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "socket"))  # whose name has to be short
    (folder / "circle").symlink_to("circle")


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
