"""The table of console commands, filled by `@command`; help, completion and look-up are derived from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from merino.inner.app.console.session import Session

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
