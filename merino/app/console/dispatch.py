"""Carries out a typed line: a command, a move, or an unambiguous beginning of a command; and the command `help`."""

from __future__ import annotations

import textwrap

# These fill the registry.
import merino.app.console.commands_engine
import merino.app.console.commands_explain
import merino.app.console.commands_play
import merino.app.console.commands_position  # noqa: F401
from merino.app.console.arguments import no_argument
from merino.app.console.registry import COMMANDS, ConsoleCommand, Section, by_name, by_prefix, command
from merino.app.console.session import Session
from merino.core.common.command import CommandError, UsageError
from merino.core.common.errors import MerinoError, abridged
from merino.core.common.text import did_you_mean, nearest
from merino.engine.notation.positions import looks_like_fen
from merino.engine.notation.san import (
    MoveRejected,
    descriptive_hint,
    looks_like_move,
    move_list,
    san_moves,
    without_move_number,
)

MAX_SHOWN = 40  # characters of a word that is not understood
TEXT_COLUMN = 27
MIN_ROOM = 5  # lines of a window
MORE = "-- Enter shows more, q ends -- "
MOVES_HELP = """Type moves as e4, Nf3, exd5, Nbd2, O-O, e8=Q, or by squares: e2e4, e7e8q. A list such as 1. e4 e5 plays
the moves of both sides. The engine answers each move; press Enter or Ctrl-C while it thinks to make it move at once.
Scores are from White's point of view. You may shorten a command as long as it stays unambiguous, unless it ends the
game. 'help COMMAND' explains one command. Ctrl-D leaves Merino."""


def dispatch(session: Session, line: str) -> int | None:
    """Carry out a line; returns an exit code to end the console. No input raises an exception.

    An exact command comes first, then a legal move, then the only command that begins with the word: a shortened
    command never hides a move.
    """
    text = without_move_number(line.strip())
    if not text or text.startswith("#"):
        return None
    word, *rest = text.split(maxsplit=1)
    arguments = rest[0] if rest else ""
    try:
        named = by_name(word)
        if named is None and _played(session, line.strip()):
            return None
        return _run(session, named or _abbreviated(session, word), arguments)
    except MerinoError as error:
        session.tell(_sentence(str(error)))
    return None


def _played(session: Session, line: str) -> bool:
    """Play a line if it is a move, or the moves of both sides that it lists; raises MoveRejected or CommandError.

    It raises them if it looks like moves that are not legal, or that do not come next.
    """
    try:
        session.play_text(without_move_number(line))
    except MoveRejected as rejection:
        if rejection.refusal is not None:
            raise
        moves = _listed_moves(session, line)
        if moves:
            session.play_texts(moves)
        return bool(moves)
    return True


def _listed_moves(session: Session, line: str) -> list[str]:
    """The moves of a list such as "1. e4 e5 2. Nf3", none for anything else; raises CommandError for a later one."""
    listed, due = move_list(line), session.position.fullmove_number
    if not listed.moves or not all(map(looks_like_move, listed.moves)):
        return []
    if listed.number not in (None, due):
        raise CommandError(f"move {due} comes next, not {listed.number}; 'new' begins another game")
    return listed.moves


def _run(session: Session, entry: ConsoleCommand, arguments: str) -> int | None:
    try:
        return entry.run(session, arguments)
    except UsageError as error:
        raise CommandError(f"{error}. Usage: {entry.usage}") from error
    except SystemExit:  # the way of argparse after its help
        return None


def _abbreviated(session: Session, word: str) -> ConsoleCommand:
    """The only command that begins with `word`; raises CommandError with possible meanings.

    Commands that end the game are excluded: the word may be the beginning of a move, as N is of Nf3.
    """
    found = by_prefix(word)
    if len(found) == 1 and found[0].ends_game:
        name = next(name for name in found[0].names if name.startswith(word.lower()))
        moves = _moves_that_begin(session, word)
        hint = f". Moves with this beginning: {', '.join(moves)}" if moves else ""
        raise CommandError(f"'{word}' is too short for {name}, which ends the game: type it in full{hint}")
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(f"'{word}' is ambiguous: {_names(found)}")
    raise CommandError(_explain_unknown(session, word))


def _moves_that_begin(session: Session, word: str) -> list[str]:
    """The legal moves in short notation that begin with `word`; the letter of a piece may be small."""
    moves = san_moves(session.position, session.position.legal_moves)
    return sorted(move for move in moves if move.startswith((word, word[:1].upper() + word[1:])))


def _explain_unknown(session: Session, word: str) -> str:
    shown = abridged(word, MAX_SHOWN)
    descriptive = descriptive_hint(session.position, word)
    if descriptive:
        return f"{word}: {descriptive}"
    if looks_like_fen(word):
        return "this looks like a FEN; type setboard before it"
    if looks_like_move(word):
        return f"{word} is a move, but what follows is none; type moves alone, as in e4 or 1. e4 e5"
    names = [name for entry in COMMANDS for name in entry.names]
    moves = san_moves(session.position, session.position.legal_moves)
    near = nearest(word, [*names, *moves], count=3, likeness=0.55)
    if near:
        return f"'{shown}' is neither a command nor a move; did you mean {' or '.join(near)}?"
    return f"'{shown}' is neither a command nor a move; help lists the commands, moves the legal moves"


def _sentence(text: str) -> str:
    """The message with a full stop and, unless it begins with a move or a quotation, a capital letter."""
    first = text.partition(" ")[0]
    capital = text[:1].upper() + text[1:] if first.isalpha() else text
    return capital if capital.endswith((".", "?", "!")) else f"{capital}."


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
    return ", ".join(sorted(entry.name for entry in commands))


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
