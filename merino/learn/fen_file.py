"""The `.fen` cache that learning writes beside a PGN file: the chosen positions with their results.

`learn` and any program for labelled positions can read it: a line is `FEN c9 "1-0"; c8 "41"; c7 "17";` with the plies
to the end of the game and the number of the game in its file, followed by `ce 35;` if there is a score. The first line,
a comment, names the source and the settings; the cache is used only if they are the same. The last line proves that it
is complete.

`games.fen` is made with the first options; with others `games.1a2b3c.fen` is added, named after them. A file that can
no longer be used, because the games or the weights that chose the positions have changed, is replaced.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from merino.core.common.user_files import GAMES, first_there, open_user_file
from merino.formats.labelled import write_labelled
from merino.formats.sources import digest, plain_name
from merino.learn.positions import PositionBlock

_MARK = "# merino-positions 1"
_MAX_FIRST_LINE, _MAX_LAST_LINE = 1024, 256
_SOURCE, _WEIGHTS = re.compile(r"; source [0-9a-f]+"), re.compile(r", weights [0-9a-f]+")


@dataclass(frozen=True)
class Contents:
    """The counts in the last line: games with positions, and games that could not be read."""

    games: int
    unreadable: int

    def line(self) -> bytes:
        """The last line of the file."""
        return f"# whole: {self.games} games, {self.unreadable} unreadable\n".encode()


def is_ours(path: Path) -> bool:
    """Whether a file was written by any Merino as a `.fen` file."""
    with open_user_file(path, GAMES) as file:
        return is_cache(file.read(len(_MARK)))


def is_cache(head: bytes) -> bool:
    """Whether a text begins as a `.fen` file of any Merino does."""
    return head.startswith(_MARK.rstrip("0123456789").encode())


def has_strays(head: bytes) -> bool:
    """Whether a text begins as a `.fen` file with strays does: among its lines nothing tells them from positions."""
    return is_cache(head) and b", strays" in re.split(rb"[\r\n]", head, maxsplit=1)[0]


def usable(path: Path, first: bytes) -> Contents | None:
    """The counts of the file if its first line is this one and it is complete, else None."""
    if first_there([path]) is None:
        return None
    with open_user_file(path, GAMES) as file:
        if file.read(len(first)) != first:
            return None
        file.seek(max(0, file.seek(0, 2) - _MAX_LAST_LINE))
        found = re.search(rb"\n# whole: (\d+) games, (\d+) unreadable\n$", b"\n" + file.read())
    return Contents(int(found[1]), int(found[2])) if found else None


def lines_of(block: PositionBlock, games_before: int) -> bytes:
    """The lines of a block; `games_before` games precede it in the file."""
    return write_labelled(block.positions, block.results, block.game, block.to_end, games_before, block.scores)


@dataclass(frozen=True)
class FenTarget:
    """The `.fen` file for a source and settings: where it is or is to be written, and its first line.

    `contents` is None if it is to be written; `kept` is the file of other options that stays; `outdated` says why
    what is there is replaced.
    """

    path: Path
    first: bytes
    contents: Contents | None = None
    kept: Path | None = None
    outdated: str = ""


def target_of(source: Path, settings: str) -> FenTarget:
    """The file for a source with these settings: that with its name, or beside it one that is named after the options.

    Raises SourceError.
    """
    first = f"{_MARK}; source {digest(source)}; {settings}\n".encode()
    plain = plain_name(source).with_suffix(".fen")
    name = hashlib.blake2b(_options(first).encode(), digest_size=3).hexdigest()
    named = plain.with_suffix(f".{name}{plain.suffix}")
    for path in (plain, named):
        contents = usable(path, first)
        if contents:
            return FenTarget(path, first, contents)
    before = _first_line_of(plain) if first_there([plain]) else b""
    has_other_options = before.startswith(_MARK.encode()) and _options(before) != _options(first)
    if first_there([named]) or (has_other_options and _source(before) == _source(first)):
        return FenTarget(named, first, kept=plain, outdated=_why_outdated(named, first))
    return FenTarget(plain, first, outdated=_why_outdated(plain, first))


def _why_outdated(path: Path, first: bytes) -> str:
    """Why a file cannot be used; empty if there is none."""
    if first_there([path]) is None:
        return ""
    before = _first_line_of(path)
    if _source(before) != _source(first):
        return "the games have changed"
    if before != first:
        return "the weights or their terms have changed"
    return "it was not finished"


def _first_line_of(path: Path) -> bytes:
    with open_user_file(path, GAMES) as file:
        return file.readline(_MAX_FIRST_LINE)


def _options(first: bytes) -> str:
    """The options in a first line, without the weights that they were applied with."""
    return _WEIGHTS.sub("", _SOURCE.sub("", first.decode(errors="replace")))


def _source(first: bytes) -> str:
    found = _SOURCE.search(first.decode(errors="replace"))
    return found[0] if found else ""
