"""Commands: a row in their table, with name, function and purpose, and their errors; and the table of the lab.

All that the rest of Merino knows of `merino.lab` is here: names, which are imported when they are asked for. Imports
nothing heavy.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from merino.core.common.errors import MerinoError


class CommandError(MerinoError):
    """A command could not do its work, for a reason outside the program; the message says why."""


class UsageError(CommandError):
    """A command line that cannot be understood; the message says why."""

    exit_code = 2


@contextmanager
def errors_named(command: str) -> Iterator[None]:
    """Let errors begin with the name of the command."""
    try:
        yield
    except MerinoError as error:
        if not str(error).startswith((f"{command}:", f"{command} ")):
            error.args = (f"{command}: {error}",)
        raise


@contextmanager
def loading() -> Iterator[None]:
    """Let what cannot be imported, as where memory is short, be a CommandError in one line."""
    try:
        yield
    except (ImportError, OSError, MemoryError) as error:
        cause = error.__cause__ or error  # numpy has the reason there, and a page of advice here
        line = f"{type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}"
        raise CommandError(f"Merino cannot be loaded, perhaps because memory is short: {line}") from error


def loaded(target: str) -> Any:
    """What `module:name` names; the module is imported now. Raises CommandError."""
    module, _, name = target.partition(":")
    with loading():
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
        return loaded(self.target)


def by_name(commands: Sequence[Command]) -> dict[str, Command]:
    """The commands by name and alias."""
    return {name: command for command in commands for name in (command.name, *command.aliases)}


# The commands of the lab, as `merino help` lists them.
# fmt: off
LAB = (
    Command("article [OPTIONS]", "merino.lab.article:run_article",
            "Learn the versions of the article on GreKo 2015 ML, and play each against their start."),
    Command("points FILE ...", "merino.lab.points.command:run_points",
            "Estimate the values of the pieces from the games of PGN files.", ("piece-values",)),
    Command("profile GAMES.pgn --player NAME", "merino.lab.people.profile_command:run_profile",
            "Say what a player's moves lose, when, and by which mistakes."),
    Command("drill GAMES.pgn --player NAME", "merino.lab.people.drill_command:run_drill",
            "Practise from a player's own mistakes."),
    Command("cluster [ADDRESS]", "merino.lab.cluster.command:run_cluster",
            "Explain how to use many machines; check and measure theirs."),
    Command("spsa COMMAND ...", "merino.lab.tune.command:run_spsa",
            "Tune parameters by games, scan one, simulate or plan a tune."),
    Command("net FILE", "merino.lab.nets.net_command:run_net",
            "Show the shape and training of a net, and its piece values."),
    Command("train FILE ...", "merino.lab.nets.train_command:run_train", "Train a net from scored positions."),
    Command("night --hours H", "merino.lab.nets.night_command:run_night",
            "Make stronger and stronger nets: play, train and prove by a match."),
    Command("features EXPR [FEN]", "merino.lab.nets.features_command:run_features",
            "Show a feature set of nets, and its features in a position."),
    Command("account NET", "merino.lab.nets.net_command:run_account",
            "Explain a net by the terms: the weights nearest to it."),
    Command("plot [RECORD]", "merino.lab.plots:run_plot",
            "Draw how 'learn', 'improve', 'train' or 'night' went."),
)
# fmt: on

# What answers the explorer's panels of the lab: requests by method and address, and work that a WebSocket follows.
LAB_ROUTES = (
    ("POST", "/api/drill/answer", "merino.lab.people.panel:answer_exercise"),
    ("POST", "/api/drill/review", "merino.lab.people.panel:review_exercise"),
    ("GET", "/api/night", "merino.lab.nets.night_panel:night"),
    ("POST", "/api/night/start", "merino.lab.nets.night_panel:start_night"),
    ("POST", "/api/night/stop", "merino.lab.nets.night_panel:stop_night"),
)
LAB_SOCKETS = (
    ("/ws/points", "merino.lab.points.panel:points"),
    ("/ws/profile", "merino.lab.people.panel:profile"),
    ("/ws/drill", "merino.lab.people.panel:practise"),
)

# What plays games on other machines, and the kind of its addresses.
LAB_EXECUTOR = "merino.lab.cluster.connection:session"
LAB_ADDRESS = "merino.lab.cluster.connection:ClusterAddress"
