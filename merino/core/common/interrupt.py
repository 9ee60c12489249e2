"""Ctrl-C where KeyboardInterrupt would do harm.

While modules are being loaded nothing has started yet, so it ends the process at once and silently: as an exception it
would occur inside any import, where it prints a traceback or is lost. Imports nothing but what is built in (`signal`
itself takes a millisecond), because it is loaded first.
"""

import _signal  # type: ignore[import-not-found]

INTERRUPTED = 130  # the exit code of a command ended by Ctrl-C; a shell gives it to a process that the signal ends, too


class EndingAtOnce:
    """While the block runs, Ctrl-C ends the process. If it is ignored or handled otherwise, that stays so."""

    def __enter__(self) -> None:
        end_at_once_from_here()

    def __exit__(self, *_: object) -> None:
        _replace(_signal.SIG_DFL, _signal.default_int_handler)


class Postponed:
    """While the block runs, Ctrl-C waits for its end, so that what belongs together is done together.

    Only short blocks that wait for nothing. In another thread than the main one Ctrl-C has no meaning.
    """

    def __enter__(self) -> None:
        self._has_come = False
        self._usual = _signal.getsignal(_signal.SIGINT)
        if callable(self._usual):
            try:
                _signal.signal(_signal.SIGINT, self._note)
            except ValueError:
                self._usual = None

    def __exit__(self, *_: object) -> None:
        if callable(self._usual):
            _signal.signal(_signal.SIGINT, self._usual)
            if self._has_come:
                self._usual(int(_signal.SIGINT), None)

    def _note(self, *_: object) -> None:
        self._has_come = True


def end_at_once_from_here() -> None:
    """The same until the end of the process, or of the next block."""
    _replace(_signal.default_int_handler, _signal.SIG_DFL)


def _replace(old: object, new: object) -> None:
    if _signal.getsignal(_signal.SIGINT) == old:
        try:
            _signal.signal(_signal.SIGINT, new)
        except ValueError:
            return  # this is not the main thread, the only one that signals interrupt
