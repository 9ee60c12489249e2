"""Where lines come from: a person with history and completion, or a pipe, whose lines are echoed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from engine.cache import user_folder

try:
    import readline
except ImportError:  # Windows
    readline = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

HISTORY_LINES = 1000

Complete = Callable[[str, str], list[str]]


def read_typed(prompt: str) -> str | None:
    """A line from the terminal, None at its end (Ctrl-D). Ctrl-C raises KeyboardInterrupt."""
    try:
        return input(prompt)
    except EOFError:
        return None


def read_piped(source: IO[bytes], out: TextIO, prompt: str) -> str | None:
    """A line from a pipe or file, shown after the prompt as if it had been typed; None at the end."""
    out.write(prompt)
    raw = source.readline()
    line = raw.decode("utf-8", "replace").rstrip("\r\n")
    out.write(f"{line}\n")
    out.flush()
    return line if raw else None


@contextmanager
def line_editing(complete: Complete) -> Iterator[None]:
    """Arrow keys, the lines of earlier sessions, and completion by Tab, where the system has them.

    `complete` gets the line and the word in it, and returns what the word may become.
    """
    if readline is None:
        yield
        return
    history = user_folder("data") / "console_history"
    _load_history(history)
    readline.set_completer_delims(" \t")
    readline.set_completer(_completer(complete))
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield
    finally:
        _save_history(history)


def _completer(complete: Complete) -> Callable[[str, int], str | None]:
    """Readline asks for one match after the other; None ends the list."""
    matches: list[str] = []

    def match(word: str, index: int) -> str | None:
        nonlocal matches
        if index == 0:
            matches = complete(readline.get_line_buffer(), word)
        return matches[index] if index < len(matches) else None

    return match


def _load_history(path: Path) -> None:
    readline.set_history_length(HISTORY_LINES)
    try:
        readline.read_history_file(path)
    except FileNotFoundError:
        log.debug("no history yet at %s", path)
    except OSError as error:
        log.info("history %s not read: %s", path, error)


def _save_history(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        readline.write_history_file(path)
    except OSError as error:
        log.info("history %s not saved: %s", path, error)
