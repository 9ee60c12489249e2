"""Line editing by prompt_toolkit: a menu of completions, and search in the history. The one module that imports it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.shortcuts import CompleteStyle

from merino.core.common.user_files import first_there

log = logging.getLogger(__name__)

MENU_ROWS = 4


class _Completer(Completer):
    """Asks `complete` with the line and the word before the cursor."""

    def __init__(self, complete: Callable[[str, str], list[str]]) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completions of the word before the cursor."""
        line = document.text_before_cursor
        word = document.get_word_before_cursor(WORD=True)
        for text in self._complete(line, word):
            yield Completion(text, start_position=-len(word), display=text.strip())


def toolkit_reader(complete: Callable[[str, str], list[str]], history: Path) -> Callable[[str], str | None]:
    """A function that asks for a line; it returns None at Ctrl-D and raises KeyboardInterrupt at Ctrl-C."""
    session: PromptSession[str] = PromptSession(
        history=_history(history),
        completer=_Completer(complete),
        complete_while_typing=False,
        complete_style=CompleteStyle.MULTI_COLUMN,
        enable_history_search=True,
        reserve_space_for_menu=MENU_ROWS,
    )

    def read(prompt: str) -> str | None:
        try:
            return session.prompt(prompt)
        except EOFError:
            return None

    return read


def _history(path: Path) -> History:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        log.info("history %s cannot be kept: %s", path, error)
        return InMemoryHistory()
    return FileHistory(path) if first_there([path]) else InMemoryHistory()
