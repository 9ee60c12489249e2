"""Console commands for games and positions in files."""

from __future__ import annotations

from pathlib import Path

from engine.console.archive import load
from engine.console.arguments import file_name, no_argument, whole_number
from engine.console.registry import Section, command
from engine.console.session import Session

MOST_ENTRIES = 10**9


@command("save", Section.FILES, "FILE")
def save(session: Session, arguments: str) -> None:
    """Add the game to a PGN file; a new file is created.

    Other games in the file stay. If you save the same game again after more moves, the longer version replaces the
    shorter one.
    """
    path = Path(file_name(arguments)).expanduser().absolute()
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

    Without a number it loads the first. You see the position after the last move of the game; `undo 20` goes
    back twenty plies, `redo` goes forward.
    """
    name, number = arguments, 1
    head, _, last = arguments.rpartition(" ")
    if head and last.isdecimal() and not Path(arguments).expanduser().exists():
        name, number = head, whole_number(last, "the number of the game", 1, MOST_ENTRIES)
    loaded = load(Path(file_name(name)).expanduser(), number)
    session.resume(loaded)
    session.say(loaded.remark)
    if not loaded.tags:
        session.report_if_over()
