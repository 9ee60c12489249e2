"""A game move by move: evaluation, expected score, the terms a move changed, and how much it lost.

Expected scores are those of `eval.outlook`: the share of the points by score and K; a mate that is seen is certain.
What a move loses is the mover's expected score before it, by search, less that after it. The search after it sees
further, so a loss may come out below nothing; it then counts as none. So does that of the move which the search before
it found best: where the score falls after such a move, it was too high before, and no better move is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.bitboard import WHITE
from engine.console.thinking import score_text
from engine.game import Position
from engine.move import Move
from engine.san import san
from engine.search.limits import MATE_SCORE, Limits, Score
from eval.explain import Change, explain
from eval.outlook import expected_score
from study.explain.lookahead import Seeker


@dataclass(frozen=True)
class Grade:
    """A kind of mistake: from this loss of expected score on, it has this sign."""

    least_loss: float
    nag: int  # the Numeric Annotation Glyph of the PGN standard, $6 and so on
    name: str
    sign: str


# The worst first. A twentieth of a point is what a player may not notice, a fifth what usually decides.
GRADES = (
    Grade(0.20, 4, "blunder", "??"),
    Grade(0.10, 2, "mistake", "?"),
    Grade(0.05, 6, "inaccuracy", "?!"),
)


@dataclass(frozen=True)
class Verdict:
    """What a search, or the rules, say of a position. Everything from White's side."""

    expected: float  # the share of the points, 0..1
    score: Score  # for the side to move
    turn: int
    depth: int  # 0 where the game is over
    best: Sequence[int]  # the line expected, empty where the game is over

    @property
    def score_text(self) -> str:
        """The score from White's side: "+0.35" or "+M3"."""
        return score_text(self.score, self.turn)


@dataclass(frozen=True)
class AnnotatedMove:
    """A move, the verdicts before and after it, and what it changed at once."""

    move: Move
    san: str
    turn: int  # who made it
    before: Verdict
    after: Verdict
    change: Change  # by evaluation alone

    @property
    def loss(self) -> float:
        """The mover's expected score that the move lost, 0..1."""
        if self.before.best and self.before.best[0] == self.move:
            return 0.0
        gain = self.after.expected - self.before.expected
        return max(0.0, -gain if self.turn == WHITE else gain)

    @property
    def grade(self) -> Grade | None:
        """What kind of mistake it is, None for none."""
        return next((grade for grade in GRADES if self.loss >= grade.least_loss), None)


def annotate_moves(
    position: Position, moves: Sequence[str], weights: np.ndarray, k: float, seek: Seeker, limits: Limits
) -> Iterator[AnnotatedMove]:
    """Each of the legal `moves`, coordinates, played from `position`; one search within `limits` a position."""
    current = position.copy()
    before = _verdict(current, k, seek, limits)
    explained = explain(current.record, weights, k)
    for text in moves:
        move, turn = current.parse_uci(text), current.turn
        name = san(current, move)
        current.push(move)
        after, explained_after = _verdict(current, k, seek, limits), explain(current.record, weights, k)
        yield AnnotatedMove(move, name, turn, before, after, Change(explained, explained_after))
        before, explained = after, explained_after


def _verdict(position: Position, k: float, seek: Seeker, limits: Limits) -> Verdict:
    """What the rules say where the game is over without a claim, else what the search says."""
    turn = position.turn
    if position.is_checkmate():
        return Verdict(0.0 if turn == WHITE else 1.0, Score(-MATE_SCORE), turn, 0, ())
    if not position.legal_moves or position.is_insufficient_material():
        return Verdict(0.5, Score(0), turn, 0, ())
    (line,) = seek(position, limits)
    mate = line.score.mate
    expected = expected_score(line.score, k) if mate is None else float(mate > 0)
    return Verdict(expected if turn == WHITE else 1 - expected, line.score, turn, line.depth, line.pv)
