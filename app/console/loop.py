"""The console from the first prompt to the last."""

from __future__ import annotations

import logging
from typing import IO

from merino.inner.app.console.completion import completions
from merino.inner.app.console.dispatch import dispatch
from merino.inner.app.console.keyboard import Reader, line_editing, overheard, read_piped
from merino.inner.app.console.session import Session

log = logging.getLogger(__name__)

HINT_AFTER_INTERRUPT = "Type quit or press Ctrl-D to leave."


def run_typed(session: Session) -> int:
    """Talk to a person at a terminal until they leave; the exit code."""

    def complete(line: str, word: str) -> list[str]:
        return completions(session, line, word)

    session.overhear = overheard
    with line_editing(complete, session.terminal.rewrites) as read:
        return run_lines(session, read)


def run_piped(session: Session, source: IO[bytes]) -> int:
    """Run the lines of a pipe or file; returns the exit code."""
    return run_lines(session, lambda prompt: read_piped(source, session.out, prompt))


def run_lines(session: Session, read: Reader) -> int:
    """Run the lines that `read` returns at each prompt until it returns None or a line quits; returns the exit code."""
    while True:
        try:
            line = _next_line(session, read)
            code = 0 if line is None else _obey(session, line)
        except KeyboardInterrupt:
            session.say(f"\n{HINT_AFTER_INTERRUPT}")
            continue
        if line is None and session.is_live:
            session.say("")
        if code is not None:
            if session.is_kept:
                session.say("The game is kept: resume goes on with it when you are back.")
            return code


def _next_line(session: Session, read: Reader) -> str | None:
    """The next line typed while the engine was thinking, shown after its prompt; else a line read at the prompt."""
    if not session.typed_ahead:
        return read(session.prompt)
    line = session.typed_ahead.popleft()
    session.say(f"{session.prompt}{line}")
    return line


def _obey(session: Session, line: str) -> int | None:
    """Run a line. An internal error is reported and logged, and the game is kept."""
    try:
        code = dispatch(session, line)
        session.keep()
        return code
    except OSError:
        raise  # the output is gone
    except Exception as error:
        log.exception("the console failed at %r", line[:200])
        session.say(f"Internal error ({type(error).__name__}: {error}); please report it. The game continues.")
        return None
