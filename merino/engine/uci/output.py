"""Output: whole lines in UTF-8, flushed at once, from any thread; and the reports of a search."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from io import TextIOWrapper
from typing import TYPE_CHECKING, BinaryIO, TextIO

from merino.core.common.terminal import complain, has_no_reader
from merino.core.common.text import in_one_line
from merino.eval.outlook import expected_score, win_draw_loss

if TYPE_CHECKING:
    from merino.engine.search.limits import Line, SearchResult


_MAX_INFO = 500  # characters; some messages quote the input, which may be a megabyte long


class Output:
    """Lines to a GUI. Several threads may write; lines are never mixed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._turn = threading.Lock()
        self._log: TextIO | None = None
        self.has_faults = False  # whether a fault was reported

    def log_to(self, file: BinaryIO | None, seconds: float = -1) -> None:
        """Append all input and output to an open file; None ends that.

        It waits at most so long, or for ever, for output in progress: nobody may be reading it.
        """
        log = TextIOWrapper(file, "utf-8", "backslashreplace") if file else None
        if self._turn.acquire(timeout=seconds):
            try:
                if self._log is not None:
                    self._log.close()
                self._log = log
            finally:
                self._turn.release()

    def heard(self, line: str) -> None:
        """Note a line of input in the log."""
        if self._log is not None:
            with self._turn:
                self._note(">>", line)

    def say(self, *lines: str) -> None:
        """Write these lines together. Ends the process if nobody reads them any longer."""
        text = "".join(f"{line}\n" for line in lines)
        try:
            with self._turn:
                for line in lines:
                    self._note("<<", line)
                self._stream.write(text.encode("utf-8", "backslashreplace"))
                self._stream.flush()
        except (OSError, ValueError) as error:
            # The GUI is gone. A C program would have died of SIGPIPE, which Python turns off.
            if isinstance(error, OSError) and not has_no_reader(error):
                complain(f"merino: cannot write the output: {error.strerror}")
            os._exit(1)

    def _note(self, direction: str, line: str) -> None:
        """Write a line to the log, if there is one; if that fails, the log is closed."""
        if self._log is None:
            return
        now = time.time()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + f".{int(1000 * now) % 1000:03}"
        try:
            self._log.write(f"{stamp} {direction} {line}\n")
            self._log.flush()
        except OSError as error:
            self._log = None
            self._stream.write(f"info string error: Debug Log File: {error.strerror}\n".encode("ascii", "replace"))

    def info(self, text: str) -> None:
        """Print a line for the user; control characters are written as numbers."""
        self.say(f"info string {in_one_line(text[:_MAX_INFO])}")

    def error(self, text: object) -> None:
        """Report a fault in the input; the session continues."""
        self.has_faults = True
        self.info(f"error: {text}")


class Report:
    """The reports of one search to the GUI; `write_move` turns its moves into text.

    With the scale `k` of expected scores, lines include chances to win, draw and lose. `table_hits` says how many
    positions have been found in endgame tables so far.
    """

    def __init__(
        self,
        output: Output,
        write_move: Callable[[int], str],
        k: float | None = None,
        table_hits: Callable[[], int] = int,
    ) -> None:
        self._output = output
        self._write_move = write_move
        self._k = k
        self._table_hits = table_hits
        self._shown: Line | None = None  # the last line of the best move

    def line(self, line: Line) -> None:
        """Show a line."""
        if line.multipv == 1:
            self._shown = line
        self._output.say(self._text(line))

    def current_move(self, depth: int, move: int, number: int) -> None:
        """Show the root move under search."""
        self._output.say(f"info depth {depth} currmove {self._write_move(move)} currmovenumber {number}")

    def done(self, result: SearchResult) -> None:
        """Show the final line, unless it is already the last one shown, then the best move."""
        lines = []
        if result.line is not None and result.line != self._shown:
            lines.append(self._text(result.line))
        best = "(none)" if result.best is None else self._write_move(result.best)
        ponder = "" if result.ponder is None else f" ponder {self._write_move(result.ponder)}"
        self._output.say(*lines, f"bestmove {best}{ponder}")

    def _text(self, line: Line) -> str:
        score = f"{line.score.uci()} {line.bound}".rstrip()
        if self._k is not None:
            score += " wdl {} {} {}".format(*_win_draw_loss(line, self._k))
        text = (
            f"info depth {line.depth} seldepth {line.seldepth} multipv {line.multipv} score {score} "
            f"nodes {line.nodes} nps {line.nps} hashfull {line.hashfull} tbhits {self._table_hits()} "
            f"time {line.time_ms}"
        )
        return " ".join([text, *(["pv"] if line.pv else []), *map(self._write_move, line.pv)])


def _win_draw_loss(line: Line, k: float) -> tuple[int, int, int]:
    """Wins, draws and losses of a thousand games for the side to move; a mate is certain, and so is a stalemate."""
    if line.score.mate is not None:
        return (1000, 0, 0) if line.score > 0 else (0, 0, 1000)
    if not line.pv:  # the game is over
        return 0, 1000, 0
    return win_draw_loss(expected_score(line.score, k))
