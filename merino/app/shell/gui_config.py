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
STRONGER = "Stronger than the 27 terms: the option EvalFile with the net gen13, or WeightsFile with the set full."


def print_config(arguments: list[str]) -> int:
    """Print the block for one GUI."""
    parser = shared.Parser(
        prog="merino gui-config",
        description="Print the configuration block that a GUI or a bot needs to run Merino.",
        examples=("merino gui-config cutechess",),
    )
    parser.add_argument("gui", metavar="GUI", type=str.lower, choices=WRITERS, help=f"one of {', '.join(WRITERS)}")
    text = WRITERS[parser.parse_args(arguments).gui](entry_point())
    if text.startswith("[{"):  # JSON has no comments
        print(STRONGER, file=sys.stderr)
    else:
        print(f"# {STRONGER}")
    print(text)
    return 0


def entry_point() -> Path:
    """The absolute path of the command `merino`, the one that runs now if it is known; raises CommandError."""
    running = shutil.which(sys.argv[0]) if Path(sys.argv[0]).stem == "merino" else None
    found = running or shutil.which("merino", path=sysconfig.get_path("scripts")) or shutil.which("merino")
    if found is None:
        raise CommandError("a GUI needs the command 'merino': run 'pip install .' in the checkout")
    return Path(found).absolute()


def _entry(command: Path, **more: object) -> str:
    """A list of one engine as JSON, as Cute Chess and PyChess have them."""
    where = {"command": str(command), "workingDirectory": str(command.parent)}
    return f"[{json.dumps({'name': NAME, 'protocol': 'uci', **where, **more}, indent=4)}]"


def cutechess(command: Path) -> str:
    """An entry of the list in Cute Chess's engines.json."""
    return _entry(command, options=[{"name": name, "value": value} for name, value in VALUES.items()], ponder=False)


def pychess(command: Path) -> str:
    """An entry of the list in PyChess's engines.json; it asks the engine for the options itself."""
    return _entry(command, country="unknown", comment=STRONGER, level=FULL_LEVEL, recheck=True)


def scid(command: Path) -> str:
    """An entry of Scid's engines.dat, in Tcl."""
    options = " ".join(f"{{{{{name}}} {_text(value)}}}" for name, value in VALUES.items())
    values = {"Name": NAME, "Cmd": f"{{{command}}}", "Args": "{}", "Dir": f"{{{command.parent}}}", "Elo": "{}"}
    values |= {"Time": "0", "URL": "{}", "UCI": "1", "UCIoptions": f"{{{options}}}"}
    return "\n".join(["engine {", *(f"  {key} {value}" for key, value in values.items()), "}"])


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
    "pychess": pychess,
    "scid": scid,
    "lichess-bot": lichess_bot,
    "gnome-chess": gnome_chess,
}
