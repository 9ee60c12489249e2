"""What `learn` can read: PGN files, plain or compressed, one or many."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from learn.games import Fault, read_games
from learn.positions import Rows, Selection, rows_of_games

_OPENERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


class LearnError(Exception):
    """Something `learn` cannot work with; the message says what and where."""


def find_files(patterns: Sequence[str]) -> list[Path]:
    """The files that names and patterns mean, each once; raises LearnError where one means none."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern).expanduser()
        matches = [path] if path.exists() else sorted(path.parent.glob(path.name))
        if not matches and path.suffix == "":
            matches = [path.with_suffix(".pgn")] if path.with_suffix(".pgn").exists() else []
        if not matches:
            raise LearnError(f"there is no file '{pattern}'")
        found.update(dict.fromkeys(matches))
    return list(found)


def read_text(path: Path) -> bytes:
    """The bytes of a file, decompressed by its ending; raises LearnError."""
    try:
        text = path.read_bytes()
        opener = _OPENERS.get(path.suffix.lower())
        return opener(text) if opener else text
    except IsADirectoryError as error:
        raise LearnError(f"'{path}' is a folder, not a file of games") from error
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LearnError(f"cannot read '{path}': {reason}") from error


def read_rows(
    paths: Sequence[Path], selection: Selection, tell: Callable[[str], object], faults: list[tuple[Path, Fault]]
) -> tuple[Rows, int]:
    """The rows of all files and how many games gave them; unreadable games go to `faults`. Raises LearnError."""
    parts: list[Rows] = []
    games = offset = 0
    for path in paths:
        read = read_games(read_text(path))
        rows = rows_of_games(read, selection)
        faults.extend((path, fault) for fault in read.faults())
        tell(f"{path.name}: {len(read)} games, {len(rows)} positions")
        games += int(np.count_nonzero((read.table["plies"] > 0) & (read.table["fault"] == 0)))
        parts.append(Rows(rows.features, rows.game + np.int32(offset), rows.to_end, rows.results))
        offset += len(read)
    if not games or not sum(len(part) for part in parts):
        raise LearnError(f"no finished game with a usable position in {', '.join(repr(str(path)) for path in paths)}")
    joined = (np.concatenate([getattr(part, name) for part in parts]) for name in Rows.__annotations__)
    return Rows(*joined), games
