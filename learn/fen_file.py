"""The `.fen` file that learning leaves beside a PGN file: the chosen positions, each with its result, to use again.

Any program that reads labelled positions can read it, and so can `learn`: a line is `FEN c9 "1-0"; c8 "41"; c7 "17";`
with the plies to the end of the game and the number of the game in its file, and `ce 35;` behind where a score is
known. The first line, a comment, says what file it was made from and how; only from the very same it is used again. The
last line proves that it is whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from formats.labelled import write_labelled
from learn.positions import PositionBlock

_MARK = "# merino-positions 1"
_LONGEST_LAST_LINE = 256


@dataclass(frozen=True)
class Contents:
    """What the last line tells: how many games gave positions, and how many could not be read."""

    games: int
    unreadable: int

    def line(self) -> bytes:
        """The last line of the file."""
        return f"# whole: {self.games} games, {self.unreadable} unreadable\n".encode()


def first_line(digest: str, settings: str) -> bytes:
    """The first line of a file made from a source of this digest with these settings."""
    return f"{_MARK}; source {digest}; {settings}\n".encode()


def is_ours(path: Path) -> bool:
    """Whether a file was written by any Merino as a `.fen` file."""
    with path.open("rb") as file:
        return file.read(len(_MARK)).startswith(_MARK.rstrip("0123456789").encode())


def usable(path: Path, first: bytes) -> Contents | None:
    """What is in the file if its first line is this one and it is whole, else None."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(len(first)) != first:
            return None
        file.seek(max(0, path.stat().st_size - _LONGEST_LAST_LINE))
        found = re.search(rb"\n# whole: (\d+) games, (\d+) unreadable\n$", b"\n" + file.read())
    return Contents(int(found[1]), int(found[2])) if found else None


def lines_of(block: PositionBlock, games_before: int) -> bytes:
    """The lines of a block; its games have so many before them in the file."""
    return write_labelled(block.positions, block.results, block.game, block.to_end, games_before, block.scores)
