"""A game at the console with all that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass

from merino.inner.app.console.ending import Ending
from merino.inner.app.console.pace import Pace
from merino.inner.app.console.scoresheet import Scoresheet
from merino.inner.app.console.unfinished_lock import Place
from merino.inner.core.board.game import Position
from merino.inner.core.board.move import Move


@dataclass(frozen=True)
class ConsoleGame:
    """A game: the present one, or one that was left for another."""

    position: Position
    sheet: Scoresheet
    undone: list[Move]  # moves taken back, the next to be played again last
    pace: Pace
    thought_ms: list[int]  # by the engine in this game, for White and for Black
    declared: Ending | None = None  # by resignation or agreement
    is_forced: bool = False  # the person moves for both sides
    is_flipped: bool = False
    is_played: bool = False  # moves were made at this console, or in a session before
    place: Place | None = None  # the file that keeps it
