"""Completion by Tab, derived from the usage of each command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from merino.inner.app.console.registry import COMMANDS, by_name
from merino.inner.app.console.session import Session
from merino.inner.core.common.user_files import is_folder, names_in, user_path
from merino.inner.engine.notation.san import san_moves
from merino.inner.engine.uci.options import OPTIONS


def completions(session: Session, line: str, word: str) -> list[str]:
    """Completions of `word`, the last of `line`: commands and moves, and after a command what its usage names."""
    first, *_ = [*line.split(), ""]
    if line[: len(line) - len(word)].strip() == "":
        offered: Iterable[str] = [*(command.name for command in COMMANDS), *_moves(session, word)]
        return sorted(f"{name} " for name in offered if name.startswith(word))
    command = by_name(first)
    wanted = re.findall(r"[A-Z]+", command.arguments) if command else []
    return sorted({name for kind in wanted if kind in _OFFERS for name in _OFFERS[kind](session, word)})


def _moves(session: Session, word: str) -> list[str]:
    return [name for name in san_moves(session.position, session.position.legal_moves) if name.startswith(word)]


def _commands(session: Session, word: str) -> list[str]:
    return [command.name for command in COMMANDS if command.name.startswith(word)]


def _options(session: Session, word: str) -> list[str]:
    return [option.name for option in OPTIONS.values() if option.name.lower().startswith(word.lower())]


def _files(session: Session, word: str) -> list[str]:
    head, slash, name = word.rpartition("/")
    try:
        folder = user_path(f"{head}{slash}")
    except OSError:
        return []
    found = [folder / beside for beside in names_in(folder) if beside.startswith(name)]
    return [f"{head}{slash}{entry.name}{'/' if is_folder(entry) else ''}" for entry in found]


_OFFERS: dict[str, Callable[[Session, str], list[str]]] = {
    "MOVE": _moves,
    "COMMAND": _commands,
    "FILE": _files,
    "OPTION": _options,
}
