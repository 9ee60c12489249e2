"""A line of a terminal that is rewritten repeatedly, and cleared before other text is shown."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TextIO

COLUMNS = 80  # of a terminal of unknown width
LINE_EVERY = 20  # of the lines that are shown where nobody can see them change
LEFT_OUT = ("[", "LOS", "LLR", "+")  # how those parts of a match's line begin that go first where it is too long


class LiveLine:
    """One line on `stream` (standard error if None). If that is not a terminal, each text is a line of its own."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.rewrites = self._stream.isatty()
        self._width = 0

    @property
    def columns(self) -> int:
        """The greatest length of a text: a longer one would wrap into a second line, which cannot be cleared."""
        try:
            width = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):  # of a stream without a file, or a terminal of unknown width
            width = 0
        return (width or COLUMNS) - 1

    def show(self, text: str) -> None:
        """Replace the last text by this one."""
        if self.rewrites:
            text = text[: self.columns]
            self._stream.write(f"\r{text:<{self._width}}")
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def wipe(self) -> None:
        """Clear the line for other text."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


class LivePrinter:
    """Shows the state of a match on standard error: rewritten on a terminal, elsewhere now and then.

    A context; its end clears the line.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._line = LiveLine(stream)
        self._count = 0

    def __call__(self, line: str) -> None:
        """Show it."""
        if self._line.rewrites:
            self._line.show(shortened(line, self._line.columns))
        elif self._count % LINE_EVERY == 0:
            self._line.show(line)
        self._count += 1

    def end(self) -> None:
        """Clear the line, before other text is shown."""
        self._line.wipe()

    def __enter__(self) -> LivePrinter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def shortened(line: str, columns: int) -> str:
    """A match's line with as many of its parts as fit into the columns; the time left is dropped last."""
    parts = line.split("  ")
    for start in LEFT_OUT:
        if len("  ".join(parts)) > columns:
            parts = [part for part in parts if not part.startswith(start)]
    return "  ".join(parts)
