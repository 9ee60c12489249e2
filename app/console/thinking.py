"""The engine's search on one line of a terminal, overwritten as it deepens."""

from __future__ import annotations

import re
from typing import TextIO

from merino.inner.app.console.terminal import Terminal
from merino.inner.core.board.game import Position
from merino.inner.engine.notation.san import board_of
from merino.inner.engine.notation.scores import line_text
from merino.inner.engine.search.limits import Line

_DANGLING_NUMBER = re.compile(r" \d+\.$")
_NARROW = 70  # columns


class ThinkingLine:
    """Shows the lines of one search: in place on a terminal, else only the last one.

    With `keeps_all`, for analysis, all complete lines stay, including those of MultiPV.
    """

    def __init__(self, position: Position, terminal: Terminal, out: TextIO, keeps_all: bool = False) -> None:
        self._board = board_of(position)
        self._terminal = terminal
        self._out = out
        self._keeps_all = keeps_all
        self._last: Line | None = None

    def show(self, line: Line) -> None:
        """Show a newer line."""
        if line.multipv > 1 and not self._keeps_all:
            return
        if self._keeps_all and self._last is not None and self._is_next(self._last, line):
            self.finish()
        self._last = line
        if self._terminal.rewrites:
            self._out.write(f"\r{self._fitted(line)}\x1b[K")
            self._out.flush()

    def finish(self) -> None:
        """Keep the last line on the screen."""
        if self._last is not None:
            self._out.write("\n" if self._terminal.rewrites else f"{self._fitted(self._last)}\n")
        self._out.flush()

    @staticmethod
    def _is_next(old: Line, new: Line) -> bool:
        """Whether a line differs from the one before by more than being newer."""
        return old.bound == "" and (old.depth, old.multipv, old.pv) != (new.depth, new.multipv, new.pv)

    def _fitted(self, line: Line) -> str:
        """The line, cut after a move so that it does not wrap."""
        columns = self._terminal.width - 1
        text = line_text(line, self._board, is_narrow=columns < _NARROW)
        return text if len(text) <= columns else _DANGLING_NUMBER.sub("", text[:columns].rpartition(" ")[0])
