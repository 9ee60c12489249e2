"""Console commands for the engine itself, for help, and for leaving."""

from __future__ import annotations

import textwrap
from pathlib import Path

from engine.command import CommandError, UsageError
from engine.console.arguments import no_argument, whole_number
from engine.console.registry import COMMANDS, Command, Section, by_name, by_prefix, command
from engine.console.session import Session
from engine.options import OPTIONS
from eval.weights import DEFAULT_FILE, WeightsError, as_mapping, save

MOVES_HELP = """\

Moves are typed as e4, Nf3, exd5, Nbd2, O-O, e8=Q, or by squares: e2e4, e7e8q.
The engine answers each move; Ctrl-C while it thinks makes it move at once.
Scores are from White's side. Commands may be shortened as long as they stay
clear, and help COMMAND says more about one. Ctrl-D leaves."""


@command("weights", Section.ENGINE, "[load|save FILE]")
def weights(session: Session, arguments: str) -> None:
    """Show the weights in use; load or save a file.

    `weights reset` goes back to those shipped with Merino.
    """
    action, _, name = arguments.partition(" ")
    name = name.strip().strip("\"'")
    if not arguments:
        _show_weights(session)
    elif action == "reset" and not name:
        _use_weights(session, str(DEFAULT_FILE))
    elif action == "load" and name:
        _use_weights(session, name)
    elif action == "save" and name:
        _save_weights(session, name)
    else:
        raise UsageError("load FILE, save FILE or reset is expected")


def _show_weights(session: Session) -> None:
    session.say(f"Weights: {session.runtime.weights_file}")
    named = [f"{name} {value:g}" for name, value in as_mapping(session.runtime.weights).items()]
    for start in range(0, len(named), 3):
        session.say("  " + "".join(f"{entry:<26}" for entry in named[start : start + 3]).rstrip())


def _use_weights(session: Session, name: str) -> None:
    try:
        session.say(f"Weights: {session.runtime.use_weights(name)}")
    except WeightsError as error:
        raise CommandError(f"{error}; the weights stay as they were") from error


def _save_weights(session: Session, name: str) -> None:
    path = Path(name).expanduser().absolute()
    runtime = session.runtime
    try:
        save(path, runtime.weights, [f"Saved by Merino's console; loaded from {runtime.weights_file}"])
    except OSError as error:
        raise CommandError(f"cannot write '{path}': {error.strerror or error}") from error
    session.say(f"Weights saved in {path}")


@command("hash", Section.ENGINE, "MEGABYTES")
def hash_size(session: Session, arguments: str) -> None:
    """Set the size of the table of positions."""
    size = whole_number(arguments, "the size in megabytes", *_bounds("hash"))
    try:
        session.runtime.set_hash(size)
    except MemoryError as error:
        raise CommandError(f"{error or 'there is not enough memory'}; the table stays as it was") from error
    session.say(f"The table of positions has {size} MB.")


@command("threads", Section.ENGINE, "N")
def threads(session: Session, arguments: str) -> None:
    """Search with so many threads."""
    count = whole_number(arguments, "the number of threads", *_bounds("threads"))
    session.runtime.searcher.set_threads(count)
    session.say(f"The engine searches with {count} thread{'s' if count > 1 else ''}.")


def _bounds(option: str) -> tuple[int, int]:
    """What the UCI option of this name allows."""
    return OPTIONS[option].bounds or (1, 1)


@command("learn", Section.ENGINE, "FILE.pgn")
def learn(session: Session, arguments: str) -> None:
    """Fit the weights to games: in the next version."""
    session.say("Learning from games is coming in the next version. Until then: weights load FILE.")


@command("help", Section.LEAVE, "[COMMAND]", aliases=("h",))
def show_help(session: Session, arguments: str) -> None:
    """List the commands, or explain one."""
    if arguments:
        session.say(_describe(_named(arguments)))
        return
    for section in Section:
        session.say(f"{section.value}:")
        for entry in COMMANDS:
            if entry.section is section:
                session.say(f"  {entry.usage:<26} {entry.sentence}")
    session.say(MOVES_HELP)


def _named(word: str) -> Command:
    exact, near = by_name(word), by_prefix(word)
    if exact is None and len(near) != 1:
        raise CommandError(
            f"no command is called '{word[:40]}'" if not near else f"'{word}' may be any of {_names(near)}"
        )
    return exact or near[0]


def _describe(entry: Command) -> str:
    text = f"{entry.sentence} {entry.details}".rstrip()
    lines = [entry.usage, textwrap.fill(text, 80, initial_indent="  ", subsequent_indent="  ")]
    if entry.aliases:
        lines.append(f"  Also: {', '.join(entry.aliases)}")
    return "\n".join(lines)


def _names(commands: list[Command]) -> str:
    return ", ".join(entry.name for entry in commands)


@command("uci", Section.LEAVE)
def uci(session: Session, arguments: str) -> int:
    """Switch to the UCI protocol.

    The game is left behind; `quit` then leaves Merino.
    """
    no_argument(arguments)
    session.goes_on_in_uci = True
    return 0


@command("quit", Section.LEAVE, aliases=("exit",))
def leave(session: Session, arguments: str) -> int:
    """Leave Merino."""
    return 0
