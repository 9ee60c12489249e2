"""Errors of the learner, and its interruption."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from formats.sources import SourceError

AS_THEY_WERE = "the weights are as they were"


class LearnError(SourceError):
    """Something cannot be learned from, or not be written; the message says what and where."""


class LearnStoppedError(LearnError):
    """Ctrl-C before there was anything to keep; the message says what has been done so far."""


@contextmanager
def standing(how: str) -> Iterator[None]:
    """Turn Ctrl-C and errors of writing in the block into a LearnError whose message ends with `how`.

    In nested blocks the innermost one counts. BrokenPipeError passes: its reader has closed the output.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise LearnStoppedError(f"stopped by Ctrl-C; {how}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f" '{error.filename}'" if error.filename else ""
        raise LearnError(f"cannot write{where}: {error.strerror}; {how}") from error
