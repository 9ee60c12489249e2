"""The limits and reports of a search: plain data, importable without numba."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

MATE_SCORE = 32000  # mated at the root; a mate in n plies scores MATE_SCORE - n
MAX_PLY = 128
MATE_IN_MAX_PLY = MATE_SCORE - MAX_PLY


@dataclass(frozen=True)
class Limits:
    """The limits of one search, as `go` gives them. Times in milliseconds; None where not given.

    With `infinite` or `ponder` the search does not return by itself.
    """

    depth: int | None = None
    nodes: int | None = None
    mate: int | None = None  # in moves
    movetime: int | None = None
    time: tuple[int | None, int | None] = (None, None)  # White's and Black's clock
    increment: tuple[int, int] = (0, 0)
    moves_to_go: int | None = None
    infinite: bool = False
    ponder: bool = False
    search_moves: Sequence[int] = field(default=())  # only these legal moves at the root, if any

    def after(self, milliseconds: int) -> Limits:
        """The limits once so much of the time has passed; at least a millisecond is left. `ponder` starts no clock."""
        if self.ponder or milliseconds <= 0:
            return self
        white, black = (_left(clock, milliseconds) for clock in self.time)
        return replace(self, movetime=_left(self.movetime, milliseconds), time=(white, black))


def _left(milliseconds: int | None, passed: int) -> int | None:
    return None if milliseconds is None else max(1, milliseconds - passed)


class Score(int):
    """A score for the side to move in centipawns, or a mate; comparable as an int."""

    @property
    def mate(self) -> int | None:
        """Moves to mate: positive if the side to move mates, negative or 0 if it is mated; None if no mate is seen."""
        if self >= MATE_IN_MAX_PLY:
            return (MATE_SCORE - self + 1) // 2
        if self <= -MATE_IN_MAX_PLY:
            return -((MATE_SCORE + self + 1) // 2)
        return None

    def uci(self) -> str:
        """As UCI writes it: "cp 35" or "mate -3"."""
        return f"cp {int(self)}" if self.mate is None else f"mate {self.mate}"


class Line(NamedTuple):
    """A report of a running search: what `info` shows."""

    depth: int
    seldepth: int
    multipv: int  # from 1
    score: Score
    bound: str  # "", "lowerbound" or "upperbound"
    nodes: int
    nps: int
    hashfull: int  # in thousandths
    time_ms: int
    pv: tuple[int, ...]  # engine.board.move.Move from the root on


@dataclass(frozen=True)
class SearchResult:
    """The result of a search: the best move (None if there is no legal move), a move to ponder on, the last line."""

    best: int | None
    ponder: int | None
    line: Line | None
