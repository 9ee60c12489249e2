"""The page's own files, at addresses that change with what they hold, so that a browser need not ask for them again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files

FOLDER = files(__name__.rpartition(".")[0]) / "page"
HOME, MAIN = "index.html", "main.js"
IN_HOME = '="/page/'  # how HOME begins the address of another file

_IMPORTED = re.compile(rb'^(?:import|export)\b[^;]*?"\./([\w.]+)";', re.MULTILINE)


@dataclass(frozen=True)
class PageFiles:
    """The content of each file of the page, by its name."""

    contents: dict[str, bytes]

    @classmethod
    def read(cls) -> PageFiles:
        """The files as they are now: who edits them has only to load the page again."""
        entries = sorted((entry for entry in FOLDER.iterdir() if entry.is_file()), key=lambda entry: entry.name)
        return cls({entry.name: entry.read_bytes() for entry in entries})

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
            text = self.contents[waiting.pop()]
            imported = {name.decode() for name in _IMPORTED.findall(text)} - found
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
