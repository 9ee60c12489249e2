"""The game as PGN: its tags, and saving it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.board.game import Position
from merino.inner.core.board.move import Move
from merino.inner.core.common.about import NAME, __version__
from merino.inner.core.common.command import CommandError
from merino.inner.core.common.files import write_fault, write_whole
from merino.inner.core.common.user_files import WHOLE_GAMES, is_there, read_user_file
from merino.inner.engine.notation.san import as_chess_move, start_board_of
from merino.inner.formats.pgn_text import UNKNOWN_TAGS, game_text, plain_value, push_move, start_tags

PERSON = "Human"
_DATE = "%Y.%m.%d"
_TAG = re.compile(rb'^\s*\[\w+\s+"', re.MULTILINE)
_FIRST_TAG = re.compile(rb"^\[Event ", re.MULTILINE)


class Scoresheet:
    """What is recorded about a game besides its moves. A loaded game keeps its tags until its moves change."""

    def __init__(self, tags: Mapping[str, str] | None = None, moves: Sequence[int] = ()) -> None:
        """For a game read from a file, its tags and its moves."""
        self._date = datetime.date.today()
        self._engine_plays = {WHITE: False, BLACK: False}
        self._loaded_tags, self._loaded_moves = dict(tags or {}), list(moves)
        self._saved_as: tuple[Path, bytes] | None = None
        self._saved_moves: list[Move] = []

    @classmethod
    def from_own_tags(cls, tags: Mapping[str, str]) -> Scoresheet:
        """The sheet of a game played here, from the tags it wrote; raises ValueError if they are not its own."""
        sheet = cls()
        sheet._date = datetime.datetime.strptime(tags["Date"], _DATE).date()
        sheet._engine_plays = {WHITE: tags["White"] != PERSON, BLACK: tags["Black"] != PERSON}
        return sheet

    def note_mover(self, colour: int, is_engine: bool) -> None:
        """Record that the engine, or the person, has moved for a side."""
        self._engine_plays[colour] = is_engine

    def pgn(self, position: Position, result: str) -> str:
        """The game of `position` with its tags, moves and result."""
        tags = self._own_tags()
        if self._loaded_tags and position.moves == self._loaded_moves:
            result = self._loaded_tags.get("Result", result)
            tags = {name: plain_value(value) for name, value in self._loaded_tags.items()}
        variant = {"Variant": "Chess960"} if position.chess960 else {}
        board = start_board_of(position)
        words: list[str] = []
        for move in position.moves:
            words += push_move(board, as_chess_move(move, position.chess960), follows_move=bool(words))
        start = start_tags(position.start_fen())
        return game_text(UNKNOWN_TAGS | start | variant | tags | {"Result": result}, [*words, result]).rstrip("\n")

    def save(self, path: Path, position: Position, result: str) -> int:
        """Add the game to a PGN file, replacing an earlier version of it; returns its number there.

        Raises CommandError and then changes nothing.
        """
        text = f"{self.pgn(position, result)}\n".encode()
        try:
            content = read_user_file(path, WHOLE_GAMES) if is_there(path) else b""
            if content.strip() and not _TAG.search(content):
                raise CommandError(f"'{path}' already exists and is not a PGN file: choose another name")
            if self._has_grown_since_saved_as(path, position) and self._saved_as:
                content = content.removesuffix(self._saved_as[1])
            if content.strip():
                content = content.rstrip() + b"\n\n"
            write_whole(path, content + text)
        except OSError as error:
            raise CommandError(write_fault(error, path)) from error
        self._saved_as, self._saved_moves = (path, text), position.moves.copy()
        return len(_FIRST_TAG.findall(content)) + 1

    def _has_grown_since_saved_as(self, path: Path, position: Position) -> bool:
        """Whether what was saved there is the beginning of the present game, not a different continuation."""
        is_there = self._saved_as is not None and self._saved_as[0] == path
        return is_there and position.moves[: len(self._saved_moves)] == self._saved_moves

    def _own_tags(self) -> dict[str, str]:
        return {
            "Event": "Game at the console",
            "Date": self._date.strftime(_DATE),
            "Round": "-",
            "White": self._player(WHITE),
            "Black": self._player(BLACK),
        }

    def _player(self, colour: int) -> str:
        return f"{NAME} {__version__}" if self._engine_plays[colour] else PERSON
