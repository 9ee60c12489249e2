"""The page's own files, at addresses that change with what they hold, so that a browser need not ask for them again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files

FOLDER = files(__name__.rpartition(".")[0]) / "page"
HOME = "index.html"
IN_HOME = '="/page/'  # how HOME begins the address of another file


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
    def home(self) -> str:
        """The page itself; all its modules are asked for at once, not one after another as they import each other."""
        text = self.contents[HOME].decode().replace(IN_HOME, f"{IN_HOME}{self.version}/")
        modules = (name for name in self.contents if name.endswith(".js"))
        links = (f'<link rel="modulepreload" href="/page/{self.version}/{name}">\n' for name in modules)
        return text.replace("</head>", f"{''.join(links)}</head>")
