"""What each piece gains and loses by a mistake: its Shapley values at the end of the line played and of the better one.

A line ends at the position whose evaluation the search reports, and the values of the pieces there add up to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import chess

from merino.core.board.game import Position
from merino.engine.notation.san import board_of
from merino.engine.report.text import owners
from merino.engine.search.limits import Score
from merino.eval.evaluation import Evaluation
from merino.study.reasons.ends import follow
from merino.study.reporting import quiet_end
from merino.study.shapley import MOVE_ERROR, shapley_values

NAMED = 3  # pieces that a sentence names
_ALIKE = ("Q", "R", "BN", "P")  # pieces that are exchanged for one another
MIN_CHANGE = 10.0  # centipawns by which a piece must change to be named


@dataclass(frozen=True)
class PieceOutcome:
    """A piece at the ends of the two lines; values in centipawns from White's view, 0 where it has been taken."""

    piece: str  # its letter, and
    square: str  # where it stands, before the move
    better_square: str | None  # where it stands at the end of the better line; None if it has been taken
    better_cp: float
    played_square: str | None  # the same at the end of the line after the move played
    played_cp: float

    @property
    def change_cp(self) -> float:
        """What the move makes of it."""
        return self.played_cp - self.better_cp

    @property
    def text(self) -> str:
        """The piece, where it gets to, and its change for its owner: "n d5 taken -437", "R a1-d1 +38"."""
        if self.played_square is None:
            fate = " taken"
        elif self.better_square is None:
            fate = " kept"
        else:
            fate = f"-{self.played_square}" if self.played_square != self.square else ""
        return f"{self.piece} {self.square}{fate} {owners(self.piece, self.change_cp):+.0f}"


@dataclass(frozen=True)
class EndedLine:
    """A line that begins in a position, and the score of its search as the side `turn` sees it."""

    moves: Sequence[int]
    score: Score
    turn: int


def piece_outcomes(
    position: Position, better: EndedLine, played: EndedLine, evaluation: Evaluation, error: float = MOVE_ERROR
) -> tuple[PieceOutcome, ...]:
    """What the line played makes of each piece of `position` beside the better line; none where a line mates.

    The changes add up to the difference of the evaluations at the ends. `error` is as of `shapley_values`.
    """
    if better.score.mate is not None or played.score.mate is not None:
        return ()
    ends = [_values(position, line, evaluation, error) for line in (better, played)]
    outcomes = []
    for square, piece in sorted(board_of(position).piece_map().items()):
        (there, value), (here, own) = (end.get(square, (None, 0.0)) for end in ends)
        outcomes.append(PieceOutcome(piece.symbol(), chess.square_name(square), there, value, here, own))
    return tuple(outcomes)


def largest_outcomes(outcomes: Sequence[PieceOutcome]) -> str:
    """The pieces that gain or lose most, as text; what only one of the lines exchanges, like for like, is left out."""
    exchanged = _exchanged(outcomes)
    shown = [each for each in outcomes if each not in exchanged and abs(each.change_cp) >= MIN_CHANGE]
    return ", ".join(each.text for each in sorted(shown, key=lambda each: -abs(each.change_cp))[:NAMED])


def _values(
    position: Position, line: EndedLine, evaluation: Evaluation, error: float
) -> Mapping[chess.Square, tuple[str, float]]:
    """The square and the value of each piece at the end of a line, by the square that it began on."""
    moves, _ = quiet_end(position, line.moves, line.score, line.turn, evaluation)
    end = follow(position, moves)
    values = shapley_values(end.after.record, evaluation, error, end.origins)
    return {end.origins[value.square]: (chess.square_name(value.square), value.value) for value in values.pieces}


def _exchanged(outcomes: Sequence[PieceOutcome]) -> list[PieceOutcome]:
    """The pieces whose loss in only one of the lines costs their side nothing, like for like.

    In the other line their side loses one like them, or in the same line the other side does.
    """
    found = []
    for kinds in _ALIKE:
        (better_white, better_black), (played_white, played_black) = (
            [
                [each for each in outcomes if each.piece in side and _is_taken(each, in_played)]
                for side in (kinds, kinds.lower())
            ]
            for in_played in (False, True)
        )
        found += _paired(better_white, played_white) + _paired(better_black, played_black)
        found += _paired(better_white, better_black) + _paired(played_white, played_black)
    return found


def _is_taken(outcome: PieceOutcome, in_played: bool) -> bool:
    """Whether a piece is taken in one of the lines, that of the move played or the better one, and not in the other."""
    gone = outcome.better_square is None, outcome.played_square is None
    return gone == (not in_played, in_played)


def _paired(one: list[PieceOutcome], other: list[PieceOutcome]) -> list[PieceOutcome]:
    """Take as many pieces out of both lists as there are in the shorter one; these pieces."""
    pairs = min(len(one), len(other))
    found = one[:pairs] + other[:pairs]
    del one[:pairs], other[:pairs]
    return found
