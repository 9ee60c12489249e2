"""The abilities of the terminal, determined once."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_WITHOUT_COLOUR = ("", "dumb", "unknown")
_WITHOUT_CHESS_GLYPHS = ("linux",)  # the kernel's own console, whose font has no chess symbols


@dataclass(frozen=True)
class Terminal:
    """What the output may contain."""

    colour: bool = False  # 256 colours by escape sequences
    unicode: bool = False  # characters beyond ASCII
    rewrites: bool = False  # a line can be written over

    @property
    def width(self) -> int:
        """The present width of the window in columns."""
        return shutil.get_terminal_size().columns

    @property
    def height(self) -> int:
        """The present height of the window in lines."""
        return shutil.get_terminal_size().lines

    def bold(self, text: str) -> str:
        """The text in bold, if possible."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text


def detect(stream: TextIO, environ: Mapping[str, str] = os.environ, ascii_only: bool = False) -> Terminal:
    """What `stream` can show, judged by NO_COLOR, TERM, its encoding, and whether it is a terminal."""
    kind = environ.get("TERM", "xterm" if sys.platform == "win32" else "")
    is_able = stream.isatty() and kind not in _WITHOUT_COLOUR and not kind.startswith("vt")
    if is_able and sys.platform == "win32":
        os.system("")  # switches escape sequences on in the old console window
    encoding = (stream.encoding or "ascii").lower().replace("-", "")
    return Terminal(
        colour=is_able and not environ.get("NO_COLOR"),
        unicode=not ascii_only and encoding == "utf8" and kind not in _WITHOUT_CHESS_GLYPHS,
        rewrites=is_able,
    )
