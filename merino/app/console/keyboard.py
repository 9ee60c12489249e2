"""Sources of lines: a person, with history and completion, or a pipe, whose lines are echoed."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from merino.core.common.user_files import first_there, user_folder

try:
    import readline
except ImportError:  # Windows
    readline = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

HISTORY_LINES = 1000
WAKE_SECONDS = 0.2

Reader = Callable[[str], str | None]  # asks with a prompt; None at the end of the input
Complete = Callable[[str, str], list[str]]


def read_piped(source: IO[bytes], out: TextIO, prompt: str) -> str | None:
    """A line from a pipe or file, shown after the prompt as if it had been typed; None at the end."""
    out.write(prompt)
    raw = source.readline()
    line = raw.decode("utf-8", "replace").rstrip("\r\n")
    out.write(f"{line}\n")
    out.flush()
    return line if raw else None


def overheard() -> list[str]:
    """The lines typed at the terminal without a prompt; "quit" for its end (Ctrl-D)."""
    if sys.platform == "win32" or not select.select([sys.stdin], [], [], 0)[0]:
        return []
    try:
        typed = os.read(sys.stdin.fileno(), 1 << 16)
    except OSError:  # it is gone
        typed = b""
    return typed.decode("utf-8", "replace").splitlines() if typed else ["quit"]


@contextmanager
def line_editing(complete: Complete) -> Iterator[Reader]:
    """Reads lines from the terminal: by readline where there is one, with history and completion by Tab.

    `complete` gets the line up to the cursor and the word there, and returns the completions.
    """
    if readline is None:
        yield _read_typed
        return
    history = user_folder("data") / "console_history"
    _load_history(history)
    readline.set_completer_delims(" \t")
    readline.set_completer(_completer(complete))
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield _read_typed
    finally:
        _save_history(history)


def _read_typed(prompt: str) -> str | None:
    """A line from the terminal, None at its end (Ctrl-D). Ctrl-C raises KeyboardInterrupt."""
    try:
        with _woken_once():
            return input(prompt)
    except EOFError:
        return None


@contextmanager
def _woken_once() -> Iterator[None]:
    """Wake readline up a moment after it has begun to wait.

    Otherwise a Ctrl-C between the prompt and the waiting would take effect only at the next key.
    """
    if not hasattr(signal, "setitimer"):  # Windows, which has no readline either
        yield
        return
    previous = signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.setitimer(signal.ITIMER_REAL, WAKE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _completer(complete: Complete) -> Callable[[str, int], str | None]:
    """Readline requests one match after the other; None ends the list."""
    matches: list[str] = []

    def match(word: str, index: int) -> str | None:
        nonlocal matches
        if index == 0:
            matches = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
        return matches[index] if index < len(matches) else None

    return match


def _load_history(path: Path) -> None:
    readline.set_history_length(HISTORY_LINES)
    if first_there([path]) is None:
        log.debug("no history yet at %s", path)
        return
    try:
        readline.read_history_file(path)
    except OSError as error:
        log.info("history %s not read: %s", path, error)


def _save_history(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        readline.write_history_file(path)
    except OSError as error:
        log.info("history %s not saved: %s", path, error)
