"""Console commands for games and positions in files."""

from __future__ import annotations

from collections.abc import Iterable
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TextIO

import chess.pgn

from merino.inner.app.console.arguments import file_path, no_argument, whole_number
from merino.inner.app.console.registry import Section, command
from merino.inner.app.console.session import Session
from merino.inner.core.board.fen import FenError
from merino.inner.core.board.game import IllegalMoveError
from merino.inner.core.common.command import CommandError
from merino.inner.core.common.user_files import GAMES, is_there, open_user_file
from merino.inner.engine.notation.games import FaultKeeper, Loaded, VariantError, loaded
from merino.inner.engine.notation.positions import looks_like_fen, position_of

MAX_ENTRIES = 10**9
_COMMENTS = ("#", "%", ";")


@command("save", Section.FILES, "FILE")
def save(session: Session, arguments: str) -> None:
    """Add the game to a PGN file; a new file is created.

    Other games in the file stay. If you save the same game again after more moves, the longer version replaces the
    shorter one.
    """
    path = file_path(arguments).absolute()
    number = session.sheet.save(path, session.position, session.result)
    session.say(f"Saved as game {number} of {path}" if number > 1 else f"Saved in {path}")


@command("pgn", Section.FILES)
def pgn(session: Session, arguments: str) -> None:
    """Print the game as PGN."""
    no_argument(arguments)
    session.say(session.sheet.pgn(session.position, session.result))


@command("load", Section.FILES, "FILE [N]", ends_game=True)
def load_entry(session: Session, arguments: str) -> None:
    """Load game N of a PGN file, or line N of a file of FENs or EPDs.

    Without a number it loads the first. You see the position after the last move of the game; `undo` takes back a
    ply, `undo 20` twenty, `redo` goes forward. `resume` returns to the game before.
    """
    name, number = arguments, 1
    head, _, last = arguments.rpartition(" ")
    if head and last.isdecimal() and not is_there(file_path(arguments)):
        name, number = head, whole_number(last, "the number of the game", 1, MAX_ENTRIES)
    loaded = load(file_path(name), number)
    session.resume(loaded)
    session.say(loaded.remark)
    if not loaded.tags:
        session.report_if_over()


def load(path: Path, number: int) -> Loaded:
    """The entry of this number, from 1; raises CommandError, naming what is wrong."""
    try:
        with TextIOWrapper(open_user_file(path, GAMES), "utf-8-sig", "replace") as file:
            first = next((line for line in file if _counts(line)), "")
            file.seek(0)
            holds_positions = looks_like_fen(first)
            found = _nth_position(file, number) if holds_positions else _nth_game(file, number)
    except OSError as error:
        raise CommandError(f"cannot read '{path}': {error.strerror or error}") from error
    except VariantError as error:
        raise CommandError(f"'{path}': {error}") from error
    except (FenError, IllegalMoveError) as error:
        raise CommandError(f"{'line' if holds_positions else 'game'} {number} of '{path}': {error}") from error
    if isinstance(found, int):
        if not found:
            raise CommandError(f"'{path}' holds neither games nor positions")
        raise CommandError(f"'{path}' ends with {'position' if holds_positions else 'game'} {found}")
    return found


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(_COMMENTS)


def _nth_position(lines: Iterable[str], number: int) -> Loaded | int:
    """The position in the line of this number, blank lines and comments not counted; else how many there are."""
    taken = list(islice(filter(_counts, lines), number))
    if len(taken) < number:
        return len(taken)
    fields = taken[-1].split()
    has_counters = len(fields) >= 6 and all(text.isdecimal() for text in fields[4:6])
    operations = fields[6 if has_counters else 4 :]
    position = position_of(" ".join(fields[: 6 if has_counters else 4]))
    return Loaded(position, f"Position {number}: {' '.join(operations) or position.fen()}")


def _nth_game(file: TextIO, number: int) -> Loaded | int:
    """The game of this number; else how many there are. Comments and variations are passed over."""
    for index in range(1, number):
        if not chess.pgn.skip_game(file):
            return index - 1
    game = chess.pgn.read_game(file, Visitor=FaultKeeper)
    if game is None or (not game.variations and dict(game.headers) == dict(chess.pgn.Game().headers)):
        return number - 1  # a text without tags and moves is no game
    return loaded(game, number)
