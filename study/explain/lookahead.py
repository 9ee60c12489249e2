"""A move and what comes of it: the evaluation right after it, and at the end of the line that a search expects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.board.bitboard import WHITE
from engine.board.game import Position
from engine.board.move import Move
from engine.notation.san import board_of, san, san_line
from engine.notation.scores import score_text
from engine.search.limits import Limits, Line, Score
from engine.search.searcher import Searcher
from engine.search.thinking import Display, think
from eval.evaluation import Evaluation
from eval.linear.explain import Change, Explanation

TAIL = 6  # plies at the end of a line among which its last quiet position is looked for


class Seeker(Protocol):
    """What searches a position: the best `count` lines, best first, none where the search was too short for them."""

    def __call__(self, position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        """Search."""


class _Keeper:
    """Keeps the lines of each depth, and shows the best of them to somebody else."""

    def __init__(self, display: Display | None) -> None:
        self._display = display
        self.lines: dict[int, dict[int, Line]] = {}

    def show(self, line: Line) -> None:
        if not line.bound:
            self.lines.setdefault(line.depth, {})[line.multipv] = line
        if self._display is not None and line.multipv == 1:
            self._display.show(line)

    def finish(self) -> None:
        if self._display is not None:
            self._display.finish()


def seeker(
    searcher: Searcher,
    display: Callable[[Position], Display] | None = None,
    is_stop_requested: Callable[[], bool] = lambda: False,
    gives_up: bool = False,
) -> Seeker:
    """What searches with `searcher` at full strength, shows its thoughts, and ends early on Ctrl-C or a hurry.

    With `gives_up` it then raises KeyboardInterrupt instead of returning what it has found.
    """

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        keeper = _Keeper(display(position) if display else None)
        before = searcher.multipv, searcher.is_analysing
        searcher.multipv, searcher.is_analysing = count, True
        try:
            result, was_interrupted = think(searcher, position, limits, keeper, is_stop_requested)
        finally:
            searcher.multipv, searcher.is_analysing = before
        if was_interrupted and gives_up:
            raise KeyboardInterrupt
        if count == 1:
            return [result.line] if result.line is not None and result.line.pv else []
        complete = [found for found in keeper.lines.values() if len(found) == count]
        return [complete[-1][number] for number in sorted(complete[-1])] if complete else []

    return seek


@dataclass(frozen=True)
class Ahead:
    """Where a search expects a move to lead."""

    score: Score  # of the search, for the side that makes the move
    depth: int
    line: str  # "1. e4 e5 2. Nf3"
    change: Change  # from the position before the move to the end of the line, by evaluation alone


@dataclass(frozen=True)
class Prospect:
    """A move: what it changes at once, and, where it was searched, at the end of its line."""

    san: str
    turn: int  # the side that makes it
    at_once: Change
    ahead: Ahead | None

    @property
    def score_text(self) -> str:
        """The score of the search as seen from White, "+0.35" or "+M3"; empty where there was none."""
        return score_text(self.ahead.score, self.turn) if self.ahead else ""

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`: centipawns for White; `mate` in moves, positive where the mover mates."""
        ahead = self.ahead
        sign = 1 if self.turn == WHITE else -1
        told = ahead and {
            "depth": ahead.depth,
            "score_cp": None if ahead.score.mate is not None else sign * int(ahead.score),
            "mate": ahead.score.mate,
            "line": ahead.line,
            "change": ahead.change.as_json(),
        }
        return {"move": self.san, "at_once": self.at_once.as_json(), "ahead": told}


def after_moves(position: Position, moves: Iterable[int]) -> Position:
    """A copy of the position with these legal moves played."""
    after = position.copy()
    for move in moves:
        after.push(move)
    return after


def prospect(
    position: Position,
    move: Move,
    evaluation: Evaluation,
    seek: Seeker | None = None,
    limits: Limits | None = None,
) -> Prospect:
    """What `move` comes to under these weights; with `seek`, also at the end of its line within `limits`.

    A search too short for a line leaves that out.
    """
    before = evaluation.explain(position.record)
    at_once = Change(before, evaluation.explain(after_moves(position, [move]).record))
    ahead = None
    found = seek(position, replace(limits or Limits(), search_moves=[move])) if seek else ()
    if found:
        line = found[0]
        moves, end = end_of_line(position, line, evaluation)
        ahead = Ahead(line.score, line.depth, san_line(board_of(position), moves), Change(before, end))
    return Prospect(san(position, move), position.turn, at_once, ahead)


def end_of_line(position: Position, line: Line, evaluation: Evaluation) -> tuple[tuple[int, ...], Explanation]:
    """The moves of a line to the position whose evaluation the search reports, and that evaluation.

    Lines are kept short of the exchanges after them, or break off in the midst of one. So of the last positions the
    one is taken whose evaluation comes nearest to the score of the search, the later of equals.
    """
    sign = 1 if position.turn == WHITE else -1
    ends = range(len(line.pv), max(0, len(line.pv) - TAIL), -1)
    told = [(count, evaluation.explain(after_moves(position, line.pv[:count]).record)) for count in ends]
    if line.score.mate is not None:
        return line.pv, told[0][1]
    count, end = min(told, key=lambda pair: abs(pair[1].score_white - sign * line.score))
    return line.pv[:count], end
