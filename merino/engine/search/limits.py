"""The limits and reports of a search: plain data, importable without numba."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from merino.core.common.errors import instance, whole_number

if TYPE_CHECKING:
    import chess

    from merino.core.board.game import Position

MATE_SCORE = 32000  # mated at the root; a mate in n plies scores MATE_SCORE - n
MAX_PLY = 128
MATE_IN_MAX_PLY = MATE_SCORE - MAX_PLY
TABLEBASE_WIN = MATE_IN_MAX_PLY - 1  # that endgame tables know; one that is n plies away scores TABLEBASE_WIN - n
KNOWN_WIN = TABLEBASE_WIN - MAX_PLY  # no score from here on is a judgement
MAX_MS = 10**9  # twelve days, the longest time that timers of all systems accept
MAX_NODES = 10**15
DEFAULT_HASH_MB, MAX_HASH_MB = 16, 65536  # of the transposition table, MiB
MAX_THREADS = 256
DEFAULT_PROBE_DEPTH = 1  # of the nodes from which tablebases are asked: a probe takes as long as a node


@dataclass(frozen=True)
class Limits:
    """The limits of one search, as `go` gives them. Times in milliseconds; None where not given.

    With `infinite` or `ponder` the search does not return by itself. Raises TypeError and ValueError for what cannot
    be a limit, such as a depth of 0.
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
    search_moves: Sequence[int | chess.Move] = field(
        default=()
    )  # only these at the root, which must be legal; () for all

    def __post_init__(self) -> None:
        times = self.movetime, *_pair("time", self.time)
        most = {"depth": None, "nodes": MAX_NODES, "mate": None, "moves_to_go": None}
        for name, high in most.items():
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1, high)
        for name, value, low in zip(("movetime", "time", "time"), times, (1, 0, 0), strict=True):
            if value is not None:
                whole_number(f"{name} (in milliseconds)", value, low, MAX_MS)
        for value in _pair("increment", self.increment):
            whole_number("increment (in milliseconds)", value, 0, MAX_MS)
        instance("search_moves", self.search_moves, Sequence, "a sequence of moves")
        for move in self.search_moves:
            if not hasattr(move, "from_square"):  # which moves of ours and of python-chess have
                whole_number("each of search_moves (parse_uci makes one of a text)", move, 0, 0xFFFF)

    def refuse_endless(self) -> None:
        """Raise ValueError where nothing ends the search, and nobody said that nothing shall."""
        if replace(self, search_moves=(), increment=(0, 0), moves_to_go=None) == Limits():
            raise ValueError("a search needs a limit, such as depth=8, nodes=100_000 or movetime=1000")

    def after(self, milliseconds: int) -> Limits:
        """The limits once so much of the time has passed; at least a millisecond is left. `ponder` starts no clock."""
        if self.ponder or milliseconds <= 0:
            return self
        white, black = (_left(clock, milliseconds) for clock in self.time)
        return replace(self, movetime=_left(self.movetime, milliseconds), time=(white, black))


def _pair(name: str, value: object) -> tuple[object, object]:
    """White's and Black's value; raises TypeError."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name} must be two values, White's and Black's, not {value!r}")
    return value[0], value[1]


def _left(milliseconds: int | None, passed: int) -> int | None:
    return None if milliseconds is None else max(1, milliseconds - passed)


def pawns(centipawns: float) -> str:
    """Centipawns as pawns with a sign, as every text and the page show them: "+0.42", "0.00"."""
    text = f"{centipawns / 100:+.2f}"
    return text if float(text) else text[1:]


class Score(int):
    """A score for the side to move in centipawns, or a mate; comparable as an int."""

    @property
    def mate(self) -> int | None:
        """Moves to mate: positive if the side to move mates, negative or 0 if it is mated; None if no mate is seen."""
        if self >= MATE_IN_MAX_PLY:
            return (MATE_SCORE - self + 1) // 2
        return -((MATE_SCORE + self + 1) // 2) if self <= -MATE_IN_MAX_PLY else None

    def words(self) -> str:
        """Pawns for the side to move, or moves to mate: "+0.35", "mate in 3", or what the tablebases know."""
        if self.mate is None:
            if abs(self) >= KNOWN_WIN:
                return "a win by the tablebases" if self > 0 else "a loss by the tablebases"
            return pawns(self)
        return f"mate in {self.mate}" if self.mate > 0 else f"mated in {-self.mate}" if self.mate else "checkmate"

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
    pv: tuple[int, ...]  # merino.core.board.move.Move from the root on


@dataclass(frozen=True)
class SearchResult:
    """The result of a search: the best move (None if there is no legal move), a move to ponder on, the last line.

    `position` is what was searched, for notebooks, which draw it. `is_short`: limits left out some of what a player of
    this strength sees, so the move is weaker.
    """

    best: int | None
    ponder: int | None
    line: Line | None
    position: Position | None = field(default=None, repr=False, compare=False)
    is_short: bool = field(default=False, repr=False, compare=False)

    def _repr_html_(self) -> str:
        """What Jupyter shows: the board with the best move, the score, and the line."""
        from merino.engine.search.drawing import searched_as_html  # noqa: PLC0415 (only notebooks draw)

        if self.line is None:
            return searched_as_html(self.position, {}, ())
        score, depth, nodes = self.line.score, self.line.depth, f"{self.line.nodes:,}"
        return searched_as_html(self.position, {"Score": score.words(), "Depth": depth, "Nodes": nodes}, self.line.pv)
