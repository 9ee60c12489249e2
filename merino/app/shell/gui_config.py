"""`merino gui-config GUI`: the configuration block of Merino for a GUI or a bot, ready to be copied."""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from merino.app.console.command_line import Parser
from merino.core.common.about import NAME
from merino.core.common.command import CommandError
from merino.engine.search.strength import FULL_LEVEL
from merino.engine.uci.options import OPTIONS

SHOWN = ("Hash", "Threads", "Move Overhead", "Ponder")  # the options people change
NETWORK_OVERHEAD_MS = 200  # on a server a move travels
GNOME_LEVELS = {"easy": 2, "normal": 8, "hard": FULL_LEVEL}  # difficulty in GNOME Chess, and the Skill Level for it

Values = dict[str, int | bool | str]


def print_config(arguments: list[str]) -> int:
    """Print the block for one GUI."""
    parser = Parser(
        prog="merino gui-config",
        description="Print the configuration block that a GUI or a bot needs to run Merino.",
        examples=("merino gui-config cutechess",),
    )
    parser.add_argument("gui", metavar="GUI", type=str.lower, choices=WRITERS, help=f"one of {', '.join(WRITERS)}")
    print(WRITERS[parser.parse_args(arguments).gui](entry_point()))
    return 0


def entry_point() -> Path:
    """The absolute path of the command `merino`, the one that runs now if it is known; raises CommandError."""
    running = shutil.which(sys.argv[0]) if Path(sys.argv[0]).stem == "merino" else None
    found = running or shutil.which("merino", path=sysconfig.get_path("scripts")) or shutil.which("merino")
    if found is None:
        raise CommandError(
            "a GUI needs the command 'merino', but it is not installed: run 'pip install .' in the checkout"
        )
    return Path(found).absolute()


def cutechess(command: Path) -> str:
    """An entry of the list in Cute Chess's engines.json."""
    options = [{"name": name, "value": value} for name, value in _values().items() if name != "Ponder"]
    engine = {
        "command": str(command),
        "name": NAME,
        "options": options,
        "ponder": False,
        "protocol": "uci",
        "workingDirectory": str(command.parent),
    }
    return json.dumps([engine], indent=4)


def arena(command: Path) -> str:
    """The fields of Arena's dialogue Engines > Manage."""
    rows = [f"{name} = {_text(value)}" for name, value in _values().items()]
    return "\n".join(
        (
            f"Details > Name: {NAME}",
            f"Details > Command Line: {command}",
            "Details > Command Line Parameters: uci",
            f"Details > Folder: {command.parent}",
            "General > Type: UCI",
            *(f"UCI: {row}" for row in rows),
        )
    )


def lichess_bot(command: Path) -> str:
    """The section `engine` of lichess-bot's config.yml."""
    values = {**_values(), "Move Overhead": NETWORK_OVERHEAD_MS}
    ponder = values.pop("Ponder")  # lichess-bot sets this option itself
    return "\n".join(
        (
            "engine:",
            f"  dir: {json.dumps(str(command.parent))}",
            f"  name: {json.dumps(command.name)}",
            '  protocol: "uci"',
            f"  ponder: {_text(ponder)}",
            "  uci_options:",
            *(f"    {name}: {_text(value)}" for name, value in values.items()),
        )
    )


def banksia(command: Path) -> str:
    """An entry of the list in Banksia's engines.json."""
    options = [_banksia_option(name, value) for name, value in _values().items()]
    return json.dumps(
        [{"app": {"name": NAME, "protocol": "uci", "command": str(command)}, "options": options}], indent=4
    )


def gnome_chess(command: Path) -> str:
    """A group of GNOME Chess's engines.conf: it cuts an option into name and value at the last blank."""
    lines = [f"[{NAME}]", "protocol=uci", f"binary={command}"]
    for difficulty, level in GNOME_LEVELS.items():
        values = {**_values(), "Skill Level": level}
        del values["Ponder"]
        rows = (f"{name} {_text(value)}" for name, value in values.items())
        lines += [f"option-{difficulty}-{number}={row}" for number, row in enumerate(rows)]
    return "\n".join(lines)


def _banksia_option(name: str, value: int | bool | str) -> dict[str, int | bool | str]:
    option = OPTIONS[name.lower()]
    bounds = {} if option.bounds is None else {"min": option.bounds[0], "max": option.bounds[1]}
    return {"name": name, "type": option.kind, "value": value, "default": value, **bounds}


def _values() -> Values:
    """The options people change, with their defaults."""
    options = (OPTIONS[name.lower()] for name in SHOWN)
    return {option.name: option.default for option in options if option.default is not None}


def _text(value: int | bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


WRITERS: dict[str, Callable[[Path], str]] = {
    "cutechess": cutechess,
    "arena": arena,
    "lichess-bot": lichess_bot,
    "banksia": banksia,
    "gnome-chess": gnome_chess,
}
