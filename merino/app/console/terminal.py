"""The terminal: what it can show, the board as characters, the line of a search, and the lines that are typed there.

Both sides use the filled glyphs and differ in colour, because the outlined ones look black on a dark terminal.
The squares are of middle tone, so that white and black pieces stand out on any background.
"""

import logging
import os
import re
import select
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from merino.core.board import bitboard, game
from merino.core.board.move import Move
from merino.core.common.files import is_there, user_folder
from merino.engine.notation.san import line_text
from merino.engine.search.limits import Line

try:
    import readline
except ImportError:  # Windows
    readline = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

HISTORY_LINES = 1000
WAKE_SECONDS = 0.2

Reader = Callable[[str], str | None]  # asks with a prompt; None at the end of the input
Complete = Callable[[str, str], list[str]]
_WITHOUT_COLOUR = ("", "dumb", "unknown")
_WITHOUT_CHESS_GLYPHS = ("linux",)  # the kernel's own console, whose font has no chess symbols
_TEXT_STYLE = "\ufe0e"  # after a pawn, which some fonts would draw as a coloured picture
_GLYPHS = {"P": "♟" + _TEXT_STYLE, "N": "♞", "B": "♝", "R": "♜", "Q": "♛", "K": "♚"}

# 256-colour numbers: (dark square, light square), and the same for the squares of the last move.
_SQUARES = (94, 137)
_LAST_MOVE = (61, 67)
_PIECES = {bitboard.WHITE: 231, bitboard.BLACK: 16}
_DANGLING_NUMBER = re.compile(r" \d+\.$")
_NARROW = 70  # columns


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


def draw(position: game.Position, terminal: Terminal, flipped: bool = False) -> str:
    """The board of `position` with coordinates and the last move marked."""
    marked = _squares_of(position.moves[-1], position.side) if position.moves else set()
    ranks = range(8) if flipped else range(7, -1, -1)
    files = range(7, -1, -1) if flipped else range(8)
    rows = [
        f" {rank + 1} " + "".join(_cell(position, square, square in marked, terminal) for square in row)
        for rank in ranks
        for row in [[8 * rank + file for file in files]]
    ]
    rows.append("   " + "".join(f" {bitboard.SQUARE_NAMES[file][0]} " for file in files))
    return "\n".join(row.rstrip() for row in rows)


def _squares_of(move: Move, turn: int) -> set[int]:
    """The squares to mark for the last move; `turn` is the side to move after it."""
    if not move.is_castling:
        return {move.from_square, move.to_square}
    wing = 6 if move.to_square > move.from_square else 2
    return {move.from_square, wing + (56 if turn == bitboard.WHITE else 0)}


def _cell(position: game.Position, square: int, is_marked: bool, terminal: Terminal) -> str:
    """Three columns: the piece in the middle, on its square's colour or between brackets if marked."""
    letter = position.piece_at(square)
    if not terminal.colour:
        left, right = "()" if is_marked else "  "
        return f"{left}{letter or '.'}{right}"
    is_light = (square + (square >> 3)) % 2
    background = (_LAST_MOVE if is_marked else _SQUARES)[is_light]
    colour = _PIECES[bitboard.WHITE if letter and letter.isupper() else bitboard.BLACK]
    return f"\x1b[38;5;{colour};48;5;{background}m {_piece(letter, terminal)} \x1b[0m"


def _piece(letter: str | None, terminal: Terminal) -> str:
    if letter is None:
        return " "
    return _GLYPHS[letter.upper()] if terminal.colour and terminal.unicode else letter


class ThinkingLine:
    """Shows the lines of one search: in place on a terminal, else only the last one.

    With `keeps_all`, for analysis, all complete lines stay, including those of MultiPV.
    """

    def __init__(self, position: game.Position, terminal: Terminal, out: TextIO, keeps_all: bool = False) -> None:
        self._board = position.to_chess(stack=False)
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


def overheard() -> list[str]:
    """The lines typed at the terminal without a prompt; "quit" for its end (Ctrl-D)."""
    if sys.platform == "win32" or not select.select([sys.stdin], [], [], 0)[0]:
        return []
    try:
        typed = os.read(sys.stdin.fileno(), 1 << 16)
    except OSError:  # it is gone
        typed = b""
    return typed.decode("utf-8", "replace").splitlines() if typed else ["quit"]


@contextmanager
def line_editing(complete: Complete) -> Iterator[Reader]:
    """Reads lines from the terminal: by readline where there is one, with history and completion by Tab.

    `complete` gets the line up to the cursor and the word there, and returns the completions.
    """
    if readline is None:
        yield _read_typed
        return
    matches: list[str] = []

    def match(word: str, index: int) -> str | None:
        """The match of this index, which readline requests one after the other; None ends the list."""
        nonlocal matches
        if index == 0:
            matches = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
        return matches[index] if index < len(matches) else None

    history = user_folder("data") / "console_history"
    readline.set_history_length(HISTORY_LINES)
    try:
        if is_there(history):
            readline.read_history_file(history)
    except OSError as error:
        log.info("history %s not read: %s", history, error)
    readline.set_completer_delims(" \t")
    readline.set_completer(match)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield _read_typed
    finally:
        try:
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)
        except OSError as error:
            log.info("history %s not saved: %s", history, error)


def _read_typed(prompt: str) -> str | None:
    """A line from the terminal, None at its end (Ctrl-D). Ctrl-C raises KeyboardInterrupt.

    Readline is woken up a moment after it has begun to wait: otherwise a Ctrl-C between the prompt and the waiting
    would take effect only at the next key.
    """
    if not hasattr(signal, "setitimer"):  # Windows, which has no readline either
        return _typed(prompt)
    previous = signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.setitimer(signal.ITIMER_REAL, WAKE_SECONDS)
    try:
        return _typed(prompt)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _typed(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        return None
