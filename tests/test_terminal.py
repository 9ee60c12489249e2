"""The board as a person sees it, and what is found out about the terminal it is shown on."""

import io
import re

import pytest

from merino.app.console.terminal import Terminal, detect, draw
from merino.core.board.game import Position

COLOURED = Terminal(colour=True, unicode=True, rewrites=True)
PLAIN = Terminal()

START = """\
 8  r  n  b  q  k  b  n  r
 7  p  p  p  p  p  p  p  p
 6  .  .  .  .  .  .  .  .
 5  .  .  .  .  .  .  .  .
 4  .  .  .  .  .  .  .  .
 3  .  .  .  .  .  .  .  .
 2  P  P  P  P  P  P  P  P
 1  R  N  B  Q  K  B  N  R
    a  b  c  d  e  f  g  h"""


class Stream(io.StringIO):
    """Output that says what it is."""

    def __init__(self, is_terminal: bool = True, encoding: str = "UTF-8") -> None:
        super().__init__()
        self._is_terminal, self._encoding = is_terminal, encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._is_terminal


def test_without_colours_the_board_is_drawn_in_letters_from_either_side() -> None:
    assert draw(Position(), PLAIN) == draw(Position(), Terminal(unicode=True)) == START
    rows = draw(Position(), PLAIN, flipped=True).splitlines()
    assert (rows[0], rows[-1]) == (" 1  R  N  B  K  Q  B  N  R", "    h  g  f  e  d  c  b  a")


@pytest.mark.parametrize(
    ("fen", "move", "marked"),
    [
        ("startpos", "g1f3", (" 3  .  .  .  .  . (N) .  .", " 1  R  N  B  Q  K  B (.) R")),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1g1", (" 1  R  .  .  . (.) R (K) .",)),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1c1", (" 1  .  . (K) R (.) .  .  R",)),
        ("r3k2r/8/8/8/8/8/8/4K3 b kq - 0 1", "e8g8", (" 8  r  .  .  . (.) r (k) .",)),
    ],
)
def test_the_last_move_is_marked_of_castling_that_of_the_king(fen: str, move: str, marked: tuple[str, ...]) -> None:
    position = Position(fen)
    position.push_uci(move)
    rows = draw(position, PLAIN).splitlines()
    assert all(any(row.startswith(begin) for row in rows) for begin in marked)


def test_both_sides_have_filled_pieces_that_differ_in_colour() -> None:
    picture = draw(Position(), COLOURED)
    assert not set("♔♕♖♗♘♙") & set(picture) and picture.count("♞") == 4
    assert re.search(r"\x1b\[38;5;16;48;5;\d+m ♜ ", picture.splitlines()[0])
    assert re.search(r"\x1b\[38;5;231;48;5;\d+m ♜ ", picture.splitlines()[7])
    plain = re.sub(r"\x1b\[[\d;]*m|\ufe0e", "", picture)
    assert {len(row) for row in plain.splitlines()[:8]} == {27}
    letters = draw(Position(), Terminal(colour=True))  # for a font without chess pieces
    assert letters.isascii() and " K " in letters and " k " in letters


@pytest.mark.parametrize(
    ("environ", "stream", "expected"),
    [
        ({"TERM": "xterm-256color"}, Stream(), Terminal(colour=True, unicode=True, rewrites=True)),
        ({"TERM": "xterm", "NO_COLOR": "1"}, Stream(), Terminal(colour=False, unicode=True, rewrites=True)),
        ({"TERM": "xterm", "NO_COLOR": ""}, Stream(), Terminal(colour=True, unicode=True, rewrites=True)),
        ({"TERM": "dumb"}, Stream(), Terminal(unicode=True)),
        ({"TERM": "vt100"}, Stream(), Terminal(unicode=True)),
        ({"TERM": "linux"}, Stream(), Terminal(colour=True, rewrites=True)),
        ({"TERM": "xterm"}, Stream(encoding="ISO-8859-1"), Terminal(colour=True, rewrites=True)),
        ({"TERM": "xterm"}, Stream(is_terminal=False), Terminal(unicode=True)),
    ],
)
def test_the_customs_of_terminals_are_respected(environ: dict[str, str], stream: Stream, expected: Terminal) -> None:
    assert detect(stream, environ) == expected
    assert not detect(stream, environ, ascii_only=True).unicode
