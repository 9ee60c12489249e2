"""The engine's thoughts on one line, written over as they deepen, and Ctrl-C to cut them short."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Protocol, TextIO

import chess

from engine.board.bitboard import BLACK, WHITE
from engine.board.game import Position
from engine.console.terminal import Terminal
from engine.notation.san import board_of, san_line
from engine.search.limits import Limits, Line, Result, Score

if TYPE_CHECKING:
    from engine.search.searcher import Searcher

_POLL_SECONDS = 0.05  # how soon Ctrl-C is noticed
_DANGLING_NUMBER = re.compile(r" \d+\.$")
_NARROW = 70  # columns
_BOUND_MARKS = {"": "", "lowerbound": "!", "upperbound": "?"}


def score_text(score: Score, turn: int) -> str:
    """A score for the side `turn` as seen from White: "+0.35" in pawns, "+M3" for a mate in three by White."""
    mate = score.mate
    if mate is None:
        return f"{(score if turn == WHITE else -score) / 100:+.2f}"
    is_for_white = (mate > 0) == (turn == WHITE)
    return f"{'+' if is_for_white else '-'}M{abs(mate)}"


def line_text(line: Line, board: chess.Board, is_narrow: bool = False) -> str:
    """Depth, score from White's side, time, nodes and the moves expected; "!" and "?" mark a rise and a fall."""
    score = score_text(line.score, WHITE if board.turn else BLACK) + _BOUND_MARKS[line.bound]
    moves, seconds, nodes = san_line(board, line.pv), line.time_ms / 1000, _count(line.nodes)
    if is_narrow:
        return f"{line.depth:2} {score:>7} {seconds:5.1f} s {nodes:>5}  {moves}"
    return f"depth {line.depth:2}  {score:>7}  {seconds:5.1f} s  {nodes:>6} nodes  {moves}"


def _count(nodes: int) -> str:
    """A number of nodes in at most five characters."""
    if nodes < 10_000:
        return str(nodes)
    return f"{nodes / 1000:.0f}k" if nodes < 1_000_000 else f"{nodes / 1_000_000:.1f}M"


class Display(Protocol):
    """What shows a search while it thinks."""

    def show(self, line: Line) -> None:
        """Show a newer line."""

    def finish(self) -> None:
        """The search is over."""


class ThinkingLine:
    """Shows the lines of one search: in place on a terminal, else only the last one.

    With `keeps_all`, as for analysis, each line that is complete stays, and so do the second-best lines and further.
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
        """Leave the last line standing."""
        if self._last is not None:
            self._out.write("\n" if self._terminal.rewrites else f"{self._fitted(self._last)}\n")
        self._out.flush()

    @staticmethod
    def _is_next(old: Line, new: Line) -> bool:
        """Whether a line is more than a newer state of the one before."""
        return old.bound == "" and (old.depth, old.multipv, old.pv) != (new.depth, new.multipv, new.pv)

    def _fitted(self, line: Line) -> str:
        """The line cut after a move, so that it does not wrap."""
        room = self._terminal.width - 1
        text = line_text(line, self._board, is_narrow=room < _NARROW)
        return text if len(text) <= room else _DANGLING_NUMBER.sub("", text[:room].rpartition(" ")[0])


def think(
    searcher: Searcher, position: Position, limits: Limits, display: Display, is_hurried: Callable[[], bool]
) -> tuple[Result, bool]:
    """Search and show the thoughts; Ctrl-C or `is_hurried` ends it early. The result, and whether it was cut short."""
    reports: SimpleQueue[Line | Result] = SimpleQueue()
    with _interrupts() as interrupted:
        searcher.start(position, limits, reports.put, reports.put)
        while True:
            if interrupted.is_set() or is_hurried():
                interrupted.set()
                searcher.stop()
            try:
                report = reports.get(timeout=_POLL_SECONDS)
            except Empty:
                if not searcher.searching and reports.empty():
                    raise RuntimeError("the search ended without a result") from None
                continue
            if isinstance(report, Result):
                display.finish()
                return report, interrupted.is_set()
            display.show(report)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, instead of raising KeyboardInterrupt, while the block runs.

    Python lets only the main thread handle signals; in another one Ctrl-C has no meaning and nothing changes.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupted.set()

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
