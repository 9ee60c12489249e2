"""What is recorded of a game: how it ended, its tags, and the PGN that is saved."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.fen import COLOUR_NAMES
from merino.core.board.game import RESULTS, Outcome, Position, Termination
from merino.core.board.move import Move
from merino.core.common.about import NAME, __version__
from merino.core.common.command import CommandError, errors_named
from merino.core.common.files import FileInUseError, held, write_whole, writing
from merino.core.common.user_files import WHOLE_GAMES, is_there, read_user_file
from merino.engine.notation.san import as_chess_move, start_board_of
from merino.formats.pgn_text import UNKNOWN_TAGS, game_text, plain_value, push_move, start_tags
from merino.formats.sources import SourceError, as_named, is_compressed, read_text

UNFINISHED = "*"  # the result of an unfinished game, as PGN writes it
PERSON = "Human"
WAITING_SECONDS = 10.0  # for another console that saves its game in the same file
_DATE = "%Y.%m.%d"
_TAG = re.compile(rb'^\s*\[\w+\s+"', re.MULTILINE)
_FIRST_TAG = re.compile(rb"^(?:\xef\xbb\xbf)?\[Event ", re.MULTILINE)  # perhaps after a byte order mark


@dataclass(frozen=True)
class Ending:
    """The end of a game: the result as PGN writes it, and the reason."""

    result: str
    words: str

    def __str__(self) -> str:
        return f"{self.result}, {self.words}"


DRAW_AGREED = Ending(RESULTS[None], "a draw by agreement")


def by_rule(outcome: Outcome) -> Ending:
    """The end of the game by the rules: "1-0, White wins by checkmate"."""
    if outcome.winner is not None:
        return Ending(outcome.result, f"{side_name(outcome.winner)} wins by {outcome.termination.value}")
    article = "the " if outcome.termination is Termination.FIFTY_MOVES else ""
    return Ending(outcome.result, f"a draw by {article}{outcome.termination.value}")


def resignation(colour: int) -> Ending:
    """The end when a side resigns."""
    return Ending(RESULTS[1 - colour], f"{side_name(colour)} resigns")


def side_name(colour: int) -> str:
    """White or Black, as a word."""
    return COLOUR_NAMES[colour]


class Saved(NamedTuple):
    """What was saved last: the file, the moves, and the text at the end of the file, by its size and its digest."""

    path: Path
    moves: list[Move]
    size: int
    digest: str

    def is_beginning_of(self, moves: Sequence[Move]) -> bool:
        """Whether these moves go on from those, and are no different continuation."""
        return list(moves[: len(self.moves)]) == self.moves

    def without(self, content: bytes) -> bytes:
        """The content of the file without the game, if that is still at its end."""
        return content[: -self.size] if _digest(content[-self.size :]) == self.digest else content

    def tag(self) -> str:
        """The value of the tag `Saved` in the file of an unfinished game."""
        return f"{len(self.moves)} {self.size} {self.digest} {quote(os.fsencode(self.path))}"

    @classmethod
    def from_tag(cls, tag: str, moves: Sequence[Move]) -> Saved:
        """From such a value, where these are the moves of the game; raises ValueError."""
        count, size, digest, path = tag.split(" ")
        if int(size) <= 0:
            raise ValueError(f"'{size}' is no size of a game")
        return cls(Path(os.fsdecode(unquote_to_bytes(path))), list(moves[: int(count)]), int(size), digest)


def _content_of(path: Path) -> bytes:
    """What a file holds, uncompressed if its name ends so; raises OSError and SourceError."""
    return read_text(path) if is_compressed(path) else read_user_file(path, WHOLE_GAMES)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


class Scoresheet:
    """What is recorded about a game besides its moves. A loaded game keeps its tags until its moves change."""

    def __init__(self, tags: Mapping[str, str] | None = None, moves: Sequence[int] = ()) -> None:
        """For a game read from a file, its tags and its moves."""
        self._date = datetime.date.today()
        self._engine_plays = {WHITE: False, BLACK: False}
        self._loaded_tags, self._loaded_moves = dict(tags or {}), list(moves)
        self._saved: Saved | None = None

    @classmethod
    def from_own_tags(cls, tags: Mapping[str, str], moves: Sequence[Move]) -> Scoresheet:
        """The sheet of a game played here, from the tags it wrote and all its moves, those taken back too.

        Raises ValueError if they are not its own.
        """
        sheet = cls()
        sheet._saved = Saved.from_tag(tags["Saved"], moves) if "Saved" in tags else None
        sheet._date = datetime.datetime.strptime(tags["Date"], _DATE).date()
        sheet._engine_plays = {WHITE: tags["White"] != PERSON, BLACK: tags["Black"] != PERSON}
        return sheet

    def saved_tag(self, moves: Sequence[Move]) -> dict[str, str]:
        """The tag that tells `from_own_tags` where the game was saved, if these moves go on from those that were."""
        return {"Saved": self._saved.tag()} if self._saved and self._saved.is_beginning_of(moves) else {}

    def note_mover(self, colour: int, is_engine: bool) -> None:
        """Record that the engine, or the person, has moved for a side."""
        self._engine_plays[colour] = is_engine

    def is_engine(self, colour: int) -> bool:
        """Whether the engine has made the last move of a side; of a game read from a file it has made none."""
        return self._engine_plays[colour]

    def pgn(self, position: Position, result: str) -> str:
        """The game of `position` with its tags, moves and result; a loaded game that has ended keeps its own."""
        if self._loaded_tags and position.moves == self._loaded_moves:
            tags = {name: plain_value(value) for name, value in self._loaded_tags.items()}
            told = tags.get("Result", UNFINISHED)
            return self._written(position, tags, result if told == UNFINISHED else told)
        return self.own_pgn(position, result)

    def own_pgn(self, position: Position, result: str) -> str:
        """The same with the tags of a game played here, which `from_own_tags` reads, also of a loaded game."""
        return self._written(position, self._own_tags(), result)

    def _written(self, position: Position, tags: Mapping[str, str], result: str) -> str:
        board = start_board_of(position)
        words: list[str] = []
        for move in position.moves:
            words += push_move(board, as_chess_move(move, position.chess960), follows_move=bool(words))
        start = start_tags(position.start_fen(), position.chess960)
        return game_text(UNKNOWN_TAGS | start | dict(tags) | {"Result": result}, [*words, result]).rstrip("\n")

    def save(self, path: Path, position: Position, result: str) -> int:
        """Add the game to a PGN file, replacing an earlier version of it; returns its number there.

        The file is compressed if its name ends so. Raises CommandError and then changes nothing.
        """
        text = f"{self.pgn(position, result)}\n".encode()
        faults = FileInUseError, SourceError
        with errors_named("save", *faults), writing(CommandError, path), held(path, WAITING_SECONDS):
            content = _content_of(path) if is_there(path) else b""
            if content.strip() and not _TAG.search(content):
                raise CommandError(f"'{path}' already exists and is not a PGN file: choose another name")
            if self._saved and self._saved.path == path and self._saved.is_beginning_of(position.moves):
                content = self._saved.without(content)
            if content.strip():
                content = content.rstrip() + b"\n\n"
            write_whole(path, as_named(path, content + text))
        self._saved = Saved(path, position.moves.copy(), len(text), _digest(text))
        return len(_FIRST_TAG.findall(content)) + 1

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
