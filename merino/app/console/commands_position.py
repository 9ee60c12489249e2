"""Console commands that show a position, set one up, and load or save games and positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import chess
import chess.pgn

from merino.app.console.arguments import choice, file_path, no_argument, square, whole_number
from merino.app.console.registry import Section, command
from merino.app.console.session import Session
from merino.core.board.fen import FenError
from merino.core.board.game import IllegalMoveError, Position
from merino.core.common.command import CommandError, UsageError
from merino.core.common.user_files import is_there
from merino.engine.notation.games import Loaded, PgnLines, VariantError, loaded, read_game, visit_game
from merino.engine.notation.positions import looks_like_fen
from merino.engine.notation.san import board_of
from merino.formats.sources import decoded, open_text

_TURNS = {"white": chess.WHITE, "black": chess.BLACK}
MAX_ENTRIES = 10**9
_COMMENTS = ("#", "%", ";")
_NO_TAGS = dict(chess.pgn.Game().headers)  # of text that is no game


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
        position = Position(fen)
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
    name, _, value = " ".join(arguments.split()).partition(" ")
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


@command("save", Section.FILES, "FILE")
def save(session: Session, arguments: str) -> None:
    """Add the game to a PGN file; a new file is created.

    Other games in the file stay. If you save the same game again after more moves, the longer version replaces the
    shorter one.
    """
    path = file_path(arguments).absolute()
    number = session.sheet.save(path, session.position, session.result)
    session.say(f"Saved as game {number} of {path}" if number > 1 else f"Saved in {path}")


@command("pgn", Section.FILES)
def pgn(session: Session, arguments: str) -> None:
    """Print the game as PGN."""
    no_argument(arguments)
    session.say(session.sheet.pgn(session.position, session.result))


@command("load", Section.FILES, "FILE [N]", ends_game=True)
def load_entry(session: Session, arguments: str) -> None:
    """Load game N of a PGN file, or line N of a file of FENs or EPDs.

    Without a number it loads the first. You see the position after the last move of the game; `undo` takes back a
    ply, `undo 20` twenty, `redo` goes forward. `resume` returns to the game before. Compressed files (.gz, .bz2, .xz,
    .zst) are read, too.
    """
    name, number = arguments, 1
    head, _, last = arguments.rpartition(" ")
    if head and last.isdecimal() and not is_there(file_path(arguments)):
        name, number = head, whole_number(last, "the number of the game", 1, MAX_ENTRIES)
    loaded = load(file_path(name), number)
    session.resume(loaded)
    session.say(loaded.remark)
    if not loaded.tags:
        session.report_if_over()


class _DecodedLines(TextIOWrapper):
    """The lines of a file, each `decoded`."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, "latin-1")  # which keeps every byte

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as TextIOWrapper declares it
        """The next line, empty at the end."""
        return decoded(super().readline(size).encode("latin-1")).removeprefix("\ufeff")


class _GameNoticed(chess.pgn.BaseVisitor[bool]):
    """Passes over what `read_game` finds, and tells whether it is a game."""

    is_game = False

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        """Notice a tag that says something."""
        self.is_game |= _tells({tagname: tagvalue})

    def end_headers(self) -> Any:
        """Read no further if there was one."""
        return chess.pgn.SKIP if self.is_game else None

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        """Notice a move."""
        self.is_game = True

    def handle_error(self, error: Exception) -> None:
        """Pass over what is no move."""

    def result(self) -> bool:
        """Whether it is a game."""
        return self.is_game


def load(path: Path, number: int) -> Loaded:
    """The entry of this number, from 1; raises CommandError and SourceError, naming what is wrong."""
    try:
        with open_text(path) as content, _DecodedLines(content) as file:
            first = next((line for line in file if _counts(line)), "")
            file.seek(0)
            holds_positions = looks_like_fen(first)
            found = _nth_position(file, number) if holds_positions else _nth_game(file, number)
    except VariantError as error:
        raise CommandError(f"'{path}': {error}") from error
    except (FenError, IllegalMoveError) as error:
        raise CommandError(f"{'line' if holds_positions else 'game'} {number} of '{path}': {error}") from error
    if isinstance(found, int):
        if not found:
            raise CommandError(f"'{path}' holds neither games nor positions")
        raise CommandError(f"'{path}' ends with {'position' if holds_positions else 'game'} {found}")
    return found


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(_COMMENTS)


def _nth_position(lines: Iterable[str], number: int) -> Loaded | int:
    """The position in the line of this number, blank lines and comments not counted; else how many there are."""
    taken = list(islice(filter(_counts, lines), number))
    if len(taken) < number:
        return len(taken)
    fields = taken[-1].split()
    has_counters = len(fields) >= 6 and all(text.isdecimal() for text in fields[4:6])
    operations = fields[6 if has_counters else 4 :]
    position = Position(" ".join(fields[: 6 if has_counters else 4]))
    return Loaded(position, f"Position {number}: {' '.join(operations) or position.fen()}")


def _nth_game(file: TextIO, number: int) -> Loaded | int:
    """The game of this number; else how many there are. Comments, variations and text beside games are passed over."""
    before, lines = 0, PgnLines(file)
    while before < number - 1:
        is_game = visit_game(lines, _GameNoticed)
        if is_game is None:
            return before
        before += is_game
    while (game := read_game(lines)) is not None:
        if game.variations or _tells(game.headers):
            return loaded(game, number)
    return number - 1


def _tells(tags: Mapping[str, str]) -> bool:
    """Whether tags say anything of a game but its result, which may stand in any text."""
    return any(name != "Result" and _NO_TAGS.get(name) != value for name, value in tags.items())
