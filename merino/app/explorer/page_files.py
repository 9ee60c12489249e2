"""The page's own files, and the drawings of its pieces: python-chess's, and two sets of Merino's own.

The addresses of the files change with what they hold, so that a browser need not ask for them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

import chess
import chess.svg

FOLDER = files(__name__.rpartition(".")[0]) / "page"
HOME, MAIN = "index.html", "main.js"
IN_HOME = '="/page/'  # how HOME begins the address of another file

_IMPORTED = re.compile(r'^(?:import|export)\b[^;]*?"(\.[\w./]+)";', re.MULTILINE)
_NAMES = {f"{'w' if letter.isupper() else 'b'}{letter.upper()}": letter for letter in "PNBRQKpnbrqk"}
_FOOT = "M11 39h23v-3.2c0-1.6-1.2-2.8-2.8-2.8H13.8c-1.6 0-2.8 1.2-2.8 2.8z"
# What stands on the foot, and the lines inside, in the other colour.
_SHAPES = {
    "P": (
        "M22.5 9.5a5.3 5.3 0 0 1 3.5 9.3c2.7 3.4 3.6 8.4 4.3 14.2H14.7c.7-5.8 1.6-10.8 4.3-14.2a5.3 5.3 0 0 1 3.5-9.3z",
        "",
    ),
    "N": (
        "M14 33c0-6.5 2.8-10 7-13-3 .4-5 1.8-6.6 3.4-1.6 1.1-3.9-.1-4.2-2 2-4.6 4-8.6 8.1-10.6l1-4.3 3.6 3.2"
        "c7 1 10.6 7 10.6 14.3 0 3-.4 6-1 9z",
        "M19.2 14.4h.1",
    ),
    "B": (
        "M22.5 5.5a2.7 2.7 0 0 1 2 4.5c4 3.2 6.5 7.2 6.5 11.5 0 4-2.2 6.6-4.4 8l.9 3.5h-10l.9-3.5"
        "c-2.2-1.4-4.4-4-4.4-8 0-4.3 2.5-8.3 6.5-11.5a2.7 2.7 0 0 1 2-4.5z",
        "M22.5 15.5v8M18.5 19.5h8",
    ),
    "R": ("M12 9h5v3.6h3V9h5v3.6h3V9h5v8.2l-3 3V28l2 5H13l2-5v-7.8l-3-3z", "M15.5 20.5h14M15.5 28h14"),
    "Q": (
        "M8.5 12.5a2 2 0 1 1 2.3 2l4 7.5 1.3-10.6a2 2 0 1 1 2.4-.2l4 9.8 4-9.8a2 2 0 1 1 2.4.2L30.2 22l4-7.5"
        "a2 2 0 1 1 2.3-2L33 33H12z",
        "M13.5 28.5h18",
    ),
    "K": (
        "M21 4.5h3v3h3v3h-3v3.6c6.2-1.6 11 1.7 11 6.9 0 4-2.8 7.4-5.5 12h-14c-2.7-4.6-5.5-8-5.5-12 "
        "0-5.2 4.8-8.5 11-6.9v-3.6h-3v-3h3z",
        "M22.5 19v9M15.5 28.5h14",
    ),
}  # fmt: skip
SETS = ("classic", "plain", "letters")


@dataclass(frozen=True)
class PageFiles:
    """The content of each file of the page, by its path in the folder, such as `base/dom.js`."""

    contents: dict[str, bytes]

    @classmethod
    def read(cls) -> PageFiles:
        """The files as they are now: who edits them has only to load the page again."""
        return cls(dict(sorted(_files_in(FOLDER))))

    @cached_property
    def version(self) -> str:
        """A word that is another one when any file is."""
        digest = blake2b(digest_size=6)
        for name, content in self.contents.items():
            digest.update(f"{name} {len(content)} ".encode() + content)
        return digest.hexdigest()

    @cached_property
    def first_modules(self) -> list[str]:
        """The modules that the page begins with; others are loaded when a panel is opened."""
        found = {MAIN}
        waiting = [MAIN]
        while waiting:
            module = waiting.pop()
            named = _IMPORTED.findall(self.contents[module].decode())
            imported = {normpath(join(dirname(module), name)) for name in named} - found
            found |= imported
            waiting += imported
        return sorted(found)

    @cached_property
    def home(self) -> str:
        """The page itself; its first modules are asked for at once, not one after another as they import each other."""
        text = self.contents[HOME].decode().replace(IN_HOME, f"{IN_HOME}{self.version}/")
        modules = self.first_modules
        links = (f'<link rel="modulepreload" href="/page/{self.version}/{name}">\n' for name in modules)
        return text.replace("</head>", f"{''.join(links)}</head>")


def _files_in(folder: Traversable, inside: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        name = f"{inside}{entry.name}"
        if entry.is_file():
            yield name, entry.read_bytes()
        else:
            yield from _files_in(entry, f"{name}/")


def drawing(name: str, of: str = "classic") -> str | None:
    """The SVG of a piece of a set, such as "wK" or "bN"; None if there is none."""
    letter = _NAMES.get(name)
    if letter is None or of not in SETS:
        return None
    if of == "classic":
        return chess.svg.piece(chess.Piece.from_symbol(letter))
    own, other = ("#fdfcf9", "#1b1e22") if letter.isupper() else ("#2a2e35", "#f4f1ea")
    edge = "#1b1e22" if letter.isupper() else "#0b0d10"
    inside = _letter(letter.upper(), own, other, edge) if of == "letters" else _shape(letter.upper(), own, other, edge)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 45 45" width="45" height="45">{inside}</svg>'


def _shape(kind: str, own: str, other: str, edge: str) -> str:
    shape, lines = _SHAPES[kind]
    outline = f'<path d="{shape}{_FOOT}" fill="{own}" stroke="{edge}" stroke-width="1.5" stroke-linejoin="round"/>'
    if not lines:
        return outline
    return f'{outline}<path d="{lines}" fill="none" stroke="{other}" stroke-width="1.6" stroke-linecap="round"/>'


def _letter(kind: str, own: str, other: str, edge: str) -> str:
    return (
        f'<circle cx="22.5" cy="22.5" r="18" fill="{own}" stroke="{edge}" stroke-width="1.5"/>'
        f'<text x="22.5" y="30.5" font-family="sans-serif" font-size="23" font-weight="700" text-anchor="middle" '
        f'fill="{other}">{kind}</text>'
    )
