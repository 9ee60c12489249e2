"""Console commands for help and for leaving."""

from __future__ import annotations

import textwrap

from merino.inner.app.console.arguments import no_argument
from merino.inner.app.console.registry import COMMANDS, ConsoleCommand, Section, by_name, by_prefix, command
from merino.inner.app.console.session import Session
from merino.inner.core.common.command import CommandError
from merino.inner.core.common.nearest import did_you_mean

TEXT_COLUMN = 27
MIN_ROOM = 5  # lines of a window
MORE = "-- Enter shows more, q ends -- "
MOVES_HELP = """Type moves as e4, Nf3, exd5, Nbd2, O-O, e8=Q, or by squares: e2e4, e7e8q. A list such as 1. e4 e5 plays
the moves of both sides. The engine answers each move; press Enter or Ctrl-C while it thinks to make it move at once.
Scores are from White's point of view. You may shorten a command as long as it stays unambiguous, unless it ends the
game. 'help COMMAND' explains one command. Ctrl-D leaves Merino."""


@command("help", Section.LEAVE, "[COMMAND]", aliases=("h",))
def show_help(session: Session, arguments: str) -> None:
    """List the commands, or explain one."""
    if arguments:
        session.say(_describe(_named(arguments), session.text_width))
        return
    rows = list[str]()
    for section in Section:
        rows.append(f"{section.value}:")
        for entry in COMMANDS:
            if entry.section is section:
                rows += session.row(f"  {entry.usage}", entry.sentence, TEXT_COLUMN).splitlines()
    text = textwrap.fill(" ".join(MOVES_HELP.split()), session.text_width)
    _show_pages(session, [*rows, "", *text.splitlines()])


def _show_pages(session: Session, rows: list[str]) -> None:
    """Print rows; for a person, a window full at a time, until they have seen enough."""
    ask, room = session.ask, max(MIN_ROOM, session.terminal.height - 1)
    if ask is None or len(rows) <= room:
        session.say("\n".join(rows))
        return
    for at in range(0, len(rows), room):
        if at and ask(MORE) != "":
            return
        session.say("\n".join(rows[at : at + room]))


def _named(word: str) -> ConsoleCommand:
    exact, near = by_name(word), by_prefix(word)
    if exact is None and len(near) != 1:
        if near:
            raise CommandError(f"'{word}' is ambiguous: {_names(near)}")
        hint = did_you_mean(word, (name for entry in COMMANDS for name in entry.names))
        raise CommandError(f"there is no command '{word[:40]}'{hint}")
    return exact or near[0]


def _describe(entry: ConsoleCommand, width: int) -> str:
    text = f"{entry.sentence} {entry.details}".rstrip()
    lines = [entry.usage, textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")]
    if entry.ends_game:
        lines.append("  Type it in full; it has no short form.")
    if entry.aliases:
        lines.append(f"  Also: {', '.join(entry.aliases)}")
    return "\n".join(lines)


def _names(commands: list[ConsoleCommand]) -> str:
    return ", ".join(entry.name for entry in commands)


@command("uci", Section.LEAVE, ends_game=True)
def uci(session: Session, arguments: str) -> int:
    """Switch to the UCI protocol.

    The game ends here, as with `quit`, which then leaves Merino.
    """
    no_argument(arguments)
    if session.is_live:
        session.say("Merino speaks UCI now; quit leaves.")
    session.goes_on_in_uci = True
    return 0


@command("quit", Section.LEAVE, aliases=("exit",), ends_game=True)
def leave(session: Session, arguments: str) -> int:
    """Leave Merino.

    An unfinished game is kept: `resume` goes on with it in the next session.
    """
    return 0
