"""The positions of games at the end of a packed file, each there once however often a run is broken off."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from engine.board.bitboard import BLACK, WHITE
from engine.common.files import lock
from formats.packed import PACKED, Filter, pack_game
from match.errors import MatchError
from match.games import Game

_RESULTS = {WHITE: 2, None: 1, BLACK: 0}


class PositionFile:
    """Adds positions to the end of a file. What is about to be added stands in the state of the match before."""

    def __init__(self, path: Path, skip: int) -> None:
        """`skip`: positions after the opening that are left out, where moves are drawn. Raises MatchError."""
        self.path, self._skip = path, skip
        self._waiting: list[bytes] = []
        self._at, self._more = 0, b""
        if path.exists() and path.stat().st_size % PACKED.itemsize:
            raise MatchError(f"'{path}' holds no packed positions, or has lost its end: name another file")

    def add(self, game: Game) -> None:
        """Take the positions of a finished game."""
        moves, scores = (
            np.array(numbers, dtype=np.int32)
            for numbers in ([played.move for played in game.moves], [played.score or 0 for played in game.moves])
        )
        start = game.opening.position().record
        packed = pack_game(start, moves, scores, _RESULTS[game.winner], game.number, Filter(), self._skip)
        self._waiting.append(packed.tobytes())

    def prepare(self) -> None:
        """What waits is to be added at the end of the file as it is now; raises OSError."""
        with self.path.open("ab") as file:
            self._at = file.tell()
        self._more, self._waiting = b"".join(self._waiting), []

    def settle(self) -> None:
        """Add what was prepared, as far as it is not there; raises OSError."""
        with self.path.open("a+b") as file:
            lock(file)
            file.seek(self._at)
            there = file.read(len(self._more))
            if self._more.startswith(there):
                file.write(self._more[len(there) :])
            file.seek(0, 2)
            self._at, self._more = file.tell(), b""

    def as_json(self) -> dict[str, Any]:
        """What is to be added where."""
        return {"at": self._at, "more": base64.b64encode(self._more).decode()}

    def take_up(self, state: dict[str, Any]) -> None:
        """Go on from what `as_json` wrote; raises MatchError, KeyError, ValueError or OSError."""
        self._at, self._more = int(state["at"]), base64.b64decode(state["more"], validate=True)
        size = self.path.stat().st_size if self.path.exists() else 0
        if size < self._at:
            raise MatchError(f"'{self.path}' is shorter than the state of the match says; name another file")
        if self._more:
            self.settle()
