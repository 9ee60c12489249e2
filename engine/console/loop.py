"""The console from the first prompt to the last."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import IO

from engine.console.dispatch import dispatch
from engine.console.keyboard import line_editing, read_piped, read_typed
from engine.console.registry import COMMANDS, by_name
from engine.console.session import Session
from engine.san import san_moves

log = logging.getLogger(__name__)

HINT_AFTER_INTERRUPT = "Type quit or press Ctrl-D to leave."

Reader = Callable[[str], str | None]


def run_typed(session: Session) -> int:
    """Talk to a person at a terminal until they leave; the exit code."""

    def complete(line: str, word: str) -> list[str]:
        return completions(session, line, word)

    with line_editing(complete):
        return run_lines(session, read_typed)


def run_piped(session: Session, source: IO[bytes]) -> int:
    """Work off the lines of a pipe or file; the exit code."""
    return run_lines(session, lambda prompt: read_piped(source, session.out, prompt))


def run_lines(session: Session, read: Reader) -> int:
    """Obey the lines that `read` returns for each prompt until it returns None, or one says to leave; the exit code."""
    while True:
        try:
            line = read(session.prompt)
            code = 0 if line is None else _obey(session, line)
        except KeyboardInterrupt:
            session.say(f"\n{HINT_AFTER_INTERRUPT}")
            continue
        if line is None and session.is_live:
            session.say("")
        if code is not None:
            return code


def _obey(session: Session, line: str) -> int | None:
    """Carry out a line. A fault of ours is told and logged, and does not cost the person their game."""
    try:
        return dispatch(session, line)
    except OSError:
        raise  # the output is gone: nobody to talk to
    except Exception as error:
        log.exception("the console failed at %r", line[:200])
        session.say(f"Merino made a mistake ({type(error).__name__}: {error}); please report it. The game goes on.")
        return None


def completions(session: Session, line: str, word: str) -> list[str]:
    """What `word`, the last of `line`, may become: commands and legal moves, and after help commands."""
    words = line.split()
    is_first = not words or (len(words) == 1 and not line.endswith(" "))
    names = [command.name for command in COMMANDS]
    if is_first:
        names += san_moves(session.position, session.position.legal_moves)
    elif by_name(words[0]) is not by_name("help"):
        return []
    return sorted(name + (" " if is_first else "") for name in names if name.startswith(word))
