"""Positions as people give them: FENs and EPDs, what UCI puts after `position`, and addresses of pages that show one.

The console, the shell, the page, and files of positions or openings read them here.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote

import chess

from merino.core.board.fen import START_FEN, FenError
from merino.core.board.game import START_NAME, IllegalMoveError, Position

_SLASHES = 7
_FIELDS = ("[wb]", "-|[A-Ha-hKQkq]{1,4}", "-|[a-h][36]", r"\d+", r"\d+")  # of a FEN, after the board
_RANK = "[PNBRQKpnbrqk1-8]{1,8}"
# A board before a part of another kind, as of a variant with pockets, is none. Lichess has "_" between the fields.
_ADDRESS = re.compile(
    rf"https?://\S*?[/=](?P<board>(?:{_RANK}/){{{_SLASHES}}}{_RANK})(?P<more>[ _+][^&?#]*)?"
    r"(?:[&?#]|$)(?:moves=(?P<moves>[^&]*))?",
    re.IGNORECASE,
)
_LABEL, _QUOTES = re.compile("^fen(?:[:=]|$)", re.IGNORECASE), "\"'`"
_MOVE = re.compile("[a-h][1-8][a-h][1-8][nbrqNBRQ]?")


class Given(NamedTuple):
    """A position that was read: a FEN, as it was written, moves from there in coordinates, and the words after it."""

    fen: str
    moves: list[str]
    rest: list[str]

    def position(self) -> Position:
        """The position after the moves; raises FenError, also for a move."""
        found = Position(self.fen)
        try:
            found.push_all(self.moves)
        except IllegalMoveError as error:
            raise FenError(f"{error}") from error
        return found


def take_position(words: Sequence[str]) -> Given | None:
    """The position that the words begin with, the first of which may be several; None if they begin with none."""
    left = [*words[0].split(), *words[1:]] if words else []
    left = left[1:] if left[:1] == ["position"] else left
    left = left[1:] if left and _LABEL.fullmatch(left[0]) else left
    if not left:
        return None
    first, *left = left if left[0][0] not in _QUOTES else [word.strip(_QUOTES) for word in left]
    first = _LABEL.sub("", first)
    moves = list[str]()
    if address := _ADDRESS.match(unquote(first)):
        fields = [address["board"], *re.split("[ _+]+", address["more"] or "")[1:]]
        moves = (address["moves"] or "").replace(",", " ").replace("+", " ").split()
    elif first == START_NAME:
        fields = START_FEN.split()
    elif looks_like_fen(first):
        fields = [first]
    else:
        return None
    while left and len(fields) <= len(_FIELDS) and re.fullmatch(_FIELDS[len(fields) - 1], left[0]):
        fields.append(left.pop(0))
    if left[:1] == ["moves"]:
        del left[0]
        while left and _MOVE.fullmatch(left[0]):
            moves.append(left.pop(0))
    return Given(" ".join(fields), moves, left)


def read_position(text: str) -> Given:
    """The position that a text begins with; where it begins with none, the reason is raised by `position`."""
    return take_position(text.split()) or Given(text.strip(), [], [])


def looks_like_fen(text: str) -> bool:
    """Whether a text begins with the board of a FEN, and not with a path in as many folders."""
    board = (text.split(maxsplit=1) or [""])[0]
    return board.count("/") == _SLASHES and not board.startswith(("/", "~")) and "." not in board


def completed(fields: Sequence[str]) -> str:
    """The FEN that begins with these fields: White to move, castling as kings and rooks stand, no en passant."""
    placed = chess.Board(None)
    with suppress(ValueError):  # the reader of FENs says what is wrong
        placed.set_board_fen(fields[0])
    placed.castling_rights = chess.BB_CORNERS
    placed.castling_rights = placed.clean_castling_rights()
    return " ".join([*fields, *placed.fen().split()[len(fields) :]])
