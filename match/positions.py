"""Appends the positions of games to a packed file, each once, however often a run is interrupted."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.common.files import lock
from merino.inner.core.common.user_files import is_there
from merino.inner.formats.packed import PACKED, Filter, pack_game, with_checks
from merino.inner.match.errors import MatchError
from merino.inner.match.games import Game

_RESULTS = {WHITE: 2, None: 1, BLACK: 0}


class PositionFile:
    """Appends positions to a file. What is about to be added is first saved in the state of the match."""

    def __init__(self, path: Path, skip: int) -> None:
        """`skip`: the number of positions after the opening to leave out, where moves are random. Raises MatchError."""
        self.path, self._skip = path, skip
        self._waiting: list[bytes] = []
        self._at, self._more = 0, b""
        if is_there(path) and path.stat().st_size % PACKED.itemsize:
            raise MatchError(f"'{path}' holds no packed positions, or its end is missing: name another file")

    def add(self, game: Game) -> None:
        """Take the positions of a finished game."""
        moves, scores = (
            np.array(numbers, dtype=np.int32)
            for numbers in ([played.move for played in game.moves], [played.score or 0 for played in game.moves])
        )
        start = game.opening.position().record
        packed = pack_game(start, moves, scores, _RESULTS[game.winner], game.number, Filter(), self._skip)
        self._waiting.append(with_checks(packed).tobytes())

    def prepare(self) -> None:
        """Plan to append the waiting positions to the file as it is now; raises OSError."""
        with self.path.open("ab") as file:
            self._at = file.tell()
        self._more, self._waiting = b"".join(self._waiting), []

    def settle(self) -> None:
        """Append what was prepared, unless it is already there; raises OSError."""
        with self.path.open("a+b") as file:
            lock(file)
            file.seek(self._at)
            there = file.read(len(self._more))
            if self._more.startswith(there):
                file.write(self._more[len(there) :])
            file.seek(0, 2)
            self._at, self._more = file.tell(), b""

    def as_json(self) -> dict[str, Any]:
        """What will be appended, and where."""
        return {"at": self._at, "more": base64.b64encode(self._more).decode()}

    def take_up(self, state: dict[str, Any]) -> None:
        """Resume from what `as_json` wrote; raises MatchError, KeyError, ValueError or OSError."""
        self._at, self._more = int(state["at"]), base64.b64decode(state["more"], validate=True)
        size = self.path.stat().st_size if is_there(self.path) else 0
        if size < self._at:
            raise MatchError(f"'{self.path}' is shorter than the state of the match says; name another file")
        if self._more:
            self.settle()
