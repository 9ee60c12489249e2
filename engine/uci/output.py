"""What goes out: whole ASCII lines, flushed at once, from any thread; and the reports of one search."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from engine.search.limits import Line, Result


class Output:
    """Lines to a GUI. Several threads may speak; no line is ever torn."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._turn = threading.Lock()

    def say(self, *lines: str) -> None:
        """Write these lines together. Ends the process if nobody reads them any more."""
        text = "".join(f"{line}\n" for line in lines)
        try:
            with self._turn:
                self._stream.write(text.encode("ascii", "backslashreplace"))
                self._stream.flush()
        except (BrokenPipeError, ValueError):
            # The GUI is gone. A C program would have died of SIGPIPE, which Python turns off.
            os._exit(1)

    def info(self, text: str) -> None:
        """Say something to the user."""
        self.say(f"info string {text}")

    def error(self, text: object) -> None:
        """Report a fault in what came in; the session goes on."""
        self.info(f"error: {text}")


class Report:
    """What one search tells the GUI; `write_move` turns its moves into text."""

    def __init__(self, output: Output, write_move: Callable[[int], str]) -> None:
        self._output = output
        self._write_move = write_move
        self._shown: Line | None = None  # the last line of the best move

    def line(self, line: Line) -> None:
        """Show a line."""
        if line.multipv == 1:
            self._shown = line
        self._output.say(self._text(line))

    def current_move(self, depth: int, move: int, number: int) -> None:
        """Show the root move under search."""
        self._output.say(f"info depth {depth} currmove {self._write_move(move)} currmovenumber {number}")

    def done(self, result: Result) -> None:
        """Show the final line unless it stands there already, then the best move."""
        lines = []
        if result.line is not None and result.line != self._shown:
            lines.append(self._text(result.line))
        best = "(none)" if result.best is None else self._write_move(result.best)
        ponder = "" if result.ponder is None else f" ponder {self._write_move(result.ponder)}"
        self._output.say(*lines, f"bestmove {best}{ponder}")

    def _text(self, line: Line) -> str:
        score = f"{line.score.uci()} {line.bound}".rstrip()
        text = (
            f"info depth {line.depth} seldepth {line.seldepth} multipv {line.multipv} score {score} "
            f"nodes {line.nodes} nps {line.nps} hashfull {line.hashfull} tbhits 0 time {line.time_ms}"
        )
        return " ".join([text, *(["pv"] if line.pv else []), *map(self._write_move, line.pv)])
