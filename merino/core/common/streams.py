"""Standard streams that are closed or cannot be written to. Imports nothing heavy."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TextIO

_NAMES = ("stdin", "stdout", "stderr")  # by descriptor
_LOST = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)
_STAND_INS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)


def open_closed_streams() -> None:
    """Give each standard stream that was closed before we started a stand-in, so that no file takes its place.

    Input is at its end, output fails as on a full disk, and errors are dropped.
    """
    for descriptor, (name, mode) in enumerate(zip(_NAMES, _STAND_INS, strict=True)):
        if getattr(sys, name) is None:
            stand_in = os.open(os.devnull, mode)
            setattr(sys, name, os.fdopen(stand_in, "w" if descriptor else "r", closefd=False))


def escape_unwritable() -> None:
    """Let standard output write characters that its encoding lacks as escapes such as \\u2502, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_lost_output(error: OSError) -> bool:
    """Whether this error means that nobody reads the output, the disk is full or the stream is closed."""
    return error.filename is None and (error.errno in _LOST or has_no_reader(error))


def has_no_reader(error: OSError) -> bool:
    """Whether this error of writing to a stream means that its reader has gone."""
    if sys.platform == "win32" and error.errno == errno.EINVAL:
        return True  # what Windows says of such a pipe
    return isinstance(error, BrokenPipeError)


def lost_output() -> OSError | None:
    """Why standard output cannot be written, if so; unwritten output is then discarded."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        return error
    return None


def complain(text: str) -> None:
    """Print on standard error what is wrong; if that fails too, only the exit code tells."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Discard unwritten output: the interpreter would try again at its end, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
