"""A finished game: its start, its moves and its end; and the tally of many games."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.game import RESULTS
from merino.formats.openings import Opening
from merino.match import compiled_game


class Reason(Enum):
    """Why a game ended, as PGN and reports write it."""

    CHECKMATE = "checkmate"
    STALEMATE = "stalemate"
    MATERIAL = "insufficient material"
    FIFTY = "fifty-move rule"
    REPETITION = "threefold repetition"
    WIN_BY_SCORE = "both sides saw a win"
    DRAW_BY_SCORE = "both sides saw a draw"
    TOO_LONG = "too many moves"
    ILLEGAL = "illegal move"
    CRASH = "engine failed"
    TIME = "time forfeit"
    RESIGNATION = "resignation"


FAULTS = (Reason.ILLEGAL, Reason.CRASH, Reason.TIME)  # of a player, who loses the game
BY_NUMBER = {getattr(compiled_game, reason.name): reason for reason in Reason if hasattr(compiled_game, reason.name)}


class Played(NamedTuple):
    """One move of a game."""

    move: int  # `core.board.move.Move`
    score: int | None = None  # centipawns from the mover's view, as `engine.search.limits.Score`; None if unknown
    depth: int | None = None  # reached by its search
    seconds: float | None = None  # used for the move; None in compiled games


@dataclass(frozen=True)
class Game:
    """One game of a match."""

    number: int  # from 0
    first_is_white: bool
    opening: Opening
    moves: tuple[Played, ...]
    reason: Reason
    winner: int | None  # WHITE, BLACK or None for a draw
    detail: str = ""  # more about a fault of an engine

    @property
    def result(self) -> str:
        """The result as PGN writes it."""
        return RESULTS[self.winner]

    @property
    def points(self) -> int:
        """Half points of the first player: 0, 1 or 2."""
        if self.winner is None:
            return 1
        return 2 if (self.winner == WHITE) == self.first_is_white else 0


class Tally:
    """The results of a match so far, from the first player's view. The two games of a pair share an opening."""

    def __init__(self) -> None:
        self.points = np.zeros(3, dtype=np.int64)  # losses, draws, wins
        self.pairs = np.zeros(5, dtype=np.int64)  # the pentanomial counts: pairs by half points, 0 to 4
        self.faults = {reason: [0, 0] for reason in FAULTS}  # of the first player, and of the second
        self._half: int | None = None

    def add(self, game: Game) -> None:
        """Count the next game; of each pair, the even number comes first."""
        self.points[game.points] += 1
        if game.reason in self.faults:
            self.faults[game.reason][game.points // 2] += 1  # the loser's: if the first player won, the second's
        if game.number % 2 == 0:
            self._half = game.points
        elif self._half is not None:
            self.pairs[self._half + game.points] += 1
            self._half = None

    @property
    def games(self) -> int:
        """The number of games counted."""
        return int(self.points.sum())

    def as_json(self) -> dict[str, Any]:
        """Everything needed to continue counting."""
        faults = {reason.name: counts for reason, counts in self.faults.items()}
        return {"points": self.points.tolist(), "pairs": self.pairs.tolist(), "half": self._half, "faults": faults}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tally:
        """The tally that `as_json` wrote; raises KeyError, TypeError, ValueError or OverflowError for anything else."""
        tally = cls()
        tally.points[:], tally.pairs[:] = data["points"], data["pairs"]
        tally._half = None if data["half"] is None else int(data["half"])
        tally.faults = {
            Reason[name]: [int(first), int(second)] for name, (first, second) in dict(data["faults"]).items()
        }
        return tally

    @property
    def counts(self) -> np.ndarray:
        """The counts that estimates use: the pairs, or the single games while there is no pair."""
        return self.pairs if self.pairs.sum() else self.points
