"""A line of a terminal that is written anew again and again, and wiped before other text is shown."""

from __future__ import annotations

import os
import sys
from typing import TextIO

COLUMNS = 80  # of a terminal that does not tell how wide it is


class LiveLine:
    """One line on `stream` (standard error if None). Where that is no terminal, each text is a line of its own."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.rewrites = self._stream.isatty()
        self._width = 0

    @property
    def columns(self) -> int:
        """How long a text may be: a longer one would go on in a second line, which cannot be wiped."""
        try:
            width = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):  # of a stream without a file, or a terminal that does not tell
            width = 0
        return (width or COLUMNS) - 1

    def show(self, text: str) -> None:
        """Show a text in place of the last."""
        if self.rewrites:
            text = text[: self.columns]
            self._stream.write(f"\r{text:<{self._width}}")
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def wipe(self) -> None:
        """Leave the line empty, for what comes next."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
