"""Appends the positions of games to a file, each once, however often a run is interrupted.

The file holds packed positions or, by its name, whole games in viriformat.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.common.files import append_whole, lock
from merino.inner.core.common.user_files import GAMES, is_there, open_to_extend, open_user_file
from merino.inner.formats.packed import PACKED, Filter, with_checks
from merino.inner.formats.pgn_scores import NO_SCORE
from merino.inner.formats.scored_games import ScoredGames, packed_of
from merino.inner.formats.viriformat import MOVE_BYTES, as_viriformat, is_games_file
from merino.inner.match.errors import MatchError
from merino.inner.match.games import Game

_RESULTS = {WHITE: 2, None: 1, BLACK: 0}


class PositionFile:
    """Appends positions to a file. What is about to be added is first saved in the state of the match."""

    def __init__(self, path: Path, skip: int) -> None:
        """`skip`: the number of positions after the opening to leave out, where moves are random."""
        self.path, self._skip = path, skip
        self._unit = MOVE_BYTES if is_games_file(path) else PACKED.itemsize  # the size is a multiple of so many bytes
        self._waiting: list[bytes] = []
        self._at, self._more = 0, b""
        self._file: IO[bytes]  # while it is open

    def check(self) -> None:
        """Raise MatchError if there are not whole positions in the file, or OSError."""
        if not is_there(self.path):
            return
        open_to_extend(self.path).close()
        if not self._is_whole():
            kind = "games in viriformat" if is_games_file(self.path) else "packed positions"
            raise MatchError(f"'{self.path}' holds no {kind}, or its end is missing: name another file")

    def _is_whole(self) -> bool:
        size = self.path.stat().st_size
        if size % self._unit or not size or not is_games_file(self.path):
            return size % self._unit == 0
        with open_user_file(self.path, GAMES) as file:
            file.seek(-MOVE_BYTES, os.SEEK_END)
            return not any(file.read())

    def add(self, game: Game) -> None:
        """Take the positions of a finished game."""
        scored = _scored(game, self._skip)
        if is_games_file(self.path):
            self.add_bytes(as_viriformat(scored) if len(scored.moves) else b"")
        else:
            self.add_bytes(with_checks(packed_of(scored, Filter())).tobytes())

    def add_bytes(self, content: bytes) -> None:
        """Take positions in the form of the file."""
        self._waiting.append(content)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep others from the file for this block, in which `prepare` and `settle` may be called; raises OSError."""
        with open_to_extend(self.path) as self._file:
            lock(self._file)
            yield

    def prepare(self) -> None:
        """Plan to append the waiting positions to the file as it is now; raises OSError."""
        self._at, self._more = self._file.seek(0, os.SEEK_END), b"".join(self._waiting)

    def settle(self) -> None:
        """Append all that was planned, unless it is already there, or nothing; raises OSError."""
        self._file.seek(self._at)
        there = self._file.read(len(self._more))
        if self._more.startswith(there):
            append_whole(self._file, self._more[len(there) :])
        self._at, self._more = self._file.seek(0, os.SEEK_END), b""
        self._waiting.clear()

    def as_json(self) -> dict[str, Any]:
        """What will be appended, and where."""
        return {"at": self._at, "more": base64.b64encode(self._more).decode()}

    def take_up(self, state: dict[str, Any]) -> None:
        """Resume from what `as_json` wrote; raises MatchError, KeyError, ValueError or OSError."""
        self._at, self._more = int(state["at"]), base64.b64decode(state["more"], validate=True)
        if self._at % self._unit or len(self._more) % self._unit:
            raise ValueError("its positions are not whole")
        size = self.path.stat().st_size if is_there(self.path) else 0
        if size < self._at:
            raise MatchError(f"'{self.path}' is shorter than the state of the match says; name another file")
        if self._more:
            with self.opened():
                self.settle()


def _scored(game: Game, skip: int) -> ScoredGames:
    """A game without its first `skip` moves."""
    position = game.opening.position()
    for played in game.moves[:skip]:
        position.push(played.move)
    rest = game.moves[skip:]
    signs = [1 if (position.turn == WHITE) == (ply % 2 == 0) else -1 for ply in range(len(rest))]
    scores = [NO_SCORE if own.score is None else sign * own.score for sign, own in zip(signs, rest, strict=True)]
    return ScoredGames(
        position.record.copy(),
        np.array([0, len(rest)]),
        np.array([played.move for played in rest], dtype=np.int16),
        np.array(scores, dtype=np.int16),
        np.array([_RESULTS[game.winner]], dtype=np.int8),
        np.array([game.number]),
    )
