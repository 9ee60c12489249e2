"""Appends the positions of games to a packed file, each once, however often a run is interrupted."""

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
from merino.inner.core.common.user_files import is_there
from merino.inner.formats.packed import PACKED, Filter, pack_game, with_checks
from merino.inner.match.errors import MatchError
from merino.inner.match.games import Game

_RESULTS = {WHITE: 2, None: 1, BLACK: 0}


class PositionFile:
    """Appends positions to a file. What is about to be added is first saved in the state of the match."""

    def __init__(self, path: Path, skip: int) -> None:
        """`skip`: the number of positions after the opening to leave out, where moves are random."""
        self.path, self._skip = path, skip
        self._waiting: list[bytes] = []
        self._at, self._more = 0, b""
        self._file: IO[bytes]  # while it is open

    def check(self) -> None:
        """Raise MatchError if there are not whole positions in the file, or OSError."""
        if is_there(self.path) and self.path.stat().st_size % PACKED.itemsize:
            raise MatchError(f"'{self.path}' holds no packed positions, or its end is missing: name another file")

    def add(self, game: Game) -> None:
        """Take the positions of a finished game."""
        moves, scores = (
            np.array(numbers, dtype=np.int32)
            for numbers in ([played.move for played in game.moves], [played.score or 0 for played in game.moves])
        )
        start = game.opening.position().record
        packed = pack_game(start, moves, scores, _RESULTS[game.winner], game.number, Filter(), self._skip)
        self._waiting.append(with_checks(packed).tobytes())

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep others from the file for this block, in which `prepare` and `settle` may be called; raises OSError."""
        with self.path.open("a+b", buffering=0) as self._file:
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
        if self._at % PACKED.itemsize or len(self._more) % PACKED.itemsize:
            raise ValueError("its positions are not whole")
        size = self.path.stat().st_size if is_there(self.path) else 0
        if size < self._at:
            raise MatchError(f"'{self.path}' is shorter than the state of the match says; name another file")
        if self._more:
            with self.opened():
                self.settle()
