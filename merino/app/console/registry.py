"""The table of console commands, filled by `@command`, with look-up and completion by Tab; help is derived from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from merino.app.console.session import Session
from merino.core.common.user_files import is_folder, names_in, user_path
from merino.engine.notation.san import san_moves
from merino.engine.uci import files
from merino.engine.uci.options import OPTIONS, UciOption
from merino.eval.families import own_names
from merino.eval.linear.weights import ENDINGS

OF_THE_PROTOCOL = ("ponder", "uci_analysemode", "uci_engineabout")  # options that are useful only for a GUI
OF_BOOKS_AND_TABLES = ("ownbook", "bookfile", "syzygypath", "syzygyprobedepth")  # which the console does not ask

Action = Callable[[Session, str], int | None]


class Section(Enum):
    """A heading of `help`."""

    PLAY = "Playing"
    LIMITS = "Thinking time"
    POSITION = "Position"
    EXPLAIN = "Analysis and explanations"
    FILES = "Files"
    ENGINE = "Engine"
    LEAVE = "Help and exit"


@dataclass(frozen=True)
class ConsoleCommand:
    """One command. `run` takes the session and the rest of the line; an exit code ends the console, None continues."""

    name: str
    section: Section
    arguments: str
    aliases: tuple[str, ...]
    sentence: str  # the first sentence of the docstring
    details: str  # what follows it
    run: Action
    ends_game: bool  # it ends or leaves the current game, so it must be typed in full

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    @property
    def usage(self) -> str:
        """Name and arguments: "undo [N]"."""
        return f"{self.name} {self.arguments}".rstrip()


COMMANDS: list[ConsoleCommand] = []


def command(
    name: str, section: Section, arguments: str = "", aliases: tuple[str, ...] = (), ends_game: bool = False
) -> Callable[[Action], Action]:
    """Register the decorated function as a command. Its docstring is what `help` shows."""

    def register(run: Action) -> Action:
        sentence, _, details = (run.__doc__ or "").partition("\n")
        details = " ".join(details.split())
        COMMANDS.append(ConsoleCommand(name, section, arguments, aliases, sentence, details, run, ends_game))
        return run

    return register


def by_name(word: str) -> ConsoleCommand | None:
    """The command with exactly this name or alias, in any case."""
    return next((entry for entry in COMMANDS if word.lower() in entry.names), None)


def by_prefix(word: str) -> list[ConsoleCommand]:
    """The commands whose name begins with `word`; if there is none, those with such an alias."""
    named = [entry for entry in COMMANDS if entry.name.startswith(word.lower())]
    return named or [entry for entry in COMMANDS if any(alias.startswith(word.lower()) for alias in entry.aliases)]


def completions(session: Session, line: str, word: str) -> list[str]:
    """Completions of `word`, the last of `line`: commands and moves, and after a command what its usage names."""
    first, *_ = [*line.split(), ""]
    if line[: len(line) - len(word)].strip() == "":
        offered: Iterable[str] = [*(command.name for command in COMMANDS), *_moves(session, "", word)]
        return sorted(f"{name} " for name in offered if name.startswith(word))
    command = by_name(first)
    wanted = re.findall(r"[A-Z]+", command.arguments) if command else []
    before = line.lstrip()[len(first) : len(line.lstrip()) - len(word)].strip()
    return sorted({name for kind in wanted if kind in _OFFERS for name in _OFFERS[kind](session, before, word)})


def engine_options() -> list[UciOption]:
    """The options of the engine that the console has."""
    others = OF_THE_PROTOCOL + OF_BOOKS_AND_TABLES
    return [option for name, option in OPTIONS.items() if name not in others and not option.is_about_dialogue]


# Each offers completions of a word; it gets the session, and the words between the command and that word.


def _moves(session: Session, _: str, word: str) -> list[str]:
    return [name for name in san_moves(session.position, session.position.legal_moves) if name.startswith(word)]


def _commands(session: Session, _: str, word: str) -> list[str]:
    return [command.name for command in COMMANDS if command.name.startswith(word)]


def _options(session: Session, before: str, word: str) -> list[str]:
    typed = " ".join([*before.split(), word])
    names = (option.name for option in engine_options())
    return [name[len(typed) - len(word) :] for name in names if name.lower().startswith(typed.lower())]


def _files(session: Session, _: str, word: str) -> list[str]:
    head, slash, name = word.rpartition("/")
    try:
        folder = user_path(f"{head}{slash}")
    except OSError:
        return []
    found = [folder / beside for beside in names_in(folder) if beside.startswith(name)]
    return [f"{head}{slash}{entry.name}{'/' if is_folder(entry) else ''}" for entry in found]


def _values(session: Session, before: str, word: str) -> list[str]:
    """What the option named before can be: on or off, files, and the evaluations that come with Merino."""
    name = " ".join(before.split()).lower()
    option = next((option for option in engine_options() if option.name.lower() == name), None)
    if option is None:
        return []
    offered = ["on", "off"] if option.kind == "check" else []
    if option.prepares is not None:  # an evaluation
        offered = own_names(".net") if option.opens is files.net else own_names(*ENDINGS)
    beside = [] if option.opens is None else _files(session, before, word)
    return [value for value in offered if value.startswith(word)] + beside


_OFFERS: dict[str, Callable[[Session, str, str], list[str]]] = {
    "MOVE": _moves,
    "COMMAND": _commands,
    "FILE": _files,
    "OPTION": _options,
    "VALUE": _values,
}
