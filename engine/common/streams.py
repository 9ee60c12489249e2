"""The standard streams where they are closed, or cannot be written. Imports nothing heavy."""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

_NAMES = ("stdin", "stdout", "stderr")  # by descriptor
_LOST = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)
_STAND_INS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)


def open_closed_streams() -> None:
    """Give each standard stream that was closed before we started a stand-in, so that no file takes its place.

    Input is at its end, output fails as it does on a full disk, and errors go nowhere: there is nobody to tell.
    """
    for descriptor, (name, mode) in enumerate(zip(_NAMES, _STAND_INS, strict=True)):
        if getattr(sys, name) is None:
            stand_in = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(stand_in, "w" if descriptor else "r", closefd=False))


def is_lost_output(error: OSError) -> bool:
    """Whether this is what writing raises where nobody reads, the disk is full or the stream is closed."""
    return error.filename is None and error.errno in _LOST


def lost_output() -> OSError | None:
    """Why standard output cannot be written, if it cannot; what waits to be written is then thrown away."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        return error
    return None


def complain(text: str) -> None:
    """Say on standard error what is wrong; where that cannot be written either, the exit code alone tells it."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Let what waits to be written go nowhere: the interpreter tries again at its end, and would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
