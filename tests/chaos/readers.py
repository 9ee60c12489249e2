"""Whether a file is valid, by the reader of its format, and what of it must be the same after the same command.

A row for each format: times and dates are left out of the comparison, everything else is compared byte for byte.
"""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from xml.etree import ElementTree

import chess.pgn
import numpy as np

from merino.core.common import errors, files
from merino.eval.linear.weights import load
from merino.eval.net.file import load_net
from merino.formats import packed, scored_games
from merino.lab.nets.position_blocks import open_blocks
from merino.lab.tune.tuning import load_tune

# The time that something took, how long a PGN was when it was last looked at, and a checksum that includes them.
_LEFT_OUT = {"seconds", "reading_seconds", "at", "checksum", "play_seconds", "train_seconds", "nodes_a_second"}
_LEFT_OUT |= {"due", "last_review"}  # of an exercise that was practised


class Format(NamedTuple):
    """The files whose name is like `pattern`: how one is read, and what of its bytes is compared; None for nothing.

    `read` raises an exception for a file that is not valid. `grows`: content is only ever added at the end.
    `is_of_a_place`: its name says where it lies, so there is none of the same name elsewhere.
    """

    pattern: str
    read: Callable[[Path], object]
    compared: Callable[[bytes], object] | None = bytes
    grows: bool = False
    is_of_a_place: bool = False


def _games(path: Path) -> None:
    """All games of a PGN, each with its result; the last one may be cut short where its writer was killed."""
    text = io.StringIO(path.read_text(encoding="utf-8"))
    while (game := chess.pgn.read_game(text)) is not None:
        if game.errors:
            raise ValueError(f"a game is damaged: {game.errors[0]}")


def _positions(path: Path) -> None:
    """Packed positions; the last one may be cut short where its writer was killed."""
    size = path.stat().st_size // 32 * 32
    with TemporaryDirectory() as folder:  # elsewhere: the disk may be full
        whole = Path(folder) / path.name
        whole.write_bytes(path.read_bytes()[:size])
        if size:
            with open_blocks(whole) as records:
                packed.unpack(records.read(0, len(records)))


def _scored_games(path: Path) -> None:
    """Games in viriformat; the last one may be cut short where its writer was killed."""
    scored_games.games_in(path.read_bytes())


def _numbers(path: Path) -> None:
    with np.load(path, allow_pickle=False) as file:
        for name in file.files:
            file[name]


def _text(path: Path) -> None:
    path.read_text(encoding="utf-8")


def _lines_of_numbers(path: Path) -> None:
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    if len({len(row) for row in rows}) > 1:
        raise ValueError("its rows differ in length")


def _json(path: Path) -> None:
    json.loads(path.read_bytes())


def _svg(path: Path) -> None:
    ElementTree.fromstring(path.read_bytes())


def _png(path: Path) -> None:
    content = path.read_bytes()
    if not content.startswith(b"\x89PNG") or not content.endswith(b"IEND\xaeB`\x82"):
        raise ValueError("it is not a whole PNG")


def _code(path: Path) -> None:
    from merino.core.compiled.code_files import read_code  # noqa: PLC0415

    if read_code(path) is None:
        raise ValueError("its checksum is wrong")


def _without_times(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _without_times(value) for name, value in found.items() if name not in _LEFT_OUT}
    return [_without_times(value) for value in found] if isinstance(found, list) else found


def _settled_state(content: bytes) -> object:
    return _without_times(json.loads(content))


def _without(pattern: bytes, by: bytes = b"") -> Callable[[bytes], bytes]:
    return lambda content: re.sub(pattern, by, content)


# Of a picture the curves are compared: what matplotlib names at random or dates is left out.
_drawing = _without(rb'id="[^"]*"|#[a-z0-9]+|<dc:date>[^<]*</dc:date>')
_weights = _without(rb" on \d+-\d+-\d+ \d+:\d+")
FORMATS = (
    Format("*.net.state", _numbers),
    Format("*.npz", load_tune),
    Format("*.state", _json, _settled_state),
    Format("*.pgn.partial", _text, None),
    Format("*.pgn", _games, _without(rb'\[Date "[^"]*"\]\n'), grows=True),
    Format("*.bin", _positions, grows=True),
    Format("*.vf", _scored_games, grows=True),
    Format("*.net", load_net, _without(rb'"seconds": [0-9.]+')),
    Format("*.fen", _text),
    Format("*.scores", Path.read_bytes, len),  # its parts come in the order in which they were searched
    Format("*.csv", _lines_of_numbers, _without(rb"(?m)^(\d+),[0-9.]+,", rb"\1,,")),
    Format("*.old", load, _weights),
    Format("*.log", _text, None, grows=True),
    Format("*log.txt", _text, None, grows=True),
    Format("*m.txt", _text),
    Format("*.txt", load, _weights),
    Format("*.json", _json, _settled_state),
    Format("*.svg", _svg, _drawing),
    Format("*.png", _png),
    Format("*.code", _code, None),
    Format("*.inventory", _json, is_of_a_place=True),
    Format("*lock", Path.read_bytes),
    Format("*.toml", _text),
    Format("*.epd", _text),
)


def format_of(path: Path) -> Format:
    """The row of a file; raises LookupError where no row describes it."""
    found = next((row for row in FORMATS if fnmatch(path.name, row.pattern)), None)
    if found is None:
        raise LookupError(f"nobody knows what '{path.name}' is")
    return found


def fault_of(path: Path) -> str:
    """What is wrong with a file; empty if it is valid."""
    try:
        format_of(path).read(path)
    except (errors.MerinoError, packed.PackedError, OSError, ValueError, LookupError, EOFError) as error:
        return f"'{path.name}' is damaged: {error}"
    except (zipfile.BadZipFile, ElementTree.ParseError) as error:
        return f"'{path.name}' is no archive or picture: {error}"
    return ""


def files_in(folder: Path) -> dict[str, Path]:
    """The files below a folder by their names from there, without what the next writer removes."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_left(path))
    return {path.relative_to(folder).as_posix(): path for path in found}


def _is_left(path: Path) -> bool:
    """Whether a killed writer has left this file, and the next one will remove it."""
    return files.is_draft(path) or path.suffix == ".lock"


def outcome_of(folder: Path) -> dict[str, object]:
    """What is compared of each file below a folder, by its name."""
    found: dict[str, object] = {}
    for name, path in files_in(folder).items():
        row = format_of(path)
        if not row.is_of_a_place:
            content = path.read_bytes().replace(bytes(folder), b"")  # full paths, which a file may hold
            found[name] = None if row.compared is None else row.compared(content)
    return found
