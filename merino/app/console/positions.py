"""The positions of a command line: a FEN, in one word or several, or a file of FENs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from merino.core.board.fen import START_FEN, FenError
from merino.core.board.game import START_NAME, Position
from merino.core.common.command import CommandError, errors_named
from merino.core.common.user_files import text_of
from merino.engine.notation.san import looks_like_fen
from merino.formats.sources import SourceError, read_text
from merino.study.reporting import Setup, set_up

_T = TypeVar("_T")
_FIELDS = ("[wb]", "-|[A-Ha-hKQkq]{1,4}", "-|[a-h][36]", r"\d+", r"\d+")  # of a FEN, after the board


def take_position(words: Sequence[str], command: str) -> tuple[Position, list[str]]:
    """The position of the FEN that the words begin with, quoted or not, and the words after it.

    Raises CommandError where there is none or it is faulty.
    """
    return _take(words, command, Position)


def take_setup(words: Sequence[str], command: str) -> tuple[Setup, list[str]]:
    """The same, also for positions that the rules do not allow; raises CommandError if the FEN cannot be read."""
    return _take(words, command, set_up)


def _take(words: Sequence[str], command: str, read: Callable[[str], _T]) -> tuple[_T, list[str]]:
    fen, rest = _take_fen(words, command)
    with errors_named(command, FenError):
        return read(fen), rest


def _take_fen(words: Sequence[str], command: str) -> tuple[str, list[str]]:
    """The FEN that the words begin with, and the words after it; raises CommandError where there is none."""
    if words and words[0] == START_NAME:
        return START_FEN, list(words[1:])
    if not words or not looks_like_fen(words[0]):
        raise CommandError(f"{command}: {words[0][:60]!r} is not a FEN" if words else f"{command}: the FEN is missing")
    first, *rest = words
    fields = first.split()
    while rest and len(fields) <= len(_FIELDS) and re.fullmatch(_FIELDS[len(fields) - 1], rest[0]):
        fields.append(rest.pop(0))
    return " ".join(fields), rest


def read_positions(path: Path, command: str) -> list[Position]:
    """The positions of a file of FENs or EPDs, a line each; raises CommandError with file, line and fault."""
    try:
        lines = text_of(read_text(path), path).splitlines()
    except (OSError, SourceError) as error:
        reason = getattr(error if isinstance(error, OSError) else error.__cause__, "strerror", None)
        told = f"'{path}' is not a FEN, and cannot be read as a file: {reason}" if reason else str(error)
        raise CommandError(f"{command}: {told}") from error
    positions = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            if line.startswith("["):
                raise CommandError(f"{command}: '{path}' holds games; 'merino annotate' explains them move by move")
            try:
                positions.append(take_position(line.split(), command)[0])
            except CommandError as error:
                raise CommandError(f"{str(error).replace(command, f'{command}: {path}:{number}', 1)}") from error
    if not positions:
        raise CommandError(f"{command}: '{path}' holds no position")
    return positions
