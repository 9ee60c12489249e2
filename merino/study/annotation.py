"""A game move by move: evaluation, expected score, the terms a move changed, and how much it lost.

Expected scores are those of `eval.outlook`, by score and K; a mate in view is certain. A move loses the expected score
of the best move minus its own. The search before a move gives the best move and its score. The search after the move
sees further, so the two scores differ by more than the move. If they differ by as much as a mistake, the best move is
also made and searched to the same limits. If the move played was the best one itself, the best of the others takes its
place. A negative loss counts as 0.

With Shapley values a mistake has what it makes of each piece: the value at the end of the line played and at that of
the better one. A line ends at the position whose evaluation the search reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import chess

from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.engine.notation.san import board_of, san, score_text
from merino.engine.report.schema import ChangeReport
from merino.engine.report.static import report_change
from merino.engine.report.text import owners
from merino.engine.search.limits import MATE_SCORE, Limits, Score
from merino.eval.evaluation import Evaluation
from merino.eval.explanation import Change
from merino.study.analyser import Analyser, expected_of
from merino.study.lines import follow
from merino.study.mistakes import Mistake, ScoredLine, mistake_in
from merino.study.reporting import quiet_end
from merino.study.shapley import MOVE_ERROR, shapley_values


@dataclass(frozen=True)
class Grade:
    """A kind of mistake: from this loss of expected score on, it has this sign."""

    least_loss: float
    nag: int  # the Numeric Annotation Glyph of the PGN standard, $6 and so on
    name: str
    sign: str


# The worst first. A twentieth of a point may go unnoticed, a fifth usually decides.
GRADES = (
    Grade(0.20, 4, "blunder", "??"),
    Grade(0.10, 2, "mistake", "?"),
    Grade(0.05, 6, "inaccuracy", "?!"),
)
MISTAKE = next(grade.least_loss for grade in GRADES if grade.name == "mistake")


@dataclass(frozen=True)
class MoveVerdict:
    """The verdict of a search, or of the rules, on a position. Everything from White's view."""

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
    """A move, the verdicts before and after it, and its change of the evaluation."""

    move: Move
    san: str
    turn: int  # who made it
    before: MoveVerdict
    better: MoveVerdict  # the best verdict available, and its line: `before`, or that after the best move
    after: MoveVerdict
    change: ChangeReport  # by evaluation alone
    mistake: Mistake | None = None  # what kind of mistake it is, if it has a grade
    pieces: tuple[PieceOutcome, ...] = ()  # what it makes of each piece, if it has a grade and this was asked for

    @property
    def loss(self) -> float:
        """The mover's expected score that the move lost, 0..1."""
        if self.better.best and self.better.best[0] == self.move:
            return 0.0
        return max(0.0, _fall(self.better, self.after, self.turn))

    @property
    def grade(self) -> Grade | None:
        """The grade of the mistake, None if it is none; the loss is rounded as shown, to tenths of a percent."""
        shown = round(self.loss, 3)
        return next((grade for grade in GRADES if shown >= grade.least_loss), None)


def annotate_moves(
    position: Position,
    moves: Sequence[str],
    evaluation: Evaluation,
    analyser: Analyser,
    limits: Limits,
    shapley: float | None = None,
) -> Iterator[AnnotatedMove]:
    """Each of the legal `moves`, coordinates, played from `position`.

    With `shapley`, a standard error in centipawns, mistakes have what they make of each piece. Each position is
    searched once within `limits`, and before a move that seems a mistake once or twice more.
    """
    current = position.copy()
    before = _verdict(current, evaluation, analyser, limits)
    explained = evaluation.explain(current.record)
    for text in moves:
        move, turn = current.parse_uci(text), current.turn
        name, previous = san(current, move), current.copy()
        current.push(move)
        after, explained_after = _verdict(current, evaluation, analyser, limits), evaluation.explain(current.record)
        better = before
        if _fall(before, after, turn) >= GRADES[-1].least_loss and before.score.mate is None:
            better = _better(previous, move, before, evaluation, analyser, limits)
        change = report_change(Change(explained, explained_after))
        annotated = AnnotatedMove(move, name, turn, before=before, better=better, after=after, change=change)
        if annotated.grade is not None:
            annotated = _explained(previous, annotated, evaluation, shapley)
        yield annotated
        before, explained = after, explained_after


def _explained(
    position: Position, annotated: AnnotatedMove, evaluation: Evaluation, shapley: float | None
) -> AnnotatedMove:
    """A mistake made in `position` with its kind, and with `shapley` also with what it makes of each piece."""
    move, better, after = annotated.move, annotated.better, annotated.after
    lines = ScoredLine(better.best, better.score), ScoredLine(after.best, after.score)
    annotated = replace(annotated, mistake=mistake_in(position, move, *lines, evaluation))
    if shapley is None:
        return annotated
    best = EndedLine(better.best, better.score, better.turn)
    played = EndedLine((move, *after.best), after.score, after.turn)
    return replace(annotated, pieces=piece_outcomes(position, best, played, evaluation, shapley))


def _better(
    position: Position, move: Move, before: MoveVerdict, evaluation: Evaluation, analyser: Analyser, limits: Limits
) -> MoveVerdict:
    """The verdict on the best move other than `move`, from a search after it; `before` if there is no other."""
    best = before.best[0]
    if best == move:
        others = [other for other in position.legal_moves if other != move]
        if not others:
            return before
        best = _verdict(position, evaluation, analyser, replace(limits, search_moves=others)).best[0]
    made = position.copy()
    made.push(best)
    verdict = _verdict(made, evaluation, analyser, limits)
    return replace(verdict, score=_a_ply_before(verdict.score), turn=position.turn, best=(best, *verdict.best))


def _a_ply_before(score: Score) -> Score:
    """The score before the move that leads to a position with this score, for the side that makes it."""
    farther = 0 if score.mate is None else 1 if score > 0 else -1
    return Score(farther - score)


def _fall(before: MoveVerdict, after: MoveVerdict, turn: int) -> float:
    """How much less of the points one side may expect, -1..1."""
    change = after.expected - before.expected
    return -change if turn == WHITE else change


def _verdict(position: Position, evaluation: Evaluation, analyser: Analyser, limits: Limits) -> MoveVerdict:
    """The verdict of the rules if the game is over without a claim, else of the search."""
    turn = position.turn
    if position.is_checkmate():
        return MoveVerdict(0.0 if turn == WHITE else 1.0, Score(-MATE_SCORE), turn, 0, ())
    if not position.legal_moves or position.is_insufficient_material():
        return MoveVerdict(0.5, Score(0), turn, 0, ())
    (line,) = analyser(position, limits)
    expected = expected_of(line.score, evaluation)
    return MoveVerdict(expected if turn == WHITE else 1 - expected, line.score, turn, line.depth, line.pv)


# What a mistake makes of the pieces

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
    """What the line played makes of each piece of `position`, compared with the better line; none where a line mates.

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
