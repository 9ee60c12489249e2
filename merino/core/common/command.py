"""Commands: a row in their table, with name, function and purpose, and their errors. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from merino.core.common.errors import MerinoError


class CommandError(MerinoError):
    """A command could not do its work, for a reason outside the program; the message says why."""

    exit_code = 1


class UsageError(CommandError):
    """A command line that cannot be understood; the message says why."""

    exit_code = 2


@contextmanager
def errors_named(command: str, *kinds: type[MerinoError]) -> Iterator[None]:
    """Make errors of these kinds a CommandError that begins with the name of the command."""
    try:
        yield
    except kinds as error:
        raise CommandError(f"{command}: {error}") from error


def loaded(target: str) -> Any:
    """What `module:name` names; the module is imported now."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


class Command(NamedTuple):
    """One command. `target` is `module:function`; the module is imported when the command is first run."""

    usage: str
    target: str
    sentence: str
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its first word."""
        return self.usage.split(maxsplit=1)[0]

    def load(self) -> Callable[..., Any]:
        """The function that runs it."""
        function: Callable[..., Any] = loaded(self.target)
        return function


def by_name(commands: Sequence[Command]) -> dict[str, Command]:
    """The commands by name and alias."""
    return {name: command for command in commands for name in (command.name, *command.aliases)}
