"""What the learner refuses, and what breaks it off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from formats.sources import SourceError

AS_THEY_WERE = "the weights are as they were"


class LearnError(SourceError):
    """Something that cannot be learned from, or written; the message says what and where."""


class LearnStoppedError(LearnError):
    """Ctrl-C where there was nothing yet to keep; the message says how things stand."""


@contextmanager
def standing(how: str) -> Iterator[None]:
    """Let Ctrl-C in the block, and a file that cannot be written, end in a LearnError that says how things stand.

    Of blocks in each other the innermost tells. BrokenPipeError passes: nobody listens any more.
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
