"""The errors of the learner, and its interruption by Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from merino.core.common.errors import MerinoError
from merino.core.common.files import write_fault
from merino.formats.sources import SourceError

AS_THEY_WERE = "the weights are as they were"


class LearnError(SourceError):
    """A file that cannot be learned from or written; the message says what and where."""


class LearnStoppedError(LearnError):
    """Ctrl-C before there was a result; the message says what has been done so far."""


class TrainingError(MerinoError):
    """The training of a net is impossible; the message says why."""


@contextmanager
def standing(how: str) -> Iterator[None]:
    """Turn Ctrl-C and OSError in the block into a LearnError whose message ends with `how`, the state of the files.

    Of nested blocks the innermost one counts. BrokenPipeError passes: the reader of our output is gone.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise LearnStoppedError(f"stopped by Ctrl-C; {how}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LearnError(f"{write_fault(error)}; {how}") from error
