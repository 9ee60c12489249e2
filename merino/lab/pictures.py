"""The pictures that commands of the lab draw with --plot."""

import sys
from pathlib import Path

from merino.app.console import shared
from merino.core.common import errors, text
from merino.core.common.command import CommandError, UsageError


def add_plot(parser: shared.Parser, what: str) -> None:
    """--plot."""
    sentence = f"draw {what}: .png or .svg (needs the extra 'plots')"
    parser.group(shared.OUTPUT).add_argument("--plot", type=shared.file_path, metavar="FILE", help=sentence)


def check_picture(path: Path | None) -> None:
    """Raise UsageError or CommandError if a picture cannot be drawn or written; None is no picture."""
    if path is None:
        return
    if ending_of(path) not in text.ENDINGS:
        raise UsageError(f"--plot writes {' or '.join(text.ENDINGS)}, not '{path}'")
    with errors.turning(text.PictureError, CommandError, "nothing is done: ", ", or leave out --plot"):
        text.load_matplotlib()
    shared.check_output(path)


def write_picture(path: Path, content: bytes) -> None:
    """Write a picture, and say where it is; raises CommandError."""
    shared.write_output(path, content)
    print(f"The picture is in '{path}'", file=sys.stderr)


def ending_of(path: Path) -> str:
    """The ending that says in which format a picture is written."""
    return path.suffix.lower()
