"""Ctrl-C while modules are being loaded: nothing has started yet, so the process ends at once and silently.

As an exception it would occur inside any import, where it prints a traceback or is lost. Imports almost nothing,
because it is loaded first.
"""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130  # the exit code of a command ended by Ctrl-C


class EndingAtOnce:
    """While the block runs, Ctrl-C ends the process. If it is ignored or handled otherwise, that stays so."""

    def __enter__(self) -> None:
        _replace(signal.default_int_handler, _end)

    def __exit__(self, *_: object) -> None:
        _replace(_end, signal.default_int_handler)


def end_at_once_from_here() -> None:
    """The same until the end of the process."""
    _replace(signal.default_int_handler, _end)


def _replace(old: object, new: signal._HANDLER) -> None:
    if signal.getsignal(signal.SIGINT) is old:
        try:
            signal.signal(signal.SIGINT, new)
        except ValueError:
            return  # this is not the main thread, the only one that signals interrupt


def _end(number: int, frame: object) -> None:
    os._exit(INTERRUPTED)
