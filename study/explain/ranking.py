"""All legal moves in order, by the evaluation right after them or by search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.board.game import Position
from engine.board.move import Move
from engine.board.position import POSITION
from engine.notation.san import board_of, san_line, san_moves
from engine.notation.scores import score_text
from engine.search.limits import Limits, Line, Score
from eval.evaluation import Evaluation
from eval.linear.explain import Change
from study.errors import StudyError
from study.explain.lookahead import Seeker, after_moves


@dataclass(frozen=True)
class RankedMove:
    """A move in the order of preference. `evaluation` is in centipawns for the side that makes it."""

    rank: int  # from 1; moves of equal worth share it
    move: Move
    san: str
    turn: int  # the side that makes it
    evaluation: int  # right after the move
    change: Change  # what it changes at once
    score: Score | None  # of the search, for the mover; None where there was none
    line: str  # what the search expects; empty where there was none
    found: Line | None  # the same as the search told it

    @property
    def score_text(self) -> str:
        """The score of the search as seen from White, "+0.35" or "+M3"."""
        return "" if self.score is None else score_text(self.score, self.turn)

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`: centipawns for the mover, but in `change`, as everywhere, for White."""
        mate = None if self.score is None else self.score.mate
        return {
            "rank": self.rank,
            "move": self.san,
            "evaluation_cp": self.evaluation,
            "change": self.change.as_json(),
            "score_cp": None if self.score is None or mate is not None else int(self.score),
            "mate": mate,
            "line": self.line,
        }


def evaluations(position: Position, moves: Sequence[Move], evaluation: Evaluation) -> list[int]:
    """The evaluation right after each move, in centipawns for the side that makes it."""
    records = np.zeros(len(moves), dtype=POSITION)
    for index, move in enumerate(moves):
        records[index] = after_moves(position, [move]).record[0]
    return [-int(score) for score in evaluation.scores(records)]


def ranks(values: Sequence[int]) -> list[int]:
    """The rank of each value, the largest first from 1; equal values share one."""
    ordered = sorted(values, reverse=True)
    return [ordered.index(value) + 1 for value in values]


def rank_moves(
    position: Position, evaluation: Evaluation, seek: Seeker | None = None, limits: Limits | None = None
) -> tuple[RankedMove, ...]:
    """The legal moves, best first: by search within `limits` where there is `seek`, else by evaluation at once.

    Raises StudyError where the search was too short for all of them.
    """
    moves = position.legal_moves
    if not moves:
        return ()
    found = {line.pv[0]: line for line in seek(position, limits or Limits(), len(moves))} if seek else {}
    if seek and len(found) < len(moves):
        raise StudyError(f"the search was too short for all {len(moves)} moves")
    values = evaluations(position, moves, evaluation)
    wanted = [int(found[move].score) for move in moves] if found else values
    before = evaluation.explain(position.record)
    board = board_of(position)
    ranked = [
        RankedMove(
            rank,
            move,
            name,
            position.turn,
            value,
            Change(before, evaluation.explain(after_moves(position, [move]).record)),
            found[move].score if found else None,
            san_line(board, found[move].pv) if found else "",
            found.get(move),
        )
        for rank, move, name, value in zip(ranks(wanted), moves, san_moves(position, moves), values, strict=True)
    ]
    return tuple(sorted(ranked, key=lambda entry: (entry.rank, entry.san)))
