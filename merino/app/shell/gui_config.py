"""`merino gui-config GUI`: the configuration block of Merino for a GUI or a bot, ready to be copied."""

import json
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from merino.app.console import shared
from merino.core.common.about import NAME
from merino.core.common.command import CommandError
from merino.engine.search.strength import FULL_LEVEL
from merino.engine.uci.options import OPTIONS, Value

NETWORK_OVERHEAD_MS = 200  # on a server a move travels
GNOME_LEVELS = {"easy": 2, "normal": 8, "hard": FULL_LEVEL}  # difficulty in GNOME Chess, and the Skill Level for it
PONDER = OPTIONS["ponder"]
CHANGED = [OPTIONS[name] for name in ("hash", "threads", "move overhead")]  # what people change
VALUES: dict[str, Value] = {option.name: option.default for option in CHANGED}


def print_config(arguments: list[str]) -> int:
    """Print the block for one GUI."""
    parser = shared.Parser(
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
        raise CommandError("a GUI needs the command 'merino': run 'pip install .' in the checkout")
    return Path(found).absolute()


def cutechess(command: Path) -> str:
    """An entry of the list in Cute Chess's engines.json."""
    engine = {
        "command": str(command),
        "name": NAME,
        "options": [{"name": name, "value": value} for name, value in VALUES.items()],
        "ponder": False,
        "protocol": "uci",
        "workingDirectory": str(command.parent),
    }
    return json.dumps([engine], indent=4)


def lichess_bot(command: Path) -> str:
    """The section `engine` of lichess-bot's config.yml, which sets Ponder itself."""
    lines = [
        "engine:",
        f"  dir: {json.dumps(str(command.parent))}",
        f"  name: {json.dumps(command.name)}",
        '  protocol: "uci"',
        f"  ponder: {_text(PONDER.default)}",
        "  uci_options:",
    ]
    values = {**VALUES, "Move Overhead": NETWORK_OVERHEAD_MS}
    return "\n".join([*lines, *(f"    {name}: {_text(value)}" for name, value in values.items())])


def gnome_chess(command: Path) -> str:
    """A group of GNOME Chess's engines.conf: it cuts an option into name and value at the last blank."""
    lines = [f"[{NAME}]", "protocol=uci", f"binary={command}"]
    for difficulty, level in GNOME_LEVELS.items():
        rows = enumerate({**VALUES, "Skill Level": level}.items())
        lines += [f"option-{difficulty}-{number}={name} {_text(value)}" for number, (name, value) in rows]
    return "\n".join(lines)


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


WRITERS: dict[str, Callable[[Path], str]] = {
    "cutechess": cutechess,
    "lichess-bot": lichess_bot,
    "gnome-chess": gnome_chess,
}
