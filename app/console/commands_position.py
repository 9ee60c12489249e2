"""Console commands that show the position or set one up."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import chess

from merino.inner.app.console.arguments import choice, no_argument, square
from merino.inner.app.console.registry import Section, command
from merino.inner.app.console.session import Session
from merino.inner.core.board.fen import FenError
from merino.inner.core.board.game import Position
from merino.inner.core.common.command import CommandError, UsageError
from merino.inner.engine.notation.positions import position_of
from merino.inner.engine.notation.san import board_of

_TURNS = {"white": chess.WHITE, "black": chess.BLACK}


@command("board", Section.POSITION, aliases=("d", "bd"))
def board(session: Session, arguments: str) -> None:
    """Show the board."""
    no_argument(arguments)
    session.show_board()


@command("fen", Section.POSITION)
def fen(session: Session, arguments: str) -> None:
    """Print the FEN of the position."""
    no_argument(arguments)
    session.say(session.position.fen())


@command("setboard", Section.POSITION, "FEN", ends_game=True)
def set_board(session: Session, arguments: str) -> None:
    """Set up the position of a FEN.

    The castling rights may be those of Chess960; then type castling as O-O or as king takes rook.
    """
    if not arguments:
        raise UsageError("the FEN is missing")
    _set_up(session, arguments.strip("\"'"))


@command("edit", Section.POSITION, "CHANGE ...", ends_game=True)
def edit(session: Session, arguments: str) -> None:
    """Put pieces on squares and remove them.

    `edit Qd1 qd8 -e4` puts a white queen on d1 and a black one on d8, and empties e4: White has capital letters, Black
    small ones. `clear` empties the board; `white` and `black` set the side to move: `edit clear Kg1 Ra1 kg8 white`.
    """
    if not arguments:
        raise UsageError("expected a piece and its square, like Qd1")
    _set_up(session, edited(session.position, arguments.split()))


def edited(position: Position, changes: Iterable[str]) -> str:
    """The FEN of the position after some changes, which may break the rules; raises UsageError."""
    board = board_of(position)
    board.ep_square, board.halfmove_clock = None, 0
    for change in changes:
        if change.lower() == "clear":
            board.clear_board()
        elif change.lower() in _TURNS:
            board.turn = _TURNS[change.lower()]
        elif change[0] in "PNBRQKpnbrqk-":
            piece = None if change[0] == "-" else chess.Piece.from_symbol(change[0])
            board.set_piece_at(square(change[1:]), piece)
        else:
            raise UsageError(f"'{change[:40]}' is neither a piece on a square like Qd1 nor -d1, clear, white or black")
    board.castling_rights = board.clean_castling_rights()
    return board.fen()


def _set_up(session: Session, fen: str) -> None:
    """Start a game from a position; raises CommandError and then keeps the old game."""
    try:
        position = position_of(fen)
    except FenError as error:
        raise CommandError(f"{error}") from error
    session.set_up(position)
    session.report_if_over()


@command("flip", Section.POSITION)
def flip(session: Session, arguments: str) -> None:
    """Flip the board."""
    no_argument(arguments)
    session.is_flipped = not session.is_flipped
    session.show_board()


@command("set", Section.POSITION, "NAME VALUE")
def change_setting(session: Session, arguments: str) -> None:
    """Change how the board is shown.

    `set pieces ascii` draws letters, for fonts without chess symbols; `set pieces unicode` draws symbols. `set colour
    off` turns colours off. `set board off` no longer shows the board after each move.
    """
    name, _, value = arguments.partition(" ")
    setting = choice(name, ("pieces", "colour", "color", "board"))
    if setting == "pieces":
        is_unicode = choice(value, ("unicode", "ascii")) == "unicode"
        session.terminal = dataclasses.replace(session.terminal, unicode=is_unicode)
    elif setting == "board":
        session.shows_board = _is_on(value)
    else:
        session.terminal = dataclasses.replace(session.terminal, colour=_is_on(value))
    if setting != "board" or session.shows_board:
        session.show_board()


def _is_on(text: str) -> bool:
    return choice(text, ("on", "off")) == "on"
