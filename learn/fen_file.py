"""The `.fen` cache that learning writes beside a PGN file: the chosen positions with their results.

`learn` and any program for labelled positions can read it: a line is `FEN c9 "1-0"; c8 "41"; c7 "17";` with the plies
to the end of the game and the number of the game in its file, followed by `ce 35;` if there is a score. The first line,
a comment, names the source and the settings; the cache is used only if they are the same. The last line proves that it
is complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from engine.common.user_files import GAMES, first_there, open_user_file
from formats.labelled import write_labelled
from learn.positions import PositionBlock

_MARK = "# merino-positions 1"
_LONGEST_LAST_LINE = 256


@dataclass(frozen=True)
class Contents:
    """The counts in the last line: games with positions, and games that could not be read."""

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
    with open_user_file(path, GAMES) as file:
        return file.read(len(_MARK)).startswith(_MARK.rstrip("0123456789").encode())


def usable(path: Path, first: bytes) -> Contents | None:
    """The counts of the file if its first line is this one and it is complete, else None."""
    if first_there([path]) is None:
        return None
    with open_user_file(path, GAMES) as file:
        if file.read(len(first)) != first:
            return None
        file.seek(max(0, file.seek(0, 2) - _LONGEST_LAST_LINE))
        found = re.search(rb"\n# whole: (\d+) games, (\d+) unreadable\n$", b"\n" + file.read())
    return Contents(int(found[1]), int(found[2])) if found else None


def lines_of(block: PositionBlock, games_before: int) -> bytes:
    """The lines of a block; `games_before` games precede it in the file."""
    return write_labelled(block.positions, block.results, block.game, block.to_end, games_before, block.scores)
